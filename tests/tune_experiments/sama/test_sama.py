"""SAMA's policies: told sub-goals, rounds to learn from, episodes under the planner, conditions, what is refused."""

import dataclasses
import functools

import numpy as np
import pytest
import torch

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.relocation import NO_TARGET
from rl_envs.testing import check_world
from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.meter import Budget
from tests.rl_models.chat.loopback import Loopback, say
from tests.rl_models.training.small import ratio_error
from tests.tune_experiments.fragments import play, unmoved
from tests.tune_experiments.sama.fixed_plans import FixedPlans
from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.sama.overcooked.config import SamaConfig
from tune_experiments.sama.overcooked.domain import DONE, command_texts, get_domain
from tune_experiments.sama.overcooked.play import ScriptedExecutor, play_under
from tune_experiments.sama.overcooked.trials import (
    VALIDATION_SEED,
    make_rounds,
    offline_planner,
    plan,
    prepare_training_data,
)
from tune_experiments.sama.overcooked.world import CommandedKitchen, SubgoalKitchen
from tune_experiments.sama.planner_config import ModelSettings
from tune_experiments.sama.planning import make_planner
from tune_experiments.sama.play import learned_executor
from tune_experiments.sama_ablations import conditions
from tune_experiments.sama_overcooked import LAPTOP, SMOKE

ONION, DISH = "bring an onion from the onion store to pot 0", "take a dish from the dish store"
WAIT, SERVE = "wait at pot 0", "bring a soup to the hatch"
OPEN, DONE_NUMBER = command_texts("cramped_room").index, len(command_texts("cramped_room")) - 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_learns_in_every_kitchen_from_what_acting_drew_with_and_every_weight_gets_gradient(layout):
    config = dataclasses.replace(SMOKE, tasks=(layout,))
    trial = plan(config, f"sama-{layout}", 0)
    policy, fragment = play(trial, worlds=6)
    assert ratio_error(trial.objective, policy, fragment) < 1e-5
    under_softmax = ("key_score.bias", "value_score.bias", "keys.bias", "projection.bias")  # they change nothing
    assert all(name.endswith(under_softmax) for name in unmoved(trial, policy, fragment))


def policy_and_values(commands):
    policy = plan(LAPTOP, "sama-cramped_room", 1).build_policy()
    world = CommandedKitchen(1)
    world.reset(0)
    world.command([0], [commands])
    obs = {key: torch.from_numpy(value)[:, None] for key, value in world.observe().items()}
    with torch.inference_mode():
        output = policy(obs, {}, torch.ones(1, 1, dtype=torch.bool))
    return output.policy.marginals().reshape(2, -1), output.values[0, 0], world.observe()["legal"][0]


def test_the_policy_heeds_its_own_sub_goal_alone_and_the_critic_both():
    one, values, legal = policy_and_values((ONION, DISH))
    other, other_values, _ = policy_and_values((ONION, WAIT))
    torch.testing.assert_close(one[0], other[0])
    assert (one[1] - other[1]).abs().max() > 1e-4
    assert (values - other_values).abs().min() > 1e-5
    assert (one.numpy()[~legal] == 0).all()


def test_who_is_told_nothing_does_the_same_whatever_it_is_told():
    world = CommandedKitchen(1, sees_commands=False)
    world.reset(0)
    before = world.observe()
    world.command([0], [(DISH, WAIT)])
    for key, value in world.observe().items():
        np.testing.assert_array_equal(value, before[key])


def test_a_chef_that_has_reached_its_sub_goal_is_told_so_and_stops_using_things():
    world = CommandedKitchen(2)
    world.reset(0)
    world.command([0, 1], [(WAIT, ONION), (ONION, WAIT)])
    assert world.observe()["commands"][0].tolist() == [[OPEN(WAIT), OPEN(ONION)], [OPEN(ONION), OPEN(WAIT)]]
    world.state["agent_cells"][0], world.state["headings"][0] = (7, 11), (3, 0)
    world.step(np.array([[2, 11], [11, 8]]))  # turns to the pot: it waits there, and must not go on to use it
    assert world.state["reached"][0].tolist() == [True, False]
    assert world.state["targets"][0, 0] == NO_TARGET
    commands = world.observe()["commands"][0]
    assert commands.tolist() == [[DONE_NUMBER, OPEN(ONION)], [OPEN(ONION), DONE_NUMBER]]
    assert command_texts("cramped_room")[DONE_NUMBER] == DONE
    front = world.kitchen.pots[0]
    legal = world.observe()["legal"][0]
    assert not legal[0, front] and legal[0, 7]  # its hands rest, and it may make way
    world.command([0], [(ONION, ONION)])
    assert not world.state["reached"][0].any()
    assert world.observe()["legal"][0, 0, front]


def test_a_kitchen_of_commands_keeps_the_contract_of_worlds():
    told = (WAIT, DISH), (DISH, WAIT), (ONION, ONION)
    pairs = list(zip(get_domain("cramped_room").diverse_states(3, 0), told, strict=True))
    check_world(functools.partial(SubgoalKitchen, pairs=pairs, max_episode_steps=6))


def test_a_round_pays_each_sub_goal_once_shares_it_and_ends_when_both_are_reached():
    start = CommandedKitchen()
    start.reset(0)
    world = SubgoalKitchen(1, pairs=[(start.describe_state(0), (WAIT, DISH))], share=0.25, max_episode_steps=30)
    world.reset(0)
    world.auto_resets = False
    paid = np.zeros(2)
    execute = ScriptedExecutor("cramped_room")
    for _ in range(30):
        _, reward, terminated, truncated, info = world.step(execute(world))
        paid += reward[0]
        if terminated[0]:
            break
    assert terminated[0]
    assert not truncated[0]
    assert paid.tolist() == [1.25, 1.25]
    assert (info["episode"]["reached"], info["episode"]["completed"]) == (1.0, 1.0)


def test_a_round_that_is_not_finished_in_time_is_stopped():
    world = make_rounds(dataclasses.replace(SMOKE, round_steps=3), "cramped_room", 2)
    world.reset(0)
    ends = [world.step(world.state["agent_cells"])[2:4] for _ in range(3)]
    assert [truncated.tolist() for _, truncated in ends] == [[False] * 2, [False] * 2, [True] * 2]
    assert not any(terminated.any() for terminated, _ in ends)


def test_states_to_learn_from_are_diverse_and_validation_has_others():
    data = [
        prepare_training_data(offline_planner("forced_coordination"), "forced_coordination", 40, "builtin", n)
        for n in (484, VALIDATION_SEED)
    ]
    first, second = ({state for state, _ in one.pairs} for one in data)
    assert len(first) > 40 < len(second)
    assert len(first & second) == 1  # where every episode begins
    assert len(data[0].pairs) > 55  # every other state twice, with a second plan
    assert len(set(data[0].pairs)) == len(data[0].pairs)


SAMA_HERE = "sama-cramped_room"


def team_of(config, row="sama", seed=0):
    return plan(config, f"{row}-cramped_room", seed).build_policy().eval()


def test_an_episode_with_rounds_taken_back_is_the_one_without_them():
    config, last = dataclasses.replace(LAPTOP, max_episode_steps=150, round_steps=25), []

    def keep(world, loop):
        if world.chance.episode[0] == 0:
            last[-1] = world.snapshot()

    wasted = []
    for undone in ([(ONION, SERVE), (SERVE, DISH)], []):
        last.append({})
        loop = FixedPlans((SERVE, SERVE), undone)
        found = play_under(loop, config, SAMA_HERE, learned_executor(team_of(config)), 1, keep)
        wasted.append(found["wasted_steps"][0])
    assert wasted == [50, 0]
    assert last[0]["chance_step"][0] == 150
    for name, value in last[0].items():
        np.testing.assert_array_equal(value, last[1][name], err_msg=name)


def test_conditions_change_the_planner_and_nothing_that_was_learned():
    found = conditions(LAPTOP)
    assert len(found) == 22
    learned = ("network", "learner", "states", "reward_source", "tasks", "methods", "round_steps")
    for config in found.values():
        assert all(getattr(config, name) == getattr(LAPTOP, name) for name in learned)
    assert len(set(map(repr, found.values()))) == len(found)
    assert "no objects extracted" in conditions(dataclasses.replace(LAPTOP, planner="openai"))


@pytest.mark.parametrize("name", ["api_key_variable", "base_url_variable"])
def test_a_run_folder_cannot_choose_what_is_sent_as_a_key_or_where_to(name):
    data = config_to_json(dataclasses.replace(LAPTOP, planner="openai"))
    data["model"]["chat"]["endpoint"][name] = "AWS_SECRET_ACCESS_KEY"
    with pytest.raises(UserError, match=name):
        config_from_json(SamaConfig, data)


def test_planners_of_a_process_share_their_budget_and_none_writes_over_anothers_words(tmp_path, monkeypatch):
    chat = ChatSettings(
        endpoint=EndpointSettings(max_attempts=1),
        budget=Budget(max_calls=3, calls_per_minute=1e9),
    )
    model = ModelSettings(name="m", folder=str(tmp_path), concurrency=1, chat=chat)
    with Loopback(lambda body, number: say(f"nonsense {number}")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-secret-key")
        config = dataclasses.replace(SMOKE, planner="openai", model=model)
        planners = [make_planner(config, "cramped_room", seed) for seed in range(3)]
    assert len(server.requests) == 3
    assert [planner.caller.counts.get("unsent", 0) for planner in planners] == [0, 1, 1]
    texts = [planner.caller.transcript.text for planner in planners]
    assert [text.count("# Transcript of the planner") for text in texts] == [1, 1, 1]
    assert ["nonsense" in text for text in texts] == [True, False, False]
