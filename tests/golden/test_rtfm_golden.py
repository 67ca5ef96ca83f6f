"""Replay of recordings of the authors' engine: cells, pick-ups, fights, legal moves, rewards, ends and wins.

Where both monsters met the agent at once the original fights in no particular order, so that step's monsters are not
compared.
"""

import numpy as np
import pytest

from rl_envs.rtfm.lexicon import WALL, YOU
from tests.golden.cases import own_or_golden
from tests.golden.rtfm_replay import Replay

RECORDINGS = own_or_golden("*_[0-9]*.npz", "rtfm")


def xy(cells, size):
    return np.stack([cells % size, cells // size], axis=-1)


@pytest.mark.parametrize("path", RECORDINGS)
def test_every_recorded_step_is_reproduced_exactly(path):
    replay = Replay(path)
    data, size = replay.data, replay.size
    for step in replay.steps():
        rows, index = step.rows, step.index
        sure = ~data["both_met"][index]
        state = {name: value[rows] for name, value in step.after.items()}

        def same(ours, name, which=slice(None), index=index):
            np.testing.assert_array_equal(ours[which], data[name][index][which], err_msg=name)

        same((step.seen["legal"][rows, 0] << np.arange(5)).sum(1), "legal")
        same(step.seen["position"][rows, 0, 0, ::-1], "agent_before")
        same(xy(state["agent_cells"][:, 0], size), "agent_after")
        same(state["agent_alive"][:, 0], "agent_alive")
        same(xy(state["monster_cells"], size), "mon_after", sure)
        same(state["monster_alive"], "mon_alive", sure)
        same(state["item_cells"] > 0, "item_left")
        same(state["held"][:, 0], "held")
        np.testing.assert_allclose(step.reward[rows, 0], data["reward"][index], rtol=0, atol=1e-7)
        same(step.terminated[rows], "done")
        assert not step.truncated.any()
        won = np.zeros(len(replay.first), bool)
        if len(step.info["done_worlds"]):
            won[step.info["done_worlds"]] = step.info["episode"]["win_rate"] == 1
        same(won[rows], "win")


@pytest.mark.parametrize("path", RECORDINGS)
def test_names_in_cells_and_inventories_are_the_recorded_ones(path):
    replay = Replay(path)
    data, names, size = replay.data, replay.world.lexicon.names, replay.size
    grid = np.array(names)[replay.obs["grid"][:, 0, :, :, 0]]
    everything = np.arange(len(replay.first))
    for name, cells in (("ep_mon_name", "ep_mon0"), ("ep_item_name", "ep_item0")):
        x, y = np.moveaxis(data[cells], -1, 0)
        np.testing.assert_array_equal(grid[everything[:, None], y, x], data[name])
    x, y = data["ep_agent0"].T
    assert (grid[everything, y, x] == names[YOU]).all()
    assert ((grid == names[WALL]).sum((1, 2)) == 4 * (size - 1)).all()
    assert [inventory(names, row) for row in replay.obs["inventory"][:, 0, 0]] == list(data["ep_inv0"])
    for step in replay.steps():
        last = step.info["done_worlds"][np.isin(step.info["done_worlds"], step.rows)]
        seen = [inventory(names, name) for name in step.obs["inventory"][last, 0, 0]]
        assert seen == list(data["ep_inv_last"][last])


def inventory(names, name):
    """Our inventory as the recordings write it."""
    return {"nothing": ""}.get(names[name], names[name].replace(" ;", ";"))


@pytest.mark.parametrize("path", RECORDINGS)
def test_documents_state_the_recorded_assignment(path):
    replay = Replay(path)
    data, world = replay.data, replay.world
    tables = {key: world.texts[key].table for key in ("document", "goal")}
    for row in range(len(replay.first)):
        document, goal = (world.lexicon.decode(tables[key][replay.obs[key][row, 0]]) for key in ("document", "goal"))
        assert (document, goal) == written_out(data, row)


def written_out(data, row):
    """Document and goal of an episode in plain words, from the recording alone."""
    if "ep_triple" in data:
        a, b, c = data["letters"][data["ep_triple"][row]]
        return f"{b} beats {a} . {c} beats {b} . {a} beats {c} .", "dragon ."
    statements = []
    for verb, labels, things, groups in (
        ("beat", "ep_mod_elem", "modifiers", "elements"),
        ("are", "ep_mon_team", "monsters", "teams"),
    ):
        for group in sorted(data[groups]):
            members = data[things][data[groups][data[labels][row]] == group]
            known = [str(thing) for thing in members if data[labels][row][list(data[things]).index(thing)] >= 0]
            statements.append(f"{' , '.join(sorted(known))} {verb} {group} .")
    return " ".join(statements), f"defeat the {data['teams'][data['ep_goal_team'][row]]}"
