"""The same --out with other flags: what may change goes on, what may not is named, and no results are mixed."""

import pytest
import torch

from rl_models.training.checkpoint import load_checkpoint, numbered_checkpoints
from tests.tune_experiments.run.in_process import no_pictures, trials_in_process
from tune_experiments.core.config_path import continuation_rules, find_differences, leaves
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.rows import read
from tune_experiments.results.trial_log import read_metrics


def test_what_says_where_it_is_computed_may_change_and_budgets_and_methods_may_grow():
    smoke = find_experiment("train").presets["smoke"]
    rules = continuation_rules(smoke)
    workers = {path: rules.get(path) for path, _ in leaves(smoke) if path.startswith("workers.")}
    assert [path for path, rule in workers.items() if rule != "changes"] == ["workers.fragment_length"]
    assert rules["budget_env_steps"] == "grows" and rules["methods"] == "gains" and "learner.gamma" not in rules
    chats, in_rounds = (find_experiment(name).presets["smoke"] for name in ("verco_salad", "red_minirts"))
    assert continuation_rules(chats)["chat.budget.max_calls"] == "changes", "as its group"
    assert "budget_env_steps" not in continuation_rules(in_rounds), "rounds are shares of it"


def test_that_agents_leave_may_be_turned_on_and_never_off():
    rules = continuation_rules(find_experiment("train").presets["smoke"])
    for before, after, words in ((False, True, "--no-agents-leave -> --agents-leave"), (True, False, "")):
        (changed,) = find_differences({"agents_leave": before}, {"agents_leave": after}, rules)
        assert changed.is_allowed == after and words in changed.words


QUICK = ["--preset", "smoke", "--methods", "marginal", "--learner.final-learning-rate-share", "1"]
QUICK += ["--test-starts-per-room", "1", "--valid-starts-per-room", "1"]
QUICK += ["--checkpoint-every-env-steps", "80", "--validate-every-env-steps", "160", "--max-episode-steps", "20"]


def furnmove(out, *flags, worlds=8, exit_code=0):
    flags = [*QUICK, "--workers.worlds-per-runner", worlds, "--out", out, *flags]
    with trials_in_process(), no_pictures():
        assert main(find_experiment("furnmove_sync"), [str(flag) for flag in flags]) == exit_code


@pytest.mark.long
def test_a_run_with_a_larger_budget_in_other_groups_ends_as_one_that_had_both_from_the_start(
    ray_session, tmp_path, capsys
):
    """Its schedules do not depend on the budget, so equality is promised, up to rounding."""
    half = short, long = tmp_path / "short", tmp_path / "long"
    furnmove(short, "--budget-env-steps", 160)
    furnmove(long, "--budget-env-steps", 320)
    capsys.readouterr()
    assert {row.env_steps for row in read(short / "results.jsonl")} == {160}
    furnmove(short, "--budget-env-steps", 320, "--workers.world-groups", 2)
    said = capsys.readouterr().out
    for told in ("--budget-env-steps 160 -> 320", "--workers.world-groups", "160 of 320"):
        assert told in said, told
    logs = [read_metrics(run / "trials/marginal-seed0/metrics.jsonl") for run in half]
    assert [[row["env_steps"] for row in log] for log in logs] == [list(range(80, 321, 80))] * 2
    folders = [run / "trials/marginal-seed0/checkpoints" for run in half]
    last = [load_checkpoint(max(numbered_checkpoints(folder))[1]) for folder in folders]
    assert last[0].state["progress"] == last[1].state["progress"]
    for name, value in last[1].tensors["weights"].items():
        torch.testing.assert_close(
            torch.as_tensor(last[0].tensors["weights"][name]), torch.as_tensor(value), atol=1e-4, rtol=1e-4
        )
    results = [read(run / "results.jsonl") for run in half]
    assert [len(rows) for rows in results] == [len(results[1])] * 2
    assert {row.env_steps for row in results[0]} == {320}, "the test of the smaller budget is gone"
    assert "--budget-env-steps 160 -> 320" in (short / "table.md").read_text()
    furnmove(short, "--budget-env-steps", 160, exit_code=2)
    assert "--budget-env-steps 320 -> 160" in capsys.readouterr().err


MATRIX = ["--preset", "smoke", "--games", "32", "--budget-env-steps", "640", "--checkpoint-every-env-steps", "320"]


def matrix_game(out, *flags):
    with no_pictures():
        assert main(find_experiment("matrix_game"), [*MATRIX, "--local", "--out", str(out), *map(str, flags)]) == 0
    return {(row.method, row.seed, row.env_steps) for row in read(out / "results.jsonl")}


@pytest.mark.long
def test_seeds_and_methods_are_added_and_no_budgets_are_mixed(tmp_path, capsys):
    assert matrix_game(tmp_path, "--methods", "sync", "--seeds", 0) == {("sync", 0, 640)}
    both = {("sync", 0, 640), ("marginal", 0, 640)}
    assert matrix_game(tmp_path, "--methods", "marginal", "sync", "--seeds", 0) == both
    assert matrix_game(tmp_path, "--seeds", 1) == both | {("sync", 1, 640), ("marginal", 1, 640)}
    (tmp_path / "results.jsonl").unlink()
    assert matrix_game(tmp_path, "--seeds", 1) == both | {("sync", 1, 640), ("marginal", 1, 640)}, "from all trials"
    capsys.readouterr()
    larger = {("sync", 1, 1280), ("marginal", 1, 1280)}
    assert matrix_game(tmp_path, "--seeds", 1, "--budget-env-steps", 1280) == larger
    assert "sync-seed0" in capsys.readouterr().out
    again = matrix_game(tmp_path, "--seeds", 0, 1, "--budget-env-steps", 1280)
    assert again == larger | {("sync", 0, 1280), ("marginal", 0, 1280)}
