"""Rules of the progress display: a table that lives in a terminal, sparse plain lines elsewhere."""

import io
from unittest.mock import MagicMock

import pytest
from rich.console import Console

from tests.tune_experiments.run.stages import Config, experiment, plan
from tune_experiments.experiment.supervised_stage import NoTraining
from tune_experiments.results.trial_log import DIVERGED, DONE, FINISHED, METRICS_FILE, REFUSED, SPEED, read_metrics
from tune_experiments.run import progress
from tune_experiments.run.progress import Progress
from tune_experiments.run.trial import Trial
from tune_experiments.run.tune_display import TrialDisplay


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def shown(terminal: bool, clock, updates: int) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=120)
    with Progress({"sync_seed0": 10_000, "marginal_seed0": 7}, console=console) as display:
        for i in range(1, updates + 1):
            clock.now = float(i)
            row = {"env_steps": 100 * i, "episode/return": 1.5 * i, "episode/success": 0.25}
            display.update("sync_seed0", row | ({SPEED: 100.0} if i > 1 else {}))
        display.finish("marginal_seed0", "failed: no CPU")
    return stream.getvalue()


def test_without_a_terminal_a_line_comes_every_ten_seconds_and_at_the_end(clock):
    lines = shown(False, clock, 25).splitlines()
    assert lines[0] == "sync_seed0  100/10,000 (1%)  -/s  return 1.5  success 0.25  ETA -"
    assert lines[1] == "sync_seed0  1,100/10,000 (11%)  100/s  return 16.5  success 0.25  ETA 1:29"
    assert len(lines) == 4
    assert lines[-1].endswith("failed: no CPU")


def test_in_a_terminal_of_80_columns_headings_give_way_and_numbers_stay_whole(clock):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    columns = {"value against the adversary": "value", "success": "success"}
    with Progress({"sync_13-seed0": 5_120_000}, columns, console) as display:
        display.update("sync_13-seed0", {"env_steps": 2_560_000, "value": -0.6123, "success": 0.25, SPEED: 99})
    for whole in ("sync_13-seed0", "2,560,000/5,120,000 (50%)", "99/s", "-0.612", "0.25", "ETA 7:10:59"):
        assert whole in stream.getvalue()


def test_a_trial_without_training_has_no_env_steps_a_second(tmp_path):
    stream, declared = io.StringIO(), plan(learns=False, make_algorithm=NoTraining)
    with Progress({"walkers": declared.budget_env_steps}, {}, Console(file=stream)) as display:
        untrained = Trial(experiment(declared, "calm"), Config(), "walkers", 0, tmp_path)
        untrained.run(lambda row: display.update("walkers", row))
    assert "  -/s  " in stream.getvalue()
    assert not any(SPEED in row for row in read_metrics(tmp_path / METRICS_FILE))


def test_a_trial_that_its_search_has_dropped_is_stopped_and_one_whose_slice_is_over_is_paused(clock):
    stream = io.StringIO()
    with Progress(dict.fromkeys("abcdef", 900), {}, Console(file=stream)) as shown:
        callback = TrialDisplay(shown)

        def complete(name, how, said=None):
            trial = MagicMock(config={"request": how}, last_result=said, **{"__str__.return_value": name})
            callback.on_trial_complete(0, [], trial)
            return stream.getvalue().splitlines()[-1].split()[-1]

        assert complete("a", {"objective": "valid/a"}) == "stopped"
        assert complete("b", {"objective": "valid/a"}, {FINISHED: DONE}) == "done"
        assert complete("c", {"ends_at": 0.0}) == "paused"
        assert complete("d", {"ends_at": 0.0}, {FINISHED: DONE}) == "done"
        assert complete("e", {}, {REFUSED: "write --x 3"}) == "failed"
        assert complete("f", {"objective": "valid/a"}, {FINISHED: DIVERGED}) == DIVERGED
