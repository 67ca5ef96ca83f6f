"""Training in slices of time, with Ray and without: nothing of what is learned depends on where a run was cut."""

import dataclasses
import itertools
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rl_models.rllib.workers import Workers
from tests.timeouts import TIMEOUT_SECONDS
from tests.tune_experiments.rtfm.curriculum_runs import assert_equal_runs, log_of, run
from tests.tune_experiments.run.in_process import no_pictures
from tests.tune_experiments.run.stages import BATCH, Config, experiment, plan, three_stages
from tune_experiments import matrix_game
from tune_experiments.core.errors import EXIT_CODE
from tune_experiments.experiment.plan import make_team_algorithm
from tune_experiments.launch.experiment import main
from tune_experiments.results.rows import read
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run import remote_claim
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.request import slice_searcher
from tune_experiments.run.trial import Trial

ROWS = 8
GROUPED = Workers(runners=2, worlds_per_runner=4, world_groups=2, fragment_length=5, learners=2)


def train(folder, declared, rows=None, game="calm", is_local=False):
    """Train until time is up after so many rows, by a clock that goes on with every row; the rows that were made."""
    made = []
    one = Trial(experiment(declared, game), Config(), "walkers", 0, folder, is_local=is_local)
    one.run(made.append, is_time_up=lambda: rows is not None and len(made) >= rows)
    return [row for row in made if "loss/total" in row]


def in_slices(folder, declared, rows, game="calm", is_local=False):
    """Train in slices of so many rows, to the end."""
    number = itertools.count(1)
    while read_test_results(folder) is None:
        train(folder, declared, rows, game, is_local)
        assert next(number) <= ROWS + 1
    return next(number) - 1


def test_three_slices_are_equal_to_the_bit_to_one_run(tmp_path):
    """The second and the third begin where neither a validation nor a checkpoint was due."""
    declared = plan(budget_env_steps=8 * BATCH, validate_every_env_steps=4 * BATCH, chosen_by="sum")
    train(tmp_path / "whole", declared)
    assert in_slices(tmp_path / "cut", declared, rows=3) == 3
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut", 8 * BATCH)
    assert read_test_results(tmp_path / "whole") == read_test_results(tmp_path / "cut")


@pytest.mark.parametrize("rows", [1, 3])
def test_slices_of_a_curriculum_are_equal_to_one_run(tmp_path, rows):
    run(tmp_path / "whole")
    in_slices(tmp_path / "cut", three_stages(), rows, game="crowd")
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut", 8 * BATCH)


def test_without_ray_a_trial_goes_on_with_other_groups_and_runners(tmp_path):
    declared = plan(make_algorithm=make_team_algorithm, workers=GROUPED, budget_env_steps=160)
    train(tmp_path / "whole", declared, is_local=True)
    train(tmp_path / "cut", declared, rows=2, is_local=True)
    other = dataclasses.replace(declared, workers=dataclasses.replace(GROUPED, runners=1, worlds_per_runner=8))
    in_slices(tmp_path / "cut", dataclasses.replace(other, budget_env_steps=160), 1, is_local=True)
    assert log_of(tmp_path / "whole")[-1].keys() == log_of(tmp_path / "cut")[-1].keys()
    assert_equal_runs(tmp_path / "whole", tmp_path / "cut", 160)


def test_what_has_not_begun_when_time_is_up_is_left_to_the_next_slice(tmp_path):
    assert train(tmp_path, plan(), rows=0) == []
    assert not (tmp_path / "checkpoints").exists()
    train(tmp_path, plan(), rows=3)  # the whole budget: the evaluation is left
    assert read_test_results(tmp_path) is None
    assert train(tmp_path, plan()) == []
    assert read_test_results(tmp_path)


def test_ray_is_given_no_trial_after_the_end_of_a_slice(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tune_experiments.run.request.time", SimpleNamespace(time=lambda: now[0]))
    first, second = ({"name": name, "ends_at": 10.0} for name in "ab")
    searcher = slice_searcher([first, second])
    assert searcher.suggest("0") == {"request": first}
    now[0] = 10.0
    assert searcher.suggest("1") is None


@pytest.fixture
def seconds(monkeypatch):
    """A clock on which a second passes whenever it is read."""
    clock = itertools.count(1)
    monkeypatch.setattr("tune_experiments.run.request.time", SimpleNamespace(time=lambda: float(next(clock))))


def command(folder, *arguments):
    return main(matrix_game.EXPERIMENT, ["--preset", "smoke", "--seeds", "0", "--out", str(folder), *arguments])


def steps_in(folder):
    logs = {path.parent.name: read_metrics(path) for path in folder.glob("trials/*/metrics.jsonl")}
    return {name: rows[-1]["env_steps"] for name, rows in logs.items() if rows}


@pytest.mark.long
@pytest.mark.usefixtures("seconds")
def test_the_same_command_goes_on_with_the_trial_that_was_cut_and_ends_as_one_run(tmp_path, capsys, monkeypatch):
    for pictures in ("figures", "page"):
        monkeypatch.setattr(matrix_game.MatrixGameExperiment, pictures, lambda *arguments: ())
    budget = matrix_game.EXPERIMENT.presets["smoke"].budget_env_steps
    seen, folder = [], tmp_path / "cut"
    while not (folder / "table.md").exists():
        assert command(folder, "--local", "--slice-seconds", "3") == 0
        steps, said = steps_in(folder), capsys.readouterr().out
        assert (f" of {2 * budget:,} env steps" in said) != (folder / "table.md").exists()
        assert sum(count < budget for count in steps.values()) <= 1  # none begins beside one that was cut
        seen.append(sum(steps.values()))
        assert len(seen) < 20
    assert seen[0] < budget
    assert seen == sorted(seen)
    assert command(tmp_path / "whole", "--local") == 0
    whole, cut = (
        [dataclasses.replace(row, cpu_seconds=None) for row in read(tmp_path / name / "results.jsonl")]
        for name in ("whole", "cut")
    )
    assert whole == cut


def test_a_trial_that_ends_within_its_slice_is_done_in_a_store_too(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(remote_claim, "PROPAGATION_SECONDS", 0.0)
    flags = ["--local", "--slice-seconds", "900", "--methods", "sync", "--games", "32", "--budget-env-steps", "320"]
    with no_pictures():
        assert command(f"file://{tmp_path}/store", *flags) == 0
    said = capsys.readouterr().out
    assert "  done" in said and "paused" not in said


@pytest.mark.usefixtures("seconds")
def test_a_slice_in_which_nothing_is_learned_is_refused(tmp_path, capsys):
    assert command(tmp_path, "--local", "--slice-seconds", "0.5") == EXIT_CODE
    assert "--slice-seconds" in capsys.readouterr().err


NO_RAY = """
import sys
sys.modules["ray"] = None  # importing it, or anything of it, fails
from tune_experiments.launch.experiment import main
from tune_experiments.train import EXPERIMENT
sys.exit(main(EXPERIMENT))
"""


@pytest.mark.processes
@pytest.mark.long
def test_a_run_without_ray_needs_none_installed(tmp_path):
    """From the command to the table, with runners and a learner that it does without."""
    flags = "--preset smoke --local --env two_step_game-v0 --methods ippo --workers.runners 2 --workers.learners 1"
    flags += " --workers.fragment-length 4 --valid-episodes 2 --test-episodes 2"
    for field in ("budget", "validate-every", "checkpoint-every"):
        flags += f" --{field}-env-steps 64"
    words = [sys.executable, "-c", NO_RAY, *flags.split(), "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--workers.runners 2" in done.stdout
    assert {row.method for row in read(tmp_path / "results.jsonl")} == {"ippo", "random"}
    assert (tmp_path / "table.md").exists()
