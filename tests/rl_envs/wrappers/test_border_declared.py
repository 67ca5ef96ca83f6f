"""What a foreign environment declares, and how its copies are built, drawn and closed: each fault is one sentence."""

import copy
import functools
import logging
import os
import sys
import tempfile

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.utils import BaseParallelWrapper

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_gymnasium, from_pettingzoo
from rl_envs.wrappers.custom.build import SoloEnv
from tests.rl_envs.wrappers.odd_games import LIMIT, Signal, played, refusal

MASK = spaces.MultiBinary(3)
FLAT, NESTED = spaces.Dict({"x/y": spaces.Discrete(2)}), spaces.Dict(x=spaces.Dict(y=spaces.Discrete(2)))
DECLARED_WRONG = {
    "no agents": ({"names": ()}, ["Signal", "possible_agents"]),
    "pairs as names": ({"names": ((0, 1), (0, 2))}, ["Signal", "(0, 1)", "strings"]),
    "a number and its name": ({"names": (0, "0")}, ["Signal", "'0'", "twice"]),
    "a space of something else": ({"observation": 3}, ["observation_space('left')", "3"]),
    "no space": ({"observation": {"right": spaces.Discrete(2)}}, ["observation_space('left')", "KeyError"]),
    "graph": ({"observation": spaces.Graph(spaces.Discrete(2), None)}, ["left", "Graph"]),
    "two masks": (
        {"observation": spaces.Dict(a=spaces.Dict(action_mask=MASK), action_mask=MASK)},
        ["left", "a/action_mask", "2"],
    ),
    "a number and its name as keys": (
        {"observation": spaces.Dict({1: spaces.Discrete(2), "1": spaces.Discrete(3)})},
        ["entries 1 and '1'", "left"],
    ),
    "agents without an order": ({"possible_agents": {"left", "right"}}, ["Signal", "possible_agents", "set", "list"]),
    "too many places for one-hot vectors": (
        {"observation": spaces.Discrete(2**40)},
        ["left", "Discrete(1099511627776)", "Box"],
    ),
    "too many actions": ({"action": spaces.Discrete(2**40)}, ["left", "Discrete(1099511627776)"]),
    "a limit beyond all memory": ({"max_steps": sys.maxsize}, ["max_steps", "1,000,000", "--max-episode-steps"]),
    "own names": (
        {"observation": spaces.Dict(alive=spaces.Discrete(2), alive_=spaces.Discrete(2))},
        ["'alive'", "'alive_'", "left"],
    ),
    "a path and a name": ({"observation": spaces.Dict({**FLAT, **NESTED})}, ["'x/y'", "'x'", "left"]),
    "a path of one agent and a name of another": (
        {"observation": {"left": FLAT, "right": NESTED}},
        ["'x/y'", "left", "right"],
    ),
    "texts of actions": ({"action_texts": ["go", "stay"]}, ["2", "3 actions", "left"]),
    "one text for all actions": ({"action_texts": "go"}, ["'go'", "left"]),
    "sets of another shape": ({"coordination_sets": np.ones((1, 2, 2))}, ["coordination_sets", "(1, 2, 2)", "3, 3"]),
    "sets of other numbers": ({"coordination_sets": np.full((1, 3, 3), 2)}, ["coordination_sets"]),
    "actions without bounds": ({"action": spaces.Box(-np.inf, np.inf, (2,))}, ["left", "Box", "bounds"]),
    "whole numbers in a box": ({"action": spaces.Box(0, 9, (2,), np.int64)}, ["left", "Box", "MultiDiscrete"]),
    "texts as actions": ({"action": spaces.Dict(say=spaces.Text(9))}, ["left", "Dict"]),
    "texts of actions of several parts": (
        {"action": spaces.MultiDiscrete([3, 2]), "action_texts": ["go", "stay", "wait"]},
        ["action_texts", "Discrete"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLARED_WRONG)
def test_a_declaration_that_cannot_be_trained_is_one_sentence_and_the_environment_is_closed(case):
    arguments, words = DECLARED_WRONG[case]
    Signal.opened = Signal.closed = 0
    said = refusal(functools.partial(Signal, **arguments))
    assert [word for word in words if word not in said] == []
    assert Signal.closed == Signal.opened


def test_keys_under_which_tables_of_texts_travel_are_kept_free():
    space = spaces.Dict(texts=spaces.Dict(note=spaces.Discrete(3)), note=spaces.Text(3))

    def change(env, answer):
        answer[0] = {name: {"texts": {"note": 1}, "note": "abc"} for name in answer[0]}
        return answer

    world = from_pettingzoo(functools.partial(Signal, change, observation=space))
    assert {"_texts/note", "note"} < set(world.reset(0))


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: Signal(env=env)])
def test_one_object_behind_several_copies_is_refused(wrap):
    env = Signal()
    with pytest.raises(CustomEnvError, match=r"Signal.*copy 2 of 3"):
        from_pettingzoo(lambda: wrap(env), 3)


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: Signal(env=env)])
def test_one_object_behind_two_worlds_is_refused_until_the_first_is_closed_or_dropped(wrap):
    env, Signal.closed = Signal(), 0
    world = from_pettingzoo(lambda: env)
    for again in (lambda: from_pettingzoo(lambda: wrap(env)), functools.partial(copy.deepcopy, world)):
        with pytest.raises(CustomEnvError, match="Signal"):
            again()
    assert Signal.closed == 0
    world.close()
    from_pettingzoo(lambda: wrap(env))  # it is dropped
    assert len(played(lambda: wrap(env))) == 4


def test_copies_with_other_spaces_or_agents_are_refused():
    sizes = iter((3, 3, 4))
    with pytest.raises(CustomEnvError, match=r"'left'.*\(4,\).*\(3,\).*copy"):
        from_pettingzoo(lambda: Signal(observation=spaces.Box(0, 1, (next(sizes),))), 3)
    highs = np.ones((2, 2_000), np.float32)  # NumPy prints the ends of so long an array
    highs[1, 1_000] = 2.0
    boxes = iter(spaces.Box(np.zeros(2_000, np.float32), high) for high in highs)
    with pytest.raises(CustomEnvError, match=r"'left'.*copy"):
        from_pettingzoo(lambda: Signal(observation=next(boxes)), 2)
    for what, given in (("action_texts", "abc"), ("coordination_sets", np.eye(3, dtype=bool)[None])):
        others = iter(([*given], [*given[::-1]] if what == "action_texts" else ~given))
        with pytest.raises(CustomEnvError, match=rf"Signal\.{what}.*copy"):
            from_pettingzoo(lambda what=what, others=others: Signal(**{what: next(others)}), 2)
    names = iter((("a", "b"), ("a", "c")))
    with pytest.raises(CustomEnvError, match=r"copies.*'c'"):
        from_pettingzoo(lambda: Signal(names=next(names)), 2)


class Limited(Signal):
    """Two at a time can be open."""

    opened = closed = 0

    def __init__(self):
        if self.opened - self.closed >= 2:
            raise OSError("address already in use")
        super().__init__()


@pytest.mark.parametrize("processes", [0, pytest.param(1, marks=pytest.mark.processes)])
def test_where_a_copy_cannot_be_built_the_others_are_closed(processes):
    Limited.opened = Limited.closed = 0
    with pytest.raises(CustomEnvError, match=r"copy 3 of 4.*in use"):
        from_pettingzoo(Limited, 4, num_processes=processes)
    assert Limited.opened == Limited.closed


def test_environments_are_closed_once_however_often_and_whatever_their_close_does(caplog):
    Signal.opened = Signal.closed = 0
    world = from_pettingzoo(Signal, 3)
    world.reset(0)
    world.close()
    world.close()
    assert (Signal.opened, Signal.closed) == (3, 3)
    from_pettingzoo(functools.partial(Signal, close=None)).close()

    class Stuck(Signal):
        def close(self):
            raise OSError("still in use")

    with caplog.at_level(logging.WARNING):
        from_pettingzoo(Stuck, 4).close()
        from_pettingzoo(functools.partial(Signal, close=lambda: sys.exit("exits"))).close()
    assert caplog.text.count("still in use") == 1, "it is said once for all copies"
    assert "exits" in caplog.text


class Panic(BaseException):
    """What extensions in Rust raise, which is no `Exception`."""


def test_what_no_environment_must_have_may_raise_where_it_is_asked_for():
    class Reserved(Signal):
        @property
        def max_steps(self):
            raise Panic("not before reset")

        def __getattr__(self, name):
            raise KeyError(name)

    assert len(played(Reserved)) == 4


@pytest.mark.parametrize("error", [Panic("out of bounds"), SystemExit(0)], ids=["panics", "exits"])
@pytest.mark.parametrize("name", ["reset", "step", "render", "observation_space", "possible_agents", "action_texts"])
def test_what_an_environment_raises_is_one_sentence_whatever_its_class(name, error):
    def raises(*given, **named):
        raise error

    is_method = name in ("reset", "step", "render", "observation_space")
    own = {name: raises if is_method else property(raises, lambda *given: None)}
    with pytest.raises(CustomEnvError, match=rf"Signal.*{name}.*{type(error).__name__}: {error}"):
        world = from_pettingzoo(type("Signal", (Signal,), own))
        world.reset(0)
        world.step(np.zeros((1, 2), int))
        world.render()


def test_control_c_within_an_environment_is_no_error_of_it():
    def interrupted(actions):
        raise KeyboardInterrupt

    world = from_pettingzoo(functools.partial(Signal, step=interrupted))
    world.reset(0)
    with pytest.raises(KeyboardInterrupt):
        world.step(np.zeros((1, 2), int))


NO_ENVIRONMENTS = {
    "a class": (lambda: Signal, ["class Signal", "Signal()"]),
    "several at once": (lambda: gymnasium.vector.SyncVectorEnv([Solo] * 3), ["SyncVectorEnv", "3 environments"]),
    "one that resets itself": (lambda: SoloEnv(lambda: gymnasium.vector.SyncVectorEnv([Solo])), ["SyncVectorEnv"]),
    "an environment, and not what builds it": (Signal(), ["make_env", "Signal", "lambda"]),
    "a function that exits": (lambda: sys.exit(0), ["SystemExit"]),
    "a reset without a seed": (functools.partial(Signal, reset=lambda: None), ["TypeError", "reset(seed=None"]),
}


@pytest.mark.parametrize("case", NO_ENVIRONMENTS)
def test_what_is_not_one_environment_of_the_api_is_called_what_it_is(case):
    make_env, words = NO_ENVIRONMENTS[case]
    said = refusal(make_env)
    assert [word for word in words if word not in said] == []


def test_an_observation_without_numbers_is_taken():
    def change(env, answer):
        answer[0] = {name: np.zeros(0, np.float32) for name in answer[0]}
        return answer

    nothing = functools.partial(Signal, change, observation=spaces.Box(0, 1, (0,), np.float32))
    world = from_pettingzoo(nothing, 2)
    assert world.bounds["observation"] == (0, 0)
    assert world.reset(0)["observation"].shape == (2, 2, 0)


@pytest.mark.processes
def test_worker_processes_close_their_environments(tmp_path):
    leaves_folder = functools.partial(tempfile.mkdtemp, dir=tmp_path)
    world = from_pettingzoo(functools.partial(Signal, close=leaves_folder), 2, num_processes=2)
    world.reset(0)
    world.close()
    assert len(list(tmp_path.iterdir())) == 3  # the first is asked for its spaces


@pytest.mark.processes
def test_copies_in_other_processes_must_have_the_same_agents_in_the_same_order():
    here = os.getpid()
    with pytest.raises(CustomEnvError, match=r"copies.*'left', 'right'.*'right', 'left'"):
        from_pettingzoo(lambda: Signal(names=sorted(("left", "right"), reverse=os.getpid() != here)), num_processes=1)


PICTURES = {
    "none": (None, "NoneType"),
    "with alpha": (np.zeros((4, 4, 4), np.uint8), r"\[4, 4, 4\]"),
    "beyond a byte": (np.full((4, 4, 3), 256), "int64"),
}


@pytest.mark.parametrize("case", PICTURES)
def test_a_picture_that_is_none_is_one_sentence(case):
    picture, words = PICTURES[case]
    world = from_pettingzoo(functools.partial(Signal, render=lambda: picture))
    world.reset(0)
    with pytest.raises(CustomEnvError, match=rf"Signal, at reset.*render.*{words}.*rgb_array"):
        world.render()


LIMITS = {
    "max_steps": {"max_steps": 4},
    "numpy": {"max_cycles": np.int64(4)},
    "spec": {"spec": gymnasium.envs.registration.EnvSpec("x-v0", entry_point="x:y", max_episode_steps=4)},
    "behind a wrapper": {"env": Signal(max_steps=np.int32(4))},
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_declared_time_limit_is_read(case):
    assert from_pettingzoo(functools.partial(Signal, **LIMITS[case])).max_episode_steps == 4


@pytest.mark.parametrize("limit", [True, 0, -3, 2.5, "9", np.inf])
def test_what_is_no_time_limit_is_not_taken_for_one(limit):
    assert from_pettingzoo(functools.partial(Signal, max_steps=limit)).max_episode_steps == 1000


def test_a_limit_that_nobody_named_and_that_cut_an_episode_is_said_once(caplog):
    def endless(env, answer):
        if len(answer) == 5:
            env.agents, answer[2] = ["left", "right"], dict.fromkeys(answer[1], False)
        return answer

    with caplog.at_level(logging.WARNING):
        played(functools.partial(Signal, endless), 5, 2, max_episode_steps=2)
        assert caplog.text == ""
        played(functools.partial(Signal, endless, max_steps=2), 5, 2)
        played(Signal, 2 * LIMIT, max_episode_steps=None)
    assert [record.getMessage().count("max_steps = 2") for record in caplog.records] == [1]


def test_what_a_wrapper_adds_for_this_package_is_read():
    class Wrapper(BaseParallelWrapper):
        vocabulary, action_texts, coordination_sets = ["go"], ["go", "stay", "wait"], np.ones((1, 3, 3))

    declared = from_pettingzoo(lambda: Wrapper(Signal())).declaration
    assert (declared.vocabulary, declared.action_texts[1]) == (("go",), ("go", "stay", "wait"))
    assert declared.coordination.all()


def informed(env, answer, **info):
    answer[-1] = dict.fromkeys(answer[0], info)
    return answer


OTHER_MASKS = {
    "get_avail_actions": ({"get_avail_actions": lambda: np.ones((2, 3))}, True),
    "action_masks": ({"action_masks": lambda: np.ones(3)}, True),
    "legal_moves": ({"change": functools.partial(informed, legal_moves=[0, 2])}, True),
    "available_actions": ({"change": functools.partial(informed, available_actions=2)}, False),
    "avail_actions": ({"change": functools.partial(informed, avail_actions=[0], action_mask=[1, 0, 0])}, False),
    "mask": ({"observation": spaces.Dict(mask=MASK)}, True),
    "valid_actions": ({"observation": spaces.Dict(valid_actions=spaces.MultiBinary(2))}, False),
}


@pytest.mark.parametrize("name", OTHER_MASKS)
def test_masks_by_another_name_or_of_a_method_are_named(name, caplog):
    arguments, is_named = OTHER_MASKS[name]
    from_pettingzoo(lambda: Signal(**arguments))
    assert (name in caplog.text) is is_named


def test_a_coordination_set_must_be_one_of_the_declared_and_the_same_for_all():
    sets = np.ones((2, 3, 3))

    def infos(**given):
        def change(env, answer):
            answer[-1] = {name: {"coordination": one} for name, one in given.items() if one is not None}
            return answer

        return functools.partial(Signal, change, coordination_sets=sets)

    assert played(infos(left=1, right=np.int64(1)))[0][0]["coordination"].tolist() == [[1, 1]]
    assert "2" in refusal(infos(left=2, right=1))
    assert "'left': 0, 'right': 1" in refusal(infos(left=0, right=1))
    assert "coordination" in refusal(infos(left=None, right=None))


class Solo(gymnasium.Env):
    """One agent; `give` is returned by step."""

    observation_space, action_space = spaces.Box(0, 1, (1,)), spaces.Discrete(2)
    give = (np.zeros(1), 1.0, False, False, {})

    def reset(self, *, seed=None, options=None):
        return np.zeros(1), {}

    def step(self, action):
        return self.give


@pytest.mark.parametrize(
    ("give", "words"),
    [
        ((np.zeros(1), None, False, False, {}), "None"),
        ((np.zeros(1), 1.0, "no", False, {}), "'no'"),
        ((np.zeros(1), 1.0, False, {}), "4 entries"),
        ((np.zeros(1), [1.0, 2.0], False, False, {}), r"\[1.0, 2.0\]"),
    ],
)
def test_a_gymnasium_environment_passes_the_same_border(give, words):
    env = Solo()
    env.give = give
    world = from_gymnasium(lambda: env)
    world.reset(0)
    with pytest.raises(CustomEnvError, match=words):
        world.step(np.zeros((1, 1), int))
