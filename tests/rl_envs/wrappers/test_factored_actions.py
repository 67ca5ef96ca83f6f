"""Custom environments whose agents have actions of several parts, of numbers, and of different spaces."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.random_play import random_legal_actions
from rl_envs.testing import check_world
from rl_envs.wrappers import from_pettingzoo
from rl_envs.wrappers.pettingzoo import TeamParallelEnv
from tests.rl_envs.wrappers.odd_games import Signal

SPACES = {
    "a": spaces.Dict(
        move=spaces.Discrete(3, start=1), aim=spaces.Box(np.array([-2, 0]), np.array([2, 0.1]), dtype=float)
    ),
    "b": spaces.MultiDiscrete([2, 4]),
    "c": spaces.Box(-1, 1, (1,)),
    "d": spaces.Tuple([spaces.MultiBinary(2), spaces.Discrete(5)]),
}


class Mixed(Signal):
    """Agents that must act within their spaces; each is paid what the numbers of its action add up to."""

    limit = 5

    def __init__(self, action_spaces=SPACES, masks=()):
        super().__init__(self._inform, action_spaces, spaces.Box(0, 1, (1,)), dict(action_spaces), max_steps=self.limit)
        self.infos, self.render_mode = dict(zip(["action_mask"], masks, strict=False)), None

    def seen(self):
        return {name: np.full(1, self.steps / 5, np.float32) for name in self.possible_agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        assert all(self.action[name].contains(action) for name, action in actions.items()), actions
        return super().step(actions)

    def pay(self, name, action):
        return float(np.sum(spaces.flatten(self.action[name], action)))

    @staticmethod
    def _inform(env, answer):
        return [*answer[:-1], dict.fromkeys(answer[-1], env.infos)]


def test_agents_of_different_spaces_act_within_them_and_keep_every_worlds_contract():
    check_world(functools.partial(from_pettingzoo, Mixed))


def test_parts_are_named_by_their_path_and_those_of_others_have_one_legal_choice():
    world = from_pettingzoo(Mixed)
    sizes = {name: size for name, size in world.action_spec.items() if isinstance(size, int)}
    assert sizes == {"move": 3, "0": 2, "1": 5, "0/0": 2, "0/1": 2}
    assert world.action_spec["continuous"].low.tolist() == [[-2, 0], [0, 0], [-1, 0], [0, 0]]
    legal = np.split(world.reset(0)["legal"][0], [3, 5, 10, 12], axis=1)
    assert [part.sum(1).tolist() for part in legal] == [
        [3, 1, 1, 1],
        [1, 2, 1, 1],
        [1, 4, 1, 5],
        [1, 1, 1, 2],
        [1, 1, 1, 2],
    ]


def test_a_world_that_is_wrapped_again_takes_the_same_actions():
    env = TeamParallelEnv(from_pettingzoo(Mixed))
    env.reset(0)
    for name in env.agents:
        env.action_space(name).seed(0)
    legal = dict.fromkeys(["move", "0", "1", "0/0", "0/1"], 0)
    _, rewards, *_ = env.step(
        {name: legal | {"continuous": env.action_space(name)["continuous"].high} for name in env.agents}
    )
    assert rewards == pytest.approx({"a": 3.1, "b": 2.0, "c": 1.0, "d": 1.0})


TWO, THREE = np.array([1, 0], np.int8), np.array([0, 1, 1], np.int8)
FLAT = np.concatenate([TWO, THREE])
NAMED = spaces.Dict(a=spaces.Discrete(2), b=spaces.Discrete(3), c=spaces.Box(-1, 1, (2,)))
BITS = spaces.Tuple([spaces.MultiBinary(3), spaces.Discrete(2)])
MASKS = {
    "flat": (spaces.MultiDiscrete([2, 3]), FLAT, FLAT),
    "a tuple": (spaces.MultiDiscrete([2, 3]), (TWO, THREE), FLAT),
    "a list": (spaces.MultiDiscrete([2, 3]), [TWO.tolist(), THREE.tolist()], FLAT),
    "rows of tuples": (spaces.MultiDiscrete([[2, 3], [3, 2]]), ((TWO, THREE), (THREE, TWO)), [*FLAT, *THREE, *TWO]),
    "a dict": (NAMED, {"a": TWO, "b": THREE, "c": None}, FLAT),
    "a dict without numbers": (NAMED, {"a": TWO, "b": THREE}, FLAT),
    "none": (spaces.MultiDiscrete([2, 3]), None, [1] * 5),
    "none of a part": (NAMED, {"a": TWO, "b": None, "c": None}, [1, 0, 1, 1, 1]),
    "bits as Gymnasium samples them": (BITS, (np.array([0, 1, 2], np.int8), TWO), [1, 0, 0, 1, 1, 1, 1, 0]),
    "bits and their choices": (BITS, (np.array([1, 0, 0, 1, 1, 1]), None), [1, 0, 0, 1, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("case", MASKS)
def test_masks_are_flat_or_nested_as_gymnasium_samples_with_them(case):
    space, mask, legal = MASKS[case]
    world = from_pettingzoo(functools.partial(Mixed, {"a": space, "b": space}, [mask]))
    seen, draws = world.reset(0), np.random.default_rng(0)
    assert seen["legal"][0].astype(int).tolist() == [[*legal]] * 2
    for _ in range(12):
        seen = world.step(random_legal_actions(world, seen, draws))[0]


@pytest.mark.parametrize(
    ("space", "mask", "named"),
    [
        (spaces.Discrete(3), np.ones(4), "3 entries"),
        (spaces.Discrete(3), (1, (2, 3)), "3 entries"),
        (spaces.MultiDiscrete([2, 3]), (np.ones(2), np.ones(2)), "'1'.*3 entries"),
        (spaces.MultiDiscrete([2, 3]), np.ones(4), "'a'.*5 entries"),
        (spaces.MultiDiscrete([2, 3]), (TWO,), "tuple of 2"),
        (BITS, (np.array([0, 1, 3]), TWO), "'0'.*shape"),
        (NAMED, {"a": TWO, "b": THREE, "d": TWO}, "keys a, b, c"),
        (NAMED, {"a": TWO, "b": THREE, "c": np.ones(2)}, "'c'.*None"),
    ],
)
def test_a_mask_of_another_form_is_refused_with_its_part_and_the_form_that_it_should_have(space, mask, named):
    with pytest.raises(CustomEnvError, match=rf"action_mask.*{named}"):
        from_pettingzoo(functools.partial(Mixed, {"a": space}, [mask])).reset(0)


def test_a_mask_that_leaves_a_part_without_a_choice_is_refused():
    world = from_pettingzoo(functools.partial(Mixed, {"a": spaces.MultiDiscrete([2, 3])}, [[0, 0, 1, 1, 1]]))
    with pytest.raises(CustomEnvError, match="mask of 'a' has no legal action"):
        world.reset(0)


def test_a_space_of_observations_can_hold_a_mask_of_bits_as_gymnasium_samples_them():
    class Seen(Mixed):
        def observation_space(self, name):
            return spaces.Dict(x=super().observation_space(name), action_mask=spaces.Box(0, 2, (2,), np.int8))

        def seen(self):
            return {name: {"x": x, "action_mask": np.array([2, 1], np.int8)} for name, x in super().seen().items()}

    seen = from_pettingzoo(functools.partial(Seen, {"a": spaces.MultiBinary(2)})).reset(0)
    assert seen["legal"][0].tolist() == [[True, True, False, True]]


def test_actions_outside_of_their_bounds_are_refused():
    world = from_pettingzoo(functools.partial(Mixed, {"c": SPACES["c"]}), 2)
    world.reset(0)
    for wrong in (np.full((2, 1, 1), 1.5), np.full((2, 1, 1), np.nan), np.zeros((2, 1))):
        with pytest.raises(ValueError, match="actions must"):
            world.step({"continuous": wrong})


class OneLeaves(Mixed):
    """The first agent leaves after the first env step."""

    def step(self, actions):
        seen, rewards, over, cut, infos = super().step(actions)
        if self.steps == 1:
            over[self.agents[0]] = True
            self.agents = self.agents[1:]
        return seen, rewards, over, cut, infos


def test_numbers_of_an_agent_that_has_left_may_lie_anywhere():
    box = spaces.Box(np.float32(-0.5), np.float32(-0.25), (2,))
    world = from_pettingzoo(functools.partial(OneLeaves, {"a": box, "b": box}), 2)
    world.reset(0)
    inside = np.full((2, 2, 2), -0.3, np.float32)
    world.step({"continuous": inside})
    inside[:, 0] = np.nan
    world.step({"continuous": inside})
    inside[:, 1] = 0
    with pytest.raises(ValueError, match="actions must"):
        world.step({"continuous": inside})


@pytest.mark.parametrize(
    "space",
    [
        spaces.Dict({"a/b": spaces.Discrete(3), "a": spaces.Dict(b=spaces.Discrete(2))}),
        spaces.Dict({"continuous": spaces.Discrete(3), "continuous_": spaces.Discrete(2)}),
        spaces.MultiDiscrete([2, 2**30]),
        spaces.Tuple([spaces.Discrete(2**20 + 1), spaces.Discrete(2)]),
        spaces.Discrete(2**20 + 1),
    ],
)
def test_parts_of_one_name_and_parts_too_large_are_refused_with_the_agent(space):
    with pytest.raises(CustomEnvError, match="'a'"):
        from_pettingzoo(functools.partial(Mixed, {"a": space}))
