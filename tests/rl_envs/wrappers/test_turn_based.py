"""Turn-based games as worlds: one agent chooses at an env step, and the others wait."""

import contextlib
import functools
from types import MappingProxyType

import numpy as np
import pytest
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.random_play import random_legal_actions
from rl_envs.wrappers import from_pettingzoo
from rl_envs.wrappers.custom.turn_based import TurnBased
from tests.rl_envs.wrappers.odd_games import Signal
from tests.rl_envs.wrappers.turn_based_games import TICTACTOE, Relay


def test_one_agent_chooses_at_a_time_and_the_actions_of_those_who_wait_are_ignored():
    world, other = (from_pettingzoo(Relay, 2, agents_leave=True) for _ in range(2))
    obs = world.reset(3)
    other.reset(3)
    order = []
    for _ in range(6):
        assert (obs["decides"].sum(1) == 1).all()
        order.append(int(obs["decides"][0].argmax()))
        shown = obs["observation"].argmax(-1)
        obs, reward, _, _, info = world.step(shown)
        mixed = np.where(np.arange(3) == order[-1], shown, 2 - shown)
        assert (reward[:, order[-1]] == 1).all() and (other.step(mixed)[1] == reward).all()
        assert (info["duration"][:, order[-1]] == 1).all()
    assert order == [0, 1, 2, 0, 1, 0], "the third leaves after its first move"
    assert obs["alive"].tolist() == [[True, True, False]] * 2
    assert info["duration"][0, :2].tolist() == [1, 2]


@pytest.mark.parametrize("ends", [False, True])
def test_agents_whose_observations_are_written_into_one_array_see_their_own(ends):
    class OneArray(Relay):
        def __init__(self):
            super().__init__(max_cycles=1, leaves=False)
            self.seen = {"own": np.zeros(3, np.float32)}

        def observation_space(self, agent):
            return spaces.Dict(own=super().observation_space(agent))

        def observe(self, agent):
            self.seen["own"][:] = np.eye(3)[self.possible_agents.index(agent)]
            return MappingProxyType(self.seen)  # which `copy` cannot copy

    world = from_pettingzoo(OneArray)
    seen = world.reset(0)
    for _ in range(3 * ends):
        *_, info = world.step(np.zeros((1, 3), int))
    assert ((info["final_obs"] if ends else seen)["own"] == np.eye(3)).all()


def test_agents_that_wait_may_be_shown_a_mask_without_legal_actions():
    world = from_pettingzoo(TICTACTOE, 2)
    obs, draws = world.reset(0), np.random.default_rng(0)
    while True:
        waits = ~obs["decides"]
        assert obs["legal"][waits].all() and obs["legal"][~waits].any(-1).all()
        chances = np.where(obs["legal"], draws.random(obs["legal"].shape), -1.0)
        obs, reward, terminated, truncated, _ = world.step(chances.argmax(-1))
        assert not truncated.any() and (reward.sum(1) == 0).all()
        if terminated.any():
            assert np.abs(reward[terminated]).sum() in (0, 2, 4)
            return


class LockedRelay(Relay):
    """`Relay` with actions of two parts; in infos, or in observations, a mask for the agent whose turn it is."""

    forms = spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)])

    def __init__(self, is_shown):
        super().__init__()
        self.is_shown, self.infos = is_shown, {}

    def observation_space(self, agent):
        masks = spaces.Tuple([spaces.MultiBinary(3), spaces.Box(0, 2, (2,), np.int8)])
        seen = super().observation_space(agent)
        return spaces.Dict({"seen": seen, "action_mask": masks}) if self.is_shown else seen

    def action_space(self, agent):
        return self.forms

    def observe(self, agent):
        seen = super().observe(agent)
        return {"seen": seen, "action_mask": self._mask(agent)} if self.is_shown else seen

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self._inform()

    def step(self, action):
        if action is not None:
            assert (action[0] != 1) and action[1][0] == 1
        super().step(action)
        self._inform()

    def _mask(self, agent):
        if agent == self.agent_selection:
            return np.array([1, 0, 1], np.int8), np.array([1, 2], np.int8)
        return np.zeros(3, np.int8), np.zeros(2, np.int8)

    def _inform(self):
        self.infos = {name: {} for name in self.agents}
        if not self.is_shown:
            self.infos[self.agent_selection] = {"action_mask": self._mask(self.agent_selection)}


@pytest.mark.parametrize("is_shown", [True, False])
def test_masks_of_several_parts_bind_the_agent_whose_turn_it_is_alone(is_shown):
    world, draws = from_pettingzoo(functools.partial(LockedRelay, is_shown), 2), np.random.default_rng(0)
    obs = world.reset(0)
    for _ in range(30):
        assert (obs["legal"][obs["decides"]] == [1, 0, 1, 0, 1, 1, 1]).all() and obs["legal"][~obs["decides"]].all()
        obs = world.step(random_legal_actions(world, obs, draws))[0]


@pytest.mark.parametrize("is_shown", [True, False])
def test_the_mask_of_the_agent_whose_turn_it_is_binds_where_the_game_is_stopped(is_shown):
    world, draws = from_pettingzoo(functools.partial(LockedRelay, is_shown)), np.random.default_rng(0)
    obs, truncated = world.reset(0), np.array([False])
    while not truncated.all():
        obs, _, _, truncated, info = world.step(random_legal_actions(world, obs, draws))
    assert info["final_obs"]["alive"].tolist() == [[True, True, False]]
    bound = [True, False, True, False, True, True, True]
    assert info["final_obs"]["legal"].tolist() == [[bound, [True] * 7, [True] * 7]]


def test_a_mask_in_the_infos_of_a_later_agent_alone_is_refused():
    class Informed(LockedRelay):
        def _inform(self):
            super()._inform()
            self.infos["first"] = {}

    world = from_pettingzoo(functools.partial(Informed, False), 2)
    world.reset(0)
    with pytest.raises(CustomEnvError, match="second"):
        world.step({part: np.full((2, 3), int(part == "1/0")) for part in world.action_spec})


@pytest.mark.parametrize("make_env", [Relay, TICTACTOE], ids=["relay", "tictactoe"])
def test_a_snapshot_within_a_game_is_exact(make_env):
    world, copy = from_pettingzoo(make_env, 3), from_pettingzoo(make_env, 3)
    obs, draws = world.reset(1), np.random.default_rng(1)

    def act(seen):
        legal = seen.get("legal", np.ones((3, world.num_agents, world.action_spec), bool))
        return np.where(legal, draws.random(legal.shape), -1.0).argmax(-1)

    for _ in range(4):
        obs = world.step(act(obs))[0]
    again = copy.restore(world.snapshot())
    assert all((again[key] == obs[key]).all() for key in obs)
    for _ in range(5):
        actions = act(obs)
        (obs, *rest, info), (same, *others, told) = world.step(actions), copy.step(actions)
        assert all((same[key] == obs[key]).all() for key in obs)
        assert all((one == other).all() for one, other in zip(rest, others, strict=True))
        assert (info["duration"] == told["duration"]).all()


@pytest.mark.parametrize("pays", [0.0, 5.0])
def test_an_agent_that_has_ended_and_is_listed_until_its_turn_may_not_be_paid(pays):
    class Folding(Relay):
        def step(self, action):
            super().step(action)
            if action is not None:
                self.terminations["first"], self.agent_selection = True, ("second", "third")[self.moves - 1]
                self.rewards["first"] = pays * (self.moves == 2)

    world = from_pettingzoo(functools.partial(Folding, leaves=False))
    world.reset(0)
    assert world.step(np.zeros((1, 3), int))[0]["alive"].tolist() == [[False, True, True]]
    with pytest.raises(CustomEnvError, match=r"Folding.*step 2.*'first'.*5") if pays else contextlib.nullcontext():
        world.step(np.zeros((1, 3), int))


WRONG = {
    "a turn of nobody": ({"agent_selection": "fourth"}, r"agent_selection.*'fourth'.*first"),
    "a stranger's reward": ({"rewards": {"first": 0, "second": 0, "third": 0, 0: 1.0}}, "rewards.*for 0"),
    "no reward": ({"rewards": {"second": 0.0, "third": 0.0}}, "reward of 'first'"),
    "no rewards": ({"rewards": None}, "rewards is None"),
    "a reward of last alone": ({"_cumulative_rewards": {"second": 2.0}}, r"'second' add up to 0.* last\(\) gives 2"),
    "a reward twice in last": (
        {"rewards": dict.fromkeys(("first", "second", "third"), 1), "_cumulative_rewards": {"second": 2.0}},
        r"add up to 1.*gives 2",
    ),
    "a reward of last alone at the end": (
        {"terminations": dict.fromkeys(("first", "second"), True), "_cumulative_rewards": {"second": 5.0}},
        r"'second' add up to .* gives 5",
    ),
    "a flag that is a text": ({"terminations": dict.fromkeys(("first", "second"), "no")}, "terminations.*'no'"),
    "a flag of a stranger": ({"truncations": {"first": False, 0: True}}, "truncations.*for 0"),
    "infos that are no dict": ({"infos": dict.fromkeys(("first", "second"), 3)}, "infos of 'first' are 3"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_turn_based_environment_may_not_say_is_one_sentence(case):
    attributes, words = WRONG[case]

    class Wrong(Relay):
        def step(self, action):
            super().step(action)
            vars(self).update(attributes)

    world = from_pettingzoo(Wrong)
    world.reset(0)
    with pytest.raises(CustomEnvError, match=f"Wrong.*{words}"):
        world.step(np.zeros((1, 3), int))


def test_an_agent_that_has_a_turn_again_after_it_has_ended_is_refused():
    class Stays(Relay):
        def step(self, action):
            if action is not None:
                super().step(action)
                self.terminations[self.agent_selection] = True

    world = from_pettingzoo(Stays)
    world.reset(0)
    with pytest.raises(CustomEnvError, match=r"Stays.*'second'.*step\(None\)"):
        world.step(np.zeros((1, 3), int))


ACTS_NOW = spaces.Dict(acts_now=spaces.Discrete(2))


def test_the_key_of_whose_turn_it_is_is_any_other_key_where_all_act_and_refused_where_they_act_in_turn():
    def change(env, answer):
        answer[0] = {name: {"acts_now": 1} for name in answer[0]}
        return answer

    seen = from_pettingzoo(functools.partial(Signal, change, observation=ACTS_NOW)).reset(0)
    assert "decides" not in seen and seen["acts_now"].tolist() == [[[0, 1]] * 2]
    with pytest.raises(CustomEnvError, match=r"'first'.*'acts_now'"):
        from_pettingzoo(type("Own", (Relay,), {"observation_space": lambda self, agent: ACTS_NOW}))


def test_a_limit_of_rounds_is_one_of_env_steps_for_each_agent():
    assert from_pettingzoo(functools.partial(Relay, 4)).max_episode_steps == 12
    assert TurnBased(TICTACTOE()).max_episode_steps is None
