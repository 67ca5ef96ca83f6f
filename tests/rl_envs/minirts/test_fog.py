"""What fog hides from a side changes nothing in its observations, its masks, its text and its phrases."""

import numpy as np
import pytest

from rl_envs.minirts.phrases import obeyable
from rl_envs.minirts.symbols import CATAPULT, FIRST_BUILDING, NUM_TYPES, PEASANT, RESOURCE
from rl_envs.minirts.text import describe, team_view
from rl_envs.registry import make

ARGUMENTS = {"agents_per_side": 2, "opponents": "medium", "extra_units": 8, "facts": True}


def played(decisions, seed):
    """Snapshot of a game of random actions against a script."""
    world, random = make("minirts-v0", 1, **ARGUMENTS), np.random.default_rng(seed)
    world.reset(seed)
    for _ in range(decisions):
        world.step({name: random.integers(size, size=(1, 2)) for name, size in world.action_spec.items()})
    return world.snapshot()


def hidden_rows(state):
    """Rows of objects that side 0 does not see, and of those the ones that it does not remember either."""
    count = int(state["num_units"][0])
    column, line = (np.round(state[f"unit_{axis}"][0, :count].astype(float)).clip(0, 31).astype(int) for axis in "xy")
    seen = (state["visible_rows"][0, 0, line] >> column.astype(np.uint32)) & 1 == 1
    others = (state["unit_player"][0, :count] == 1) | (state["unit_type"][0, :count] == RESOURCE)
    known = state["unit_remembered"][0, :count] & 1 == 1
    return np.flatnonzero(others & ~seen), np.flatnonzero(others & ~seen & ~known)


def changed(state, random):
    """The same state with other numbers wherever fog hides them from side 0; and what was changed."""
    state = {name: value.copy() for name, value in state.items()}
    out_of_sight, unknown = hidden_rows(state)
    cells = np.argwhere((state["seen_rows"][0, 0][:, None] >> np.arange(32, dtype=np.uint32)) & 1 == 0)  # never seen
    state["unit_hp"][0, out_of_sight] = 1 + random.integers(20, size=len(out_of_sight))
    for row in unknown:
        kind = state["unit_type"][0, row]
        place = cells[random.integers(len(cells))]
        state["unit_y"][0, row], state["unit_x"][0, row] = place
        if PEASANT <= kind <= CATAPULT:
            state["unit_type"][0, row] = random.integers(PEASANT, CATAPULT + 1)
        elif kind >= FIRST_BUILDING:
            state["unit_type"][0, row] = random.integers(FIRST_BUILDING, NUM_TYPES)
    for y, x in cells:
        state["terrain"][0, 32 * y + x] = random.integers(5)
    state["money"][0, 1] += random.integers(1, 500)
    state["visible_rows"][0, 1] ^= random.integers(1, 2**31, size=32).astype(np.uint32)
    theirs = state["order_unit"][0] >= 1 << 24
    state["order_kind"][0, theirs] = 0
    state["script_types"][0, 1] = random.integers(PEASANT, CATAPULT + 1, size=3)
    state["twister"][0, 1] ^= np.uint32(random.integers(1, 2**31))
    return state, len(out_of_sight) - len(unknown), len(unknown)


def descriptions(world, observations):
    view = team_view(observations)
    return [describe(view), *(obeyable({name: value[0, n] for name, value in observations.items()}) for n in (0, 1))]


@pytest.mark.slow
def test_fog_hides_the_same_from_observations_text_and_phrases():
    random, remembered, unknown = np.random.default_rng(0), 0, 0
    world, oracle = make("minirts-v0", 1, **ARGUMENTS), make("minirts-v0", 1, **ARGUMENTS, oracle=True)
    for seed, decisions in enumerate((1, 10, 25, 40, 60)):
        state = played(decisions, seed)
        other, some, more = changed(state, random)
        remembered, unknown = remembered + some, unknown + more
        before = world.restore(state)
        words = descriptions(world, before)
        after = world.restore(other)
        np.testing.assert_equal(after, before)
        np.testing.assert_equal(words, descriptions(world, after))
        both = [oracle.restore(one | {"oracle": np.array([[1, 0]], np.int8)}) for one in (state, other)]
        differs = any((both[0][name] != both[1][name]).any() for name in ("enemy_hp", "enemy_type", "enemy_x"))
        assert differs or not some + more
    assert remembered > 3 and unknown > 3, "this test changes too little"


@pytest.mark.slow
def test_the_engines_form_of_hp_is_the_present_one_and_ours_the_last_seen_one():
    state = next(state for seed in range(20) for state in (played(30, seed),) if len(np.setdiff1d(*hidden_rows(state))))
    rows = np.setdiff1d(*hidden_rows(state))
    state["unit_hp"][0, rows] -= 1
    lists = {}
    for engine in (False, True):
        observed = make("minirts-v0", 1, **ARGUMENTS, engine_hp=engine).restore(state)
        out = [~observed[f"{name}_in_sight"][0, 0] for name in ("enemy", "resource")]
        whole = [observed[f"{name}_hp"][0, 0] == 1 for name in ("enemy", "resource")]
        listed = [np.arange(50) < observed[f"num_{name}"][0, 0] for name in ("enemy", "resource")]
        lists[engine] = sum(int((a & b & c).sum()) for a, b, c in zip(out, whole, listed, strict=True))
    assert lists[False] > lists[True] == 0
