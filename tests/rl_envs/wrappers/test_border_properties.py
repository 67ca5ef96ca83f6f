"""Any value of any space is taken as it is, and any change that leaves the space is refused."""

import functools

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_pettingzoo
from tests.rl_envs.wrappers.odd_games import Signal

SHAPES = st.lists(st.integers(1, 3), min_size=0, max_size=3).map(tuple)
FLOATS, INTEGERS = (np.float16, np.float32, np.float64), (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64)


@st.composite
def boxes(draw, dtypes=FLOATS + INTEGERS):
    dtype, shape = np.dtype(draw(st.sampled_from(dtypes))), draw(SHAPES)
    low = draw(st.integers(0 if dtype.kind == "u" else -50, 50))
    return spaces.Box(low, low + draw(st.integers(0, 60)), shape, dtype.type)


LEAVES = st.one_of(
    boxes(),
    st.builds(spaces.Discrete, st.integers(1, 6), start=st.integers(-3, 3)),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(spaces.MultiDiscrete),
    st.integers(1, 5).map(spaces.MultiBinary),
    st.integers(1, 6).map(spaces.Text),
)
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("uvw"), inner, min_size=1, max_size=3).map(spaces.Dict),
        st.lists(inner, min_size=1, max_size=2).map(spaces.Tuple),
    ),
    max_leaves=4,
)


def played(space, value, is_seen_by_both=True):
    """What the world shows of a value that `left` sees."""

    def change(env, answer):
        answer[0] = {"left": value, "right": value if is_seen_by_both else env.observation["right"].sample()}
        return answer

    world = from_pettingzoo(functools.partial(Signal, change, observation=space))
    return world, world.reset(0)


def entries(space, value, key=""):
    """Key and space and value of each leaf."""
    if isinstance(space, spaces.Dict):
        inner = [(name, one, value[name]) for name, one in space.items()]
    elif isinstance(space, spaces.Tuple) and not all(isinstance(one, spaces.Text) for one in space):
        inner = [(str(place), one, value[place]) for place, one in enumerate(space)]
    else:
        yield key or "observation", space, value
        return
    for name, one, own in inner:
        yield from entries(one, own, f"{key}/{name}" if key else name)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(NESTED, st.integers(0, 1000))
def test_every_value_of_a_space_is_shown_as_it_is(space, seed):
    space.seed(seed)
    value = space.sample()
    world, seen = played(space, value)
    for key, leaf, own in entries(space, value):
        if key in world.text_spec:
            tokens = world.texts[key].look_up(seen[key])[0, 0]
            texts = (own,) if isinstance(own, str) else own
            assert [world.words.decode(one) for one in np.atleast_2d(tokens)] == list(texts)
        elif isinstance(leaf, spaces.Box):
            np.testing.assert_array_equal(seen[key][0, 0], own.astype(seen[key].dtype))
        elif isinstance(leaf, spaces.MultiBinary):
            np.testing.assert_array_equal(seen[key][0, 0], own)
        else:
            np.testing.assert_array_equal(seen[key][0, 0], spaces.flatten(leaf, own))
    world.close()


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(boxes(), st.data())
def test_a_number_outside_of_a_box_or_another_shape_or_kind_is_refused(space, data):
    value = np.array(space.sample())
    wrong = [np.stack([value, value]), value.astype(object)]
    if value.size:
        place = data.draw(st.integers(0, value.size - 1))
        for number in (float(space.high.flat[0]) + 1, float(space.low.flat[0]) - 1):
            changed = value.astype(np.float64 if space.dtype.kind == "f" else object)
            changed.flat[place] = number if space.dtype.kind == "f" else int(number)
            wrong.append(changed if space.dtype.kind == "f" else changed.astype(np.int64))
        if space.dtype.kind == "f":
            wrong += [np.full_like(value, number) for number in (np.nan, np.inf, -np.inf)]
        else:
            wrong.append(value + 0.5)
    for one in wrong:
        with pytest.raises(CustomEnvError, match="'left'"):
            played(space, one)


def box(low, high, dtype=np.float64):
    return spaces.Box(low, high, (2,), dtype)


TIMES = [1_700_000_001.0, 0.5]
IN_CAST = {
    "a time": (box(0, 2e9), TIMES, True),
    "a time without bounds": (box(-np.inf, np.inf), TIMES, True),
    "whole numbers": (box(-np.inf, np.inf), [1_700_000_001, 0], True),
    "fine differences far from 0": (box(1e3, 1000.001), [1000.00003, 1e3], True),
    "beyond 53 bits": ({"left": box(0, 2**60, np.uint64), "right": box(0, 2**60, np.int64)}, [2**53 + 1, 0], True),
    "rounding": (box(-np.inf, np.inf), [0.1, 12345.6789], False),
    "rounding in a narrow box": (box(250, 320), [273.15, 310.04], False),
    "whole numbers beyond 24 bits": (box(0, 2**31 - 1, np.int32), [2**24 + 1, 0], True),
    "small ones in a wide box": (box(0, 2**60, np.int64), [2**24, 0], False),
    "whole numbers that float32 holds": (box(0, 2e9), [1_700_000_000, 2**24], False),
    "truth": (box(-np.inf, np.inf), [True, False], False),
}


@pytest.mark.parametrize("case", IN_CAST)
def test_numbers_whose_differences_the_cast_loses_are_named_once(case, caplog):
    space, value, is_lost = IN_CAST[case]

    def change(env, answer):
        answer[0] = dict.fromkeys(answer[0], np.array(value))
        return answer

    cls = type("".join(filter(str.isalnum, case.title())), (Signal,), {})  # a warning is logged once for each class
    world = from_pettingzoo(functools.partial(cls, change, observation=space), 2)
    world.reset(0)
    world.step(np.zeros((2, 2), int))
    assert caplog.text.count(cls.__name__) == is_lost
