"""Items of the GPU queue: what a queue may hold, and how a gate is judged."""

import re
from pathlib import Path

import pytest

from benchmarks.gpu_queue import __main__ as queue
from benchmarks.gpu_queue.items import Gate, read_queue
from tests.benchmarks.queues import TRAINING
from tune_experiments.core.errors import EXIT_CODE, UserError

ROOT = Path(__file__).resolve().parents[2]
QUEUES = [ROOT / "benchmarks/gpu_queue.toml", ROOT / "benchmarks/gpu_queue_small.toml"]


@pytest.mark.long
@pytest.mark.parametrize("path", QUEUES, ids=lambda path: path.stem)
def test_every_item_of_the_queues_is_one_that_its_script_takes(path):
    items = read_queue(path)
    # Of those that differ by their seed alone, one.
    forms = {re.sub(r"--seeds \d+", "", " ".join(item.words(Path("run"), 1.0, "cpu"))): item for item in items}
    for item in forms.values():
        item.check()
    assert len({item.name for item in items}) == len(items) > 1


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('script = "matrix_game"', 'script = "matrix_gone"', "matrix_gone"),
        ('preset = "smoke"', 'preset = "smke"', "smke"),
        ('preset = "smoke"', 'presets = "smoke"', "presets"),
        ('preset = "smoke"', "", "preset"),
        ("budget_env_steps = 2560", "budget_env_steps = 0", "budget_env_steps"),
        ("budget_env_steps", "flags = '--budget-env-steps 9'\nbudget_env_steps", "--budget-env-steps"),
        ("budget_env_steps", "flags = '--methods sync marginal'\nbudget_env_steps", "--methods"),
        ("budget_env_steps", "gate = {metric = 'v', at_least = nan, env_steps = 9}\nbudget_env_steps", "gate.at_least"),
        ("budget_env_steps", "flags = '\"'\nbudget_env_steps", "flags"),
        ('name = "game"', 'name = "a game"', "name"),
        ("budget_env_steps", "gate = {metric = 'v', at_least = 1, env_steps = 9}\nbudget_env_steps", "'v'"),
        ("budget_env_steps", "gate = {metric = 'v/x'}\nbudget_env_steps", "gate.at_least"),
        ("[[items]]", "[[item]]", "item"),
        ("[[items]]", "[[items]", "TOML"),
        ("[[items]]", "[[items]]\ncommand = 'true'", "script"),
        (TRAINING, TRAINING + TRAINING, "game"),
        (TRAINING, "items = []", "items"),
        (TRAINING, "items = [3]", "item 1"),
    ],
)  # fmt: skip
def test_a_wrong_queue_is_one_sentence_that_names_what_is_wrong(call, old, new, named):
    code, said, error = call(TRAINING.replace(old, new))
    assert (code, said) == (EXIT_CODE, [])
    assert named in error
    assert len(error.splitlines()) == 1


def test_lists_of_methods_and_seeds_stand_for_an_item_of_each_pair_seed_by_seed(call):
    lists = TRAINING.replace('method = "marginal"', 'methods = ["marginal", "sync"]\nseeds = [3, 4]')
    said = call(lists, "--minutes", "0")[1]
    names = [f"game_{method}_{seed} 0/2560" for seed in (3, 4) for method in ("marginal", "sync")]
    assert [line for line in said if line.startswith("game_")] == names
    assert "name" in call(lists.replace('name = "game"\n', ""))[2]


def test_what_a_script_does_not_take_is_told_as_the_script_tells_it(call):
    code, said, error = call(TRAINING.replace("budget_env_steps", "flags = '--gamez 3'\nbudget_env_steps"))
    assert (code, said) == (EXIT_CODE, [])
    assert "--gamez" in error


def test_a_missing_queue_and_impossible_minutes_are_one_sentence(tmp_path, capsys, call):
    assert queue.main(["--queue", str(tmp_path / "none.toml"), "--out", str(tmp_path / "out")]) == EXIT_CODE
    assert "none.toml" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert "--minutes" in call(TRAINING, "--minutes", "nan")[2]


def test_a_queue_of_another_system_is_read(call, tmp_path):
    assert call("\ufeff" + TRAINING.replace("\n", "\r\n"), "--minutes", "0")[1][-1] == "game 0/2560"
    (tmp_path / "latin").write_bytes("# é".encode("latin-1"))
    with pytest.raises(UserError, match="latin"):
        read_queue(tmp_path / "latin")


@pytest.mark.parametrize(("value", "is_passed"), [(0.5, True), (0.42, True), (0.41, False)])
def test_a_gate_is_judged_by_the_first_row_at_its_env_steps_that_has_the_metric(value, is_passed):
    gate = Gate(metric="valid/win_rate", at_least=0.42, env_steps=100)
    rows = [{"env_steps": 90, "valid/win_rate": 0.9}, {"env_steps": 100}, {"env_steps": 110, "valid/win_rate": value}]
    found = gate.verdict(rows)
    assert found[:2] == (is_passed, 110)
    assert str(value) in found[2]
    assert gate.verdict(rows[:2]) is None
