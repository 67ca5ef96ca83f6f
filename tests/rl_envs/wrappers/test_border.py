"""The border to foreign environments: each broken promise is one sentence, and what loses nothing is taken."""

import functools

import numpy as np
import pytest
from gymnasium import spaces

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_pettingzoo
from tests.rl_envs.wrappers.odd_games import LIMIT, Signal, at, played, put, refusal, without

OBSERVED, REWARD, TERMINATED, TRUNCATED, INFOS = 0, 1, 2, 3, -1
INNER = spaces.Dict(a=spaces.Dict(x=spaces.Discrete(2)))
DOT = np.array([1, 0, 0], np.float32)
MASKED = spaces.Dict(obs=spaces.Dict(v=spaces.Box(0, 1, (3,)), action_mask=spaces.MultiBinary(3)))


def game(part, agent, value, step=2, **more):
    return functools.partial(Signal, at(step, put(part, agent, value)), **more)


def sees(value, space):
    """A game in which `left` sees this value of a space at reset."""
    return game(OBSERVED, "left", value, 0, observation=space)


def flags(env, answer):
    """`left` ends at step 2 and stays out."""
    if env.steps == 2:
        answer[TERMINATED] = answer[TERMINATED] | {"left": True}
        env.agents = ["right"]
    return answer


def leaving(then):
    """A game in which `left` ends at step 2, and `then` changes step 3."""

    def change(env, answer):
        flags(env, answer)
        if env.steps == 3:
            then(env, answer)
        return answer

    return functools.partial(Signal, change)


def lists(names, step=2):
    """A game whose list of agents is this one at one step, 0 for reset."""

    def change(env, answer):
        env.agents = names if env.steps == step else env.agents
        return answer

    return functools.partial(Signal, change)


def stopped(lacking):
    """A game that is truncated at step 2 without the last observations of some agents."""

    def change(env, answer):
        if env.steps == 2:
            env.agents, answer[TRUNCATED] = [], dict.fromkeys(answer[TRUNCATED], True)
            answer[OBSERVED] = {name: one for name, one in answer[OBSERVED].items() if name not in lacking}
        return answer

    return functools.partial(Signal, change)


def late(env, answer):
    """`right` is not there at reset, and is paid as soon as it is."""
    here = ["left"] if env.steps == 0 else env.possible_agents
    env.agents = list(here)
    if env.steps == 0:
        return [{"left": part["left"]} for part in answer]
    put(REWARD, "right", 1.0)(answer)
    return answer


def renamed(env, answer):
    env.possible_agents = ["left", "other"] if env.steps else env.possible_agents
    return answer


class Sealed:
    """Neither an array nor to be shown."""

    def __array__(self, *arguments, **options):
        raise RuntimeError("sealed")

    __repr__ = __array__


WRONG = {
    "shape": (game(OBSERVED, "right", np.zeros(2, np.float32)), ["right", "env step 2", "(2,)", "(3,)"]),
    "float in an integer box": (
        sees(np.array([0.5, 0, 0]), spaces.Box(0, 9, (3,), np.int64)),
        ["left", "reset", "float64", "int64"],
    ),
    "a number that the type cannot hold": (
        sees(np.array([300, 0, 0]), spaces.Box(0, 255, (3,), np.uint8)),
        ["left", "300", "uint8"],
    ),
    "beyond a box": (game(OBSERVED, "right", np.array([0, 1.5, 0])), ["right", "env step 2", "1.5", "[1]"]),
    "nan": (game(OBSERVED, "right", np.array([0, 0, np.nan])), ["right", "env step 2", "nan", "[2]"]),
    "infinite without bounds": (
        game(OBSERVED, "right", np.array([0, np.inf, 0]), observation=spaces.Box(-np.inf, np.inf, (3,))),
        ["right", "inf", "[1]"],
    ),
    "beyond 32 bits": (
        game(OBSERVED, "right", np.array([0, 1e300, 0]), observation=spaces.Box(-np.inf, np.inf, (3,), np.float64)),
        ["right", "inf", "[1]"],
    ),
    "masked numbers": (game(OBSERVED, "right", np.ma.array(DOT, mask=[0, 1, 0])), ["right", "env step 2", "None"]),
    "what raises as an array": (game(OBSERVED, "right", Sealed()), ["right", "env step 2", "Sealed"]),
    "objects": (game(OBSERVED, "right", np.array([None, 1, 2])), ["right", "object"]),
    "ragged": (game(OBSERVED, "right", [[1], [1, 2], 3]), ["right", "env step 2", "[[1], [1, 2], 3]"]),
    "nothing seen": (game(OBSERVED, "right", None), ["right", "env step 2", "None"]),
    "outside of Discrete": (sees(3, spaces.Discrete(3)), ["left", "3", "Discrete(3)"]),
    "half a number": (sees(0.5, spaces.Discrete(3)), ["left", "0.5", "Discrete(3)"]),
    "outside of MultiDiscrete": (
        sees(np.array([0, -1]), spaces.MultiDiscrete([2, 3])),
        ["left", "[0, -1]", "MultiDiscrete([2 3])"],
    ),
    "outside of MultiBinary": (sees(np.array([0, 2]), spaces.MultiBinary(2)), ["left", "[0, 2]", "MultiBinary(2)"]),
    "a text too long": (sees("abcd", spaces.Text(3)), ["left", "4", "'abcd'"]),
    "a text of other characters": (sees("abx", spaces.Text(3, charset="ab")), ["left", "'x'", "'abx'"]),
    "no text": (sees(7, spaces.Text(3)), ["left", "7", "Text(1, 3"]),
    "a missing entry": (sees({"x": 0}, spaces.Dict(x=spaces.Discrete(2), y=spaces.Discrete(2))), ["left", "y"]),
    "an entry too many": (sees({"a": {"x": 0, "z": 1}}, INNER), ["left", "'a'", "z"]),
    "another length of a tuple": (
        sees((1,), spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)])),
        ["left", "1 entries"],
    ),
    "a number for a tuple": (sees(np.array(1), spaces.Tuple([spaces.Discrete(2)])), ["left", "reset", "Tuple"]),
    "no observation": (functools.partial(Signal, at(2, without(OBSERVED, "right"))), ["right", "env step 2"]),
    "no last observation of one who is truncated": (stopped(["right"]), ["right", "env step 2"]),
    "no last observation of anyone": (stopped(["left", "right"]), ["left", "env step 2"]),
    "a stranger's observation": (game(OBSERVED, "other", DOT), ["'other'", "observations", "left, right"]),
    "a stranger's infos": (game(INFOS, 3, {}), ["3", "infos"]),
    "no reward": (functools.partial(Signal, at(2, without(REWARD, "right"))), ["right", "env step 2", "reward"]),
    "reward None": (game(REWARD, "right", None), ["right", "env step 2", "None"]),
    "reward vector": (game(REWARD, "right", np.ones(2)), ["right", "(2,)", "weighted sum"]),
    "reward masked": (game(REWARD, "right", np.ma.masked), ["right", "env step 2", "None"]),
    "reward of no number": (game(REWARD, "right", np.array(1 + 2j)), ["right", "env step 2", "(1+2j)"]),
    "reward nan": (game(REWARD, "right", float("nan")), ["right", "env step 2", "nan"]),
    "reward of 1e20": (game(REWARD, "right", -1e20), ["right", "env step 2", "-1e+20", "float32"]),
    "rewards in a list": (functools.partial(Signal, at(2, lambda a: [a[0], [1.0, 0.0], *a[2:]])), ["rewards", "list"]),
    "no flag": (functools.partial(Signal, at(2, without(TRUNCATED, "left"))), ["left", "truncations"]),
    "flag None": (game(TERMINATED, "left", None), ["left", "terminations", "None"]),
    "flag between": (game(TRUNCATED, "left", 0.5), ["left", "truncations", "0.5"]),
    "swapped": (
        functools.partial(Signal, at(1, lambda a: [a[0], a[2], a[1], *a[3:]])),
        ["terminations", "left", "env step 1"],
    ),
    "infos None": (functools.partial(Signal, at(2, lambda a: [*a[:4], None])), ["infos", "None", "env step 2"]),
    "four entries": (functools.partial(Signal, at(2, lambda a: a[:4])), ["4", "env step 2", "truncations"]),
    "only observations": (functools.partial(Signal, at(0, lambda a: [a[0]])), ["reset", "infos"]),
    "gone without a flag": (lists(["right"]), ["left", "env step 2", "terminated", "truncated"]),
    "no list of agents": (lists(None), ["agents", "env step 2", "None"]),
    "reward too large": (game(REWARD, "right", 10**400), ["right", "1000", "too large"]),
    "listed twice": (lists(["left", "right", "right"]), ["right", "env step 2", "once"]),
    "nobody at reset": (lists([], 0), ["agents", "reset"]),
    "seen and not listed": (lists(["left"], 0), ["right", "reset", "agents"]),
    "paid after leaving": (leaving(lambda env, a: put(REWARD, "left", 1.0)(a)), ["left", "env step 3", "reward 1"]),
    "back again": (leaving(lambda env, a: setattr(env, "agents", ["left", "right"])), ["left", "env step 3"]),
    "there after reset only": (functools.partial(Signal, late), ["'right'", "appears"]),
    "a stranger in the list": (lists(["left", "right", "other"]), ["'other'", "possible_agents"]),
    "mask without a legal action": (game(INFOS, "left", {"action_mask": [0, 0, 0]}, 0), ["left", "no legal action"]),
    "mask too short": (game(INFOS, "left", {"action_mask": [1, 1]}, 0), ["left", "[1, 1]", "3 actions"]),
    "mask that is masked": (
        game(INFOS, "left", {"action_mask": np.ma.array([1, 1, 1], mask=[0, 1, 0])}, 0),
        ["left", "[1, None, 1]"],
    ),
    "mask of other numbers": (game(INFOS, "left", {"action_mask": [1, 2, 0]}, 0), ["left", "[1, 2, 0]"]),
    "mask now and then": (game(INFOS, "left", {"action_mask": [1, 1, 1]}, 3), ["left", "env step 3", "action_mask"]),
    "mask only at first": (game(INFOS, "left", {"action_mask": [1, 1, 0]}, 0), ["left", "env step 1", "action_mask"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_one_sentence_with_agent_step_value_and_space(case):
    make_env, words = WRONG[case]
    env = make_env().observation
    if env != Signal().observation:  # both agents must have something of the space to show where they are not wrong
        change = make_env.args[0]

        def shown(self, answer):
            answer[OBSERVED] = {name: self.observation.sample() for name in answer[OBSERVED]}
            return change(self, answer)

        make_env = functools.partial(Signal, shown, observation=env)
    said = refusal(make_env)
    assert [word for word in words if word not in said] == []


def test_possible_agents_stay_the_same():
    world = from_pettingzoo(functools.partial(Signal, renamed))
    world.reset(0)
    world.step(np.zeros((1, 2), int))
    with pytest.raises(CustomEnvError, match="other"):
        world.reset(1)


@pytest.mark.parametrize("later", [{"x": 0, "action_mask": [0, 0, 1]}, {"y": 0}, {}])
def test_another_number_of_entries_is_refused_in_every_episode(later):
    def change(env, answer):
        env.episodes = getattr(env, "episodes", 0) + (len(answer) == 2)
        answer[OBSERVED] = dict.fromkeys(answer[OBSERVED], {"x": 0} if env.episodes < 6 else later)
        return answer

    with pytest.raises(CustomEnvError, match=r"at reset.*'left'"):
        played(functools.partial(Signal, change, observation=spaces.Dict(x=spaces.Discrete(2))), 6 * LIMIT)


def test_a_mask_in_the_observation_and_another_in_the_infos_is_refused():
    def change(env, answer):
        answer[OBSERVED] = {
            name: {"obs": {"v": DOT, "action_mask": np.array([1, 1, 0], np.int8)}} for name in answer[0]
        }
        answer[-1] = {name: {"action_mask": [1, 0, env.steps == 2]} for name in answer[OBSERVED]}
        return answer

    said = refusal(functools.partial(Signal, change, observation=MASKED))
    assert all(word in said for word in ("left", "[1, 1, 0]", "[1, 0, 0]"))


def test_a_nested_mask_is_the_legality_mask():
    def change(env, answer):
        answer[OBSERVED] = {
            name: {"obs": {"v": DOT, "action_mask": np.array([0, 0, 1], np.int8)}} for name in answer[0]
        }
        return answer

    world = from_pettingzoo(functools.partial(Signal, change, observation=MASKED))
    seen = world.reset(0)
    assert seen["legal"].tolist() == [[[False, False, True]] * 2]
    assert set(seen) == {"obs/v", "agent", "alive", "legal"}


@pytest.mark.parametrize("mask", [[0, 0, 1], [0, 0, 0], []])
@pytest.mark.parametrize("is_shown", [True, False])
def test_the_mask_of_a_stopped_agent_binds_its_last_value_unless_nothing_is_legal(is_shown, mask):
    def change(env, answer):
        own = mask if env.steps == LIMIT else [0, 0, 1]
        if is_shown:
            answer[OBSERVED] = {
                name: {"obs": {"v": DOT, "action_mask": np.array(own, np.int8)}} for name in answer[OBSERVED]
            }
        else:
            answer[-1] = {name: {"action_mask": own} for name in answer[OBSERVED]}
        if env.steps == LIMIT:
            answer[TERMINATED], answer[TRUNCATED] = {"left": True, "right": False}, {"left": False, "right": True}
        return answer

    *_, info = played(functools.partial(Signal, change, observation=MASKED if is_shown else None), LIMIT)[-1]
    wanted = [True] * 3 if mask != [0, 0, 1] else [False, False, True]
    assert info["final_obs"]["legal"].tolist() == [[[True] * 3, wanted]], "one who is terminated has no value"


def test_actions_come_in_the_order_of_the_agents_in_the_game():
    orders = []

    def change(env, answer):
        orders.append(list(env.agents[:: -1 if env.steps % 2 else 1]))
        env.agents = list(orders[-1])
        return answer

    env = Signal(change)
    world = from_pettingzoo(lambda: env)
    world.reset(0)
    for _ in range(4):
        world.step(np.zeros((1, 2), int))
    assert [list(one) for one in env.taken[-4:]] == orders[-5:-1] and orders[-2] != orders[-3]


def test_agents_that_are_numbers_are_called_by_them():
    world = from_pettingzoo(functools.partial(Signal, names=(0, np.int64(1))))
    assert world.agents == ("0", "1")
    assert world.reset(0)["observation"].shape == (1, 2, 3)
    assert world.step(np.zeros((1, 2), int))[1].shape == (1, 2)
    said = refusal(functools.partial(Signal, at(2, put(REWARD, 1, None)), names=(0, 1)))
    assert all(word in said for word in ("reward of 1", "env step 2", "None"))


@pytest.mark.parametrize("key", ["final_obs", "final_observation", "terminal_observation"])
@pytest.mark.parametrize(
    ("last", "is_refused"), [(DOT, False), (DOT.tolist(), False), (True, False), (DOT[::-1], True)]
)
def test_an_environment_that_shows_the_next_episode_where_one_is_truncated_is_refused(key, last, is_refused):
    def change(env, answer):
        if env.steps == 2:
            answer[OBSERVED] = dict.fromkeys(answer[OBSERVED], DOT)
            env.agents, answer[TRUNCATED] = [], dict.fromkeys(answer[TRUNCATED], True)
            answer[INFOS] = {"right": {key: last}}
        return answer

    make_env = functools.partial(Signal, change)
    if is_refused:
        assert all(word in refusal(make_env) for word in ("'right'", key, "env step 2"))
    else:
        played(make_env)


def agents_backwards(env, answer):
    env.agents = env.agents[::-1]
    return [dict(reversed(list(part.items()))) for part in answer]


def converted(of):
    """Each part of what is returned, by a function of its place and value."""

    def change(env, answer):
        parts = range(len(answer)) if len(answer) == 5 else (OBSERVED, INFOS)
        return [{name: of(part, one) for name, one in own.items()} for part, own in zip(parts, answer, strict=True)]

    return change


def frozen(part, value):
    if part == OBSERVED:
        value.setflags(write=False)
    return value


HARMLESS = {
    "another order": agents_backwards,
    "numpy numbers": converted(lambda part, one: np.float16(one) if part == REWARD else one),
    "arrays with one entry": converted(lambda part, one: np.array([one]) if part in (1, 2, 3) else one),
    "0 and 1 as flags": converted(lambda part, one: int(one) if part in (TERMINATED, TRUNCATED) else one),
    "truth as reward": converted(lambda part, one: one == 1.0 if part == REWARD else one),
    "lists": converted(lambda part, one: one.tolist() if part == OBSERVED else one),
    "64 bits": converted(lambda part, one: one.astype(np.float64) if part == OBSERVED else one),
    "read-only arrays": converted(frozen),
    "rounding": converted(lambda part, one: one * np.float32(1.0000004) if part == OBSERVED else one),
    "empty infos": lambda env, answer: [*answer[:-1], {}],
    "no last observation of the terminated": lambda env, answer: [{}, *answer[1:]] if env.steps == LIMIT else answer,
    "numpy names": lambda env, answer: [{np.str_(name): one for name, one in part.items()} for part in answer],
}


@pytest.mark.parametrize("case", HARMLESS)
def test_what_loses_nothing_is_taken_as_what_it_stands_for(case):
    wanted = played(Signal, LIMIT, 2)
    found = played(functools.partial(Signal, HARMLESS[case]), LIMIT, 2)
    for (seen, *ends, _), (same, *other_ends, _) in zip(wanted, found, strict=True):
        np.testing.assert_equal(ends, other_ends)
        for key, value in seen.items():
            np.testing.assert_allclose(value, same[key], rtol=1e-6)


def test_the_dead_may_be_listed_and_get_zeros():
    def change(env, answer):
        if env.steps == 2:
            answer[TERMINATED] = answer[TERMINATED] | {"left": True}
        if env.steps > 2:
            put(REWARD, "left", 0.0)(answer)
            put(TERMINATED, "left", True)(answer)
        return answer

    class Lingering(Signal):
        def step(self, actions):
            return super().step({"left": 0} | actions)

    results = played(functools.partial(Lingering, change))
    assert [result[0]["alive"][0].tolist() for result in results] == [[True, True], *[[False, True]] * 3]


def test_one_who_is_truncated_before_the_others_is_named(caplog):
    def change(env, answer):
        if env.steps == 2:
            put(TRUNCATED, "left", True)(answer)
        return answer

    played(functools.partial(Signal, change), 2)
    assert "'left'" in caplog.text


def test_one_who_is_terminated_where_another_is_truncated_has_no_value():
    def change(env, answer):
        if env.steps == LIMIT:
            put(TERMINATED, "right", False)(answer)
            put(TRUNCATED, "right", True)(answer)
        return answer

    make_env = functools.partial(Signal, change)
    *_, (_, _, terminated, truncated, info) = played(make_env, LIMIT)
    assert (terminated[0], truncated[0]) == (False, True)
    assert info["final_obs"]["alive"].tolist() == [[False, True]]
    with pytest.raises(CustomEnvError, match=r"'left' .*'right'.* env step 6 .*--agents-leave"):
        played(make_env, LIMIT, agents_leave=False)
