"""FurnMove's fourteen methods and four presets: what each row is, as the paper and the authors' code have it."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_envs.furnmove.room_file import save_room
from rl_envs.furnmove.splits import room_by_name
from rl_envs.furnmove.start_file import save_starts
from rl_envs.furnmove.starts import make_starts
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.learner_config import AlgorithmConfig
from rl_models.algorithms.ppo import Ppo
from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.losses import cordial as coordination
from tests.tune_experiments.fragments import update
from tune_experiments.cordial_sync import evaluation
from tune_experiments.cordial_sync.config import METHODS, parse_method
from tune_experiments.cordial_sync.evaluation import play_from, valid_starts, world_name
from tune_experiments.cordial_sync.evaluation import test_starts as starts_of_the_test
from tune_experiments.cordial_sync.trials import plan
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.results.rows import Result

PRESETS = find_experiment("furnmove_methods").presets
THREE = find_experiment("furnmove_three_agents").presets
TINY = dataclasses.replace(
    PRESETS["smoke"], workers=dataclasses.replace(PRESETS["smoke"].workers, worlds_per_runner=4, fragment_length=6)
)


def parameters(config, method):
    return sum(weights.numel() for weights in plan(config, method, 0).build_policy().parameters())


@pytest.mark.parametrize("method", METHODS)
def test_every_row_learns_with_cordial_or_an_entropy_bonus_and_never_both(method):
    _, statistics = update(plan(TINY, method, 0))
    assert all(np.isfinite(value) for value in map(float, statistics.values()))
    has_cordial = method.endswith("_cordial")
    assert (statistics["schedule/cordial"] > 0) == has_cordial
    assert (statistics["schedule/entropy"] > 0) == (not has_cordial)


@pytest.mark.parametrize("method", ["sync_13_cordial", "marginal", "central_cordial"])
@pytest.mark.parametrize(
    ("algorithm", "joint_ratio", "agents"), [("ppo", True, 3), ("ppo", False, 2), ("impala", True, 2)]
)
def test_every_family_learns_by_ppo_and_impala_joint_and_per_agent(method, algorithm, joint_ratio, agents):
    learner = AlgorithmConfig(algorithm=algorithm, joint_ratio=joint_ratio)
    config = dataclasses.replace(TINY, learner=learner, num_agents=agents)
    assert isinstance(plan(config, method, 0).objective, Ppo if algorithm == "ppo" else Impala)
    update(plan(config, method, 0))


def test_one_component_is_a_marginal_policy_and_silent_agents_hear_only_themselves():
    one, _ = update(plan(TINY, "sync_1", 0))
    assert parameters(TINY, "sync_1") == parameters(TINY, "marginal") == parameters(TINY, "no_communication")
    assert one.policy_head.components == 1
    assert plan(TINY, "marginal", 0).build_policy().network.talk.communicates
    assert not plan(TINY, "no_communication", 0).build_policy().network.talk.communicates
    assert [parse_method(f"sync_{m}").components for m in (1, 2, 4, 13)] == [1, 2, 4, 13]


def test_a_central_team_has_one_policy_over_joint_actions_and_its_values_squared_error_whole():
    policy, _ = update(plan(TINY, "central", 0))
    world = plan(TINY, "central", 0).make_world(num_worlds=2, first_world=0)
    seen = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
    output = policy(seen, policy.initial_state(2), torch.ones(2, 1, dtype=torch.bool))
    assert isinstance(output.policy, JointCategorical)
    for agents in (2, 3):
        config = dataclasses.replace(TINY, num_agents=agents)
        weights = {method: plan(config, method, 0).objective.value_coef for method in ("central", "marginal")}
        assert weights["central"] == agents * weights["marginal"]


@pytest.mark.long
@pytest.mark.parametrize("presets", [PRESETS, THREE])
@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_the_test_is_a_thousand_episodes_200_in_each_of_five_rooms_that_nobody_trains_or_validates_in(presets, preset):
    config = presets[preset]
    test, valid = starts_of_the_test(config), valid_starts(config)
    assert np.bincount(test.room).tolist() == [200] * 5
    assert len(set(valid.room)) == 5
    assert test.num_agents == config.num_agents
    trained = {room.name for room in plan(config, "marginal", 0).make_world(num_worlds=1, first_world=0).rooms[:20]}
    tested, validated = ({room.name for room in starts.rooms} for starts in (test, valid))
    assert not tested & validated
    assert not trained & (tested | validated)


def test_starts_from_a_file_are_the_episodes_that_are_tested(tmp_path):
    starts = starts_of_the_test(TINY)
    save_starts(tmp_path / "starts.json", starts)
    config = dataclasses.replace(TINY, test_starts=str(tmp_path / "starts.json"))
    assert starts_of_the_test(config) == starts
    policy = plan(TINY, "sync_2", 0).build_policy()
    by_rule, by_file = play_from(TINY, starts, policy), play_from(config, starts_of_the_test(config), policy)
    assert len(by_rule["success"]) == len(starts)
    for name, values in by_rule.items():
        np.testing.assert_array_equal(values, by_file[name])


def test_starts_from_a_file_may_be_in_a_room_file_that_the_test_names(tmp_path):
    room = dataclasses.replace(room_by_name("test_room_01", "laptop"), name="mine")
    save_room(room, tmp_path / "mine.json")
    starts = make_starts([room], 2, 3)
    save_starts(tmp_path / "starts.json", starts)
    files = {"test_starts": str(tmp_path / "starts.json"), "test_rooms": (str(tmp_path / "mine.json"),)}
    assert starts_of_the_test(dataclasses.replace(TINY, **files)) == starts


def test_a_test_has_the_papers_six_columns_and_what_pairs_of_agents_do():
    for agents in (2, 3):
        config = dataclasses.replace(TINY, num_agents=agents, test_starts_per_room=1)
        played = play_from(config, starts_of_the_test(config), plan(config, "central", 0).build_policy())
        assert {"md_spl", "success", "length", "final_distance", "invalid_probability", "tvd"} <= set(played)
        assert played["_joint_policy"].shape == (13, 13)
        np.testing.assert_allclose(played["_joint_policy"].sum(), 1, atol=1e-5)


@pytest.mark.parametrize("agents", [1, 2, 3, 4])
def test_teams_of_one_to_four_are_tested_a_few_worlds_at_a_time(agents, monkeypatch):
    config = dataclasses.replace(TINY, num_agents=agents, test_starts_per_room=1, max_episode_steps=3)
    policy, starts = plan(config, "sync_2", 0).build_policy(), starts_of_the_test(config)
    at_once = play_from(config, starts, policy)
    monkeypatch.setattr(coordination, "MAX_PROBABILITIES", 2 * 13**agents)
    for name, values in play_from(config, starts, policy).items():
        np.testing.assert_allclose(values, at_once[name], atol=1e-6)
    assert ("_joint_policy" in at_once) == (agents > 1)


@pytest.mark.parametrize(
    ("name", "observation", "agents", "papers"),
    [
        ("furnmove_visual", "frame", 2, [0.58]),
        ("furnmove_visual", "frame", 3, [0.232]),
        ("furnmove_visual", "view", 2, []),
        ("furnmove_visual", "frame", 4, []),
        ("furnmove_three_agents", "view", 3, [0.578]),
        ("furnmove_three_agents", "view", 2, []),
    ],
)
def test_the_papers_numbers_stand_beside_rows_of_their_own_task(name, observation, agents, papers):
    experiment = find_experiment(name)
    config = dataclasses.replace(TINY, observation=observation, num_agents=agents)
    row = Result(name, experiment.caption, "sync_13_cordial", world_name(config), "test", 0, "success", 0.5)
    (table,) = experiment.tables([row])
    shown = dict(table.rows).get("sync_13_cordial, paper", ())
    assert [cell.value for cell in shown if cell and table.metrics[shown.index(cell)] == "success"] == papers


EXPERIMENT = find_experiment("furnmove_sync")
SMOKE = dataclasses.replace(EXPERIMENT.presets["smoke"], test_starts_per_room=1, max_episode_steps=3)
ITHOR = dataclasses.replace(SMOKE, train_rooms="ithor_train", valid_rooms=("ithor_valid",), test_rooms=("ithor_test",))


def worlds_of_the_table(config):
    policy = plan(SMOKE, "marginal", 0).build_policy()
    return list(evaluation.evaluate(config, policy))


def test_results_name_the_rooms_masks_and_frames_that_are_not_the_papers(tmp_path):
    assert worlds_of_the_table(ITHOR) == ["furnmove-ithor_floors_inferred_television_masks"]
    assert worlds_of_the_table(SMOKE) == ["furnmove-laptop"]
    save_starts(tmp_path / "mine.json", evaluation.test_starts(ITHOR))
    config = dataclasses.replace(SMOKE, test_starts=str(tmp_path / "mine.json"))
    assert worlds_of_the_table(config) == ["furnmove-mine-ithor_floors_inferred_television_masks"]
    three = dataclasses.replace(find_experiment("furnmove_visual").presets["smoke"], num_agents=3)
    assert evaluation.world_name(three) == "furnmove-laptop-42_pixel_frames-3_agents"
    evaluation.check_rooms_apart(ITHOR)
