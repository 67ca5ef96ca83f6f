"""Replay of recordings of the authors' engine: places, hands, chops, plates, what cells show, rewards, ends.

Every file is played twice: under the rules that it names, and under ours until they have to part.
"""

import numpy as np
import pytest

from rl_envs.salad.symbols import CHOP_REWARD, CHOPS, COLLISION_REWARD
from tests.golden.cases import own_or_golden
from tests.golden.salad_replay import Replay

RECORDINGS = own_or_golden("*.npz", "salad")
BOTH_RULES = pytest.mark.parametrize("is_strict", [False, True], ids=["recorded_rules", "our_rules"])


@BOTH_RULES
@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_step_is_reproduced_exactly(path, is_strict):
    replay = Replay(path, is_strict)
    for step in replay.steps():
        state, later = step.after, step.time + 1

        def same(ours, name, time, rows=step.rows):
            np.testing.assert_array_equal(ours, replay.recorded(name, time, rows), err_msg=f"{name}, step {time}")

        np.testing.assert_array_equal(state["agent_cells"], replay.cells("agent", later, step.rows))
        same(state["held"], "held", later)
        same(state["in_plate"], "in_plate", later)
        same(replay.on_boards(state), "board_item", later)
        same(replay.surface(state), "surface", later)
        same(np.where(replay.world.kitchen.has[:3], state["chops"], -1), "chops", later)
        np.testing.assert_array_equal(state["thing_cells"], replay.cells("item", later, step.rows))
        same(step.terminated, "n_correct", step.time)
        same(step.terminated | step.truncated, "done", step.time)
        same(state["wrong_dishes"] - step.before["wrong_dishes"][step.rows], "n_wrong", step.time)
        lost = replay.recorded("move_lost", step.time, step.rows).sum(1)
        np.testing.assert_array_equal(state["collisions"] - step.before["collisions"][step.rows], lost)
        np.testing.assert_allclose(step.reward, rewards(replay, step, lost), atol=1e-12)


def rewards(replay, step, lost):
    """[K, 2]; under our rules a lost move costs, and chopping a food again pays nothing."""
    reward = replay.data["reward"][step.rows, step.time]
    if replay.is_strict:
        before = replay.recorded("chops", step.time, step.rows)
        done = (replay.recorded("chops", step.time + 1, step.rows) == CHOPS) & (before == CHOPS - 1)
        again = (done & step.before["has_paid"][step.rows] & replay.data["recipe"]).sum(1)
        reward = reward + COLLISION_REWARD * lost - CHOP_REWARD * again
    return np.repeat(reward[:, None], 2, axis=1)


@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_overlap_and_swap_is_ours(path):
    replay = Replay(path)
    for step in replay.steps():
        cells = np.where(replay.world.kitchen.has, step.after["thing_cells"], -1 - np.arange(5))
        is_loose = np.ones(cells.shape, bool)
        is_loose[:, :3] = step.after["in_plate"] < 0
        same_cell = (cells[:, :, None] == cells[:, None]) & is_loose[:, :, None] & is_loose[:, None]
        served = step.terminated
        overlap = (same_cell.sum((1, 2)) > is_loose.sum(1)) & ~served
        np.testing.assert_array_equal(overlap, replay.data["overlap"][step.rows, step.time + 1] & ~served)
        before = step.before["agent_cells"][step.rows]
        swapped = (step.after["agent_cells"] == before[:, ::-1]).all(1)
        np.testing.assert_array_equal(swapped, replay.data["swap"][step.rows, step.time])
