"""RLlib's learners take weights over between the stages of a curriculum."""

import dataclasses
import functools

import numpy as np
import pytest

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.rllib.workers import Workers
from rl_models.schedule import Schedule
from rl_models.training.checkpoint import load_state, newest_complete_checkpoint
from tests.tune_experiments.rtfm.curriculum_runs import (
    ENDS,
    Died,
    assert_equal_runs,
    checkpoint,
    in_order,
    run,
    weights,
)
from tests.tune_experiments.run.stages import BATCH, three_stages
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import make_team_algorithm
from tune_experiments.run.final_evaluation import read_test_results


def rllib_stages(objective, runners=0):
    """The first two stages, trained by RLlib with an optimiser that would move a frozen weight by its old momentum."""
    changes = {
        "objective": objective,
        "optimiser": OptimiserSettings(learning_rate=Schedule.constant(0.02), amsgrad=True),
        "workers": Workers(runners=runners, worlds_per_runner=4, fragment_length=5),
        "make_algorithm": make_team_algorithm,
    }
    first, second, _ = three_stages().stages
    return Curriculum(
        tuple(dataclasses.replace(stage, plan=dataclasses.replace(stage.plan, **changes)) for stage in (first, second))
    )


def stage_ends(folder):
    """Env steps at which the two stages ended."""
    state = load_state(newest_complete_checkpoint(folder / "checkpoints"))
    return state["curriculum"]["ended"][0]["env_steps"], state["progress"]["env_steps"]


@pytest.mark.parametrize(
    ("objective", "runners"),
    [(Ppo(num_epochs=1), 0), pytest.param(Impala(), 1, marks=pytest.mark.slow)],
    ids=["ppo", "impala"],
)
def test_rllibs_learners_take_weights_over_and_leave_frozen_ones_alone(ray_session, tmp_path, objective, runners):
    run(tmp_path, rllib_stages(objective, runners), game="windy")
    first, second = stage_ends(tmp_path)
    assert second - first >= 3 * BATCH
    before, after = weights(tmp_path, first), weights(tmp_path, second)
    changed = {name for name, value in after.items() if not np.array_equal(value[: len(before[name])], before[name])}
    assert changed == {name for name in after if not name.startswith("network.mix.")}
    table = "network.cells.weight"  # is larger, and begins anew
    moved = max(float(abs(after[name] - before[name]).max()) for name in changed - {table})
    assert moved < 0.02 * 10  # no other weight began anew
    last = checkpoint(tmp_path, second)
    steps = {key: float(value) for key, value in last.tensors["optimizer"].items() if key.endswith(".step")}
    assert steps.pop(f"{in_order(changed).index(table)}.step") == last.state["curriculum"]["progress"]["updates"]
    assert set(steps.values()) == {last.state["progress"]["updates"]}


def test_ppo_that_dies_between_its_stages_and_in_the_second_ends_as_if_it_had_not(ray_session, tmp_path):
    declared = rllib_stages(Ppo(num_epochs=1, num_minibatches=2))
    one, other = tmp_path / "whole", tmp_path / "cut"
    run(one, declared, game="windy")

    def die_at(is_moment, row):
        if is_moment(row):
            raise Died

    for is_moment in (lambda row: "after calm" in row.get("notice", ""), lambda row: row["env_steps"] == 5 * BATCH):
        with pytest.raises(Died):
            run(other, declared, functools.partial(die_at, is_moment), "windy")
    run(other, declared, game="windy")
    assert_equal_runs(one, other, *ENDS[:2], but={"version"})
    assert read_test_results(one) == read_test_results(other)
