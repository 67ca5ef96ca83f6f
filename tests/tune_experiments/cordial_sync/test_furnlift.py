"""The FurnLift experiment: who acts in the warm start, and what each stage learns."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.algorithms.imitation_learning import ImitationLearning
from rl_models.losses.imitation import Imitation
from tests.tune_experiments.fragments import update
from tune_experiments.cordial_sync import lifting
from tune_experiments.cordial_sync.lifting_config import FAMILIES, SMOKE, ExpertWarmStart
from tune_experiments.experiment.finding import find_experiment

EXPERIMENT = find_experiment("furnlift")


def test_a_trial_has_a_warm_start_and_reinforcement_or_only_the_latter():
    stages = lifting.plan(SMOKE, "sync", 0).stages
    assert [stage.name for stage in stages] == ["warm_start", "reinforcement"]
    assert isinstance(stages[0].plan.objective, ImitationLearning)
    bare = dataclasses.replace(SMOKE, warm_start=ExpertWarmStart(budget_env_steps=0))
    assert [stage.name for stage in lifting.plan(bare, "sync", 0).stages] == ["reinforcement"]


@pytest.mark.parametrize("stays", [True, False])
def test_the_imitation_loss_stays_on_only_if_it_is_told_to(stays):
    config = dataclasses.replace(SMOKE, imitation_after_warm_start=stays)
    last = lifting.plan(config, "marginal", 0).stages[-1].plan
    assert any(isinstance(loss, Imitation) for loss in last.objective.extra_losses) == stays
    assert ("expert" in last.make_world(num_worlds=1, first_world=0).observation_spec) == stays


@pytest.mark.long
@pytest.mark.parametrize("method", FAMILIES)
def test_every_method_learns_in_both_stages(method):
    for stage in lifting.plan(SMOKE, method, 0).stages:
        policy, statistics = update(stage.plan, 8, 6)
        before = stage.plan.build_policy().state_dict()
        assert np.isfinite(statistics["loss/imitation"]) and np.isfinite(statistics["loss/total"])
        moved = [name for name, value in policy.state_dict().items() if not torch.equal(value, before[name])]
        assert any(name.startswith("policy_head") for name in moved)
        has_moved_value = any(name.startswith("value_head") for name in moved)
        assert has_moved_value == (stage.name == "reinforcement"), "the warm start teaches no values"
    assert stage.plan.objective.entropy_kind == ("component" if method == "central" else "marginal")


def test_the_test_has_the_papers_metrics_for_all_episodes_and_by_difficulty():
    policy = lifting.build_policy(SMOKE, "sync", 0)
    found = EXPERIMENT.evaluate(SMOKE, "sync", policy)
    (main,) = EXPERIMENT.main_comparisons(SMOKE)
    assert main.world == next(iter(found)), "of all episodes, not of a class"
    whole = found[lifting.world_name(SMOKE)]
    classes = [episodes for name, episodes in found.items() if name != main.world]
    assert sum(len(episodes["success"]) for episodes in classes) == len(whole["success"]) == SMOKE.test_episodes
    assert {"md_spl", "final_distance", "invalid_probability", "tvd", "failed_pickups", "missed_pickups"} <= set(whole)


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({}, ""),
        ({"test_rooms": "ithor_FloorPlan226"}, None),
        ({"agents_visible": True, "min_separation_cells": 0}, "-visible_agents-unconstrained"),
        ({"min_separation_cells": 4}, "-4_cells_apart"),
    ],
)
def test_the_table_names_what_is_not_the_papers_task(changes, ending):
    name = lifting.world_name(dataclasses.replace(SMOKE, **changes))
    assert ("inferred_television_masks" in name) == (ending is None)
    assert ending is None or name == f"furnlift-laptop-42_pixel_frames{ending}"


def test_each_test_room_has_as_many_episodes(monkeypatch):
    made = []
    monkeypatch.setattr(
        lifting, "play", lambda world, policy: made.append(world) or {"success": np.ones(world.num_worlds)}
    )
    played = lifting.evaluate_stage(dataclasses.replace(SMOKE, test_episodes=12), policy=None)
    assert [[room.name for room in world.rooms] for world in made] == [[f"test_room_0{n}"] for n in range(1, 6)]
    assert sorted(world.num_worlds for world in made) == [2, 2, 2, 3, 3]
    assert [len(values["success"]) for values in played.values()] == [12]
