"""Runs of a small curriculum, and what they leave."""

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from rl_models.training.checkpoint import get_checkpoint_path, load_checkpoint
from tests.tune_experiments.run import stages
from tests.tune_experiments.run.stages import BATCH, Config, experiment, three_stages
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.trial import Trial

ENDS = (2 * BATCH, 5 * BATCH, 8 * BATCH)
"""Env steps at which the three stages end: the first passes at its first validation, the others use their budgets."""


def run(folder, declared=None, report=None, game="crowd"):
    """Train, and test in a game; the rows that were reported."""
    rows = []
    made = experiment(declared or three_stages(), game)
    Trial(made, Config(), "walkers", 0, folder).run(report or rows.append)
    return rows


def checkpoint(folder, env_steps):
    return load_checkpoint(get_checkpoint_path(folder / "checkpoints", env_steps))


def weights(folder, env_steps):
    return checkpoint(folder, env_steps).tensors["weights"]


def log_of(folder):
    rows = read_metrics(folder / "metrics.jsonl")
    return [{name: value for name, value in row.items() if not name.startswith(("wall", "speed"))} for row in rows]


def points_of(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    curves = [tag for tag in events.Tags()["scalars"] if not tag.startswith("speed")]
    return {tag: [(point.step, point.value) for point in events.Scalars(tag)] for tag in curves}


def assert_equal_runs(one, other, *moments, but=frozenset()):
    """Rows and curves, and at these env steps weights, optimiser, worlds and counters, are equal to the bit.

    Tensors named in `but` may differ: RLlib counts copies of the weights, `version`, anew in each process.
    """
    assert log_of(one) == log_of(other)
    assert points_of(one) == points_of(other)
    for env_steps in moments:
        ours, theirs = checkpoint(one, env_steps), checkpoint(other, env_steps)
        assert ours.state == theirs.state
        assert set(ours.tensors) == set(theirs.tensors) >= {"weights", "optimizer", "runner_0"}
        for group, tensors in ours.tensors.items():
            assert set(tensors) == set(theirs.tensors[group])
            for name in tensors.keys() - but:
                np.testing.assert_array_equal(tensors[name], theirs.tensors[group][name], err_msg=f"{group} {name}")


class Died(BaseException):
    """No handler of errors may hold it, as none holds a kill."""


def in_order(names):
    return [name for name, _ in stages.build_policy().named_parameters() if name in names]
