"""What agents see, against a plain reading of the state, cell by cell."""

import numpy as np
import pytest

from rl_envs.rtfm.world import Rtfm
from tests.rl_envs.rtfm.scenes import FAR, RIGHT, STAY, situation

CASES = [
    {"size": 6, "dyna": True},
    {"size": 10, "num_agents": 2, "group": True, "dyna": True},
    {"size": 8, "num_agents": 3, "dyna": True, "drop": "floor"},
    {"size": 6, "num_agents": 2, "dyna": True, "names_per_cell": 3},
    {"size": 8, "num_agents": 2, "dyna": True, "sight": 2.5},
    {"size": 6, "names_per_cell": 2, "sight": 1},
]


def slow_grid(world, row, agent, arguments):
    """One agent's grid as nested lists of names, from the state alone."""
    size, state = arguments["size"], world.state
    names = world.lexicon.names
    cells = {place: [] for place in range(size * size)}
    order = [(agent + n) % world.num_agents for n in range(world.num_agents)]
    for other in order:
        if state["agent_alive"][row, other]:
            cells[state["agent_cells"][row, other]].append("you" if other == agent else "agent")
    for kind in ("monster", "item"):
        for number in reversed(range(state[f"{kind}_cells"].shape[1])):
            is_here = state["monster_alive"][row, number] if kind == "monster" else state["item_cells"][row, number] > 0
            if is_here:
                cells[state[f"{kind}_cells"][row, number]].append(names[state[f"{kind}_names"][row, number]])
    grid = []
    for place, found in cells.items():
        r, c = divmod(place, size)
        bare = "wall" if r in (0, size - 1) or c in (0, size - 1) else "empty"
        seen = found or [bare]
        here = divmod(state["agent_cells"][row, agent], size) if state["agent_alive"][row, agent] else (0, 0)
        if "sight" in arguments and np.hypot(r - here[0], c - here[1]) > arguments["sight"]:
            seen = ["fog"]
        count = arguments.get("names_per_cell", 1)
        grid.append((seen + [""] * count)[:count])
    return grid


@pytest.mark.parametrize("arguments", CASES, ids=str)
def test_every_cell_of_every_observation_names_its_content(arguments):
    world = Rtfm(12, **arguments)
    world.reset(4)
    world.auto_resets = False
    random = np.random.default_rng(0)
    for _ in range(12):
        _, _, ended, _, _ = world.step(random.integers(5, size=(12, world.num_agents)))
        observations = world.observe()
        for row in range(12):
            for agent in range(world.num_agents):
                seen = observations["grid"][row, agent].reshape(-1, arguments.get("names_per_cell", 1))
                names = [[world.lexicon.names[name] for name in cell] for cell in seen]
                assert names == slow_grid(world, row, agent, arguments)
        if ended.any():
            world.next_episode(np.flatnonzero(ended))


@pytest.mark.parametrize("num_agents", [1, 2, 3])
def test_positions_and_inventories_put_the_agent_itself_first(num_agents):
    agents = [(2, 2), (3, 5), (6, 7)][:num_agents]
    held = [2, 0, 1][:num_agents]
    monsters, items = (FAR,) * (num_agents + 1), (None,) * (num_agents + 1)
    world = situation(agents, monsters, items, held=held)
    seen = world.observe()
    carried = ["nothing", *(world.lexicon.names[name] for name in world.state["item_names"][0])]
    for agent in range(num_agents):
        order = [(agent + n) % num_agents for n in range(num_agents)]
        assert seen["position"][0, agent].tolist() == [list(agents[other]) for other in order]
        names = [world.lexicon.names[name] for name in seen["inventory"][0, agent]]
        assert names == [carried[held[other]] for other in order]


def test_dead_agents_have_no_position():
    world = situation([(3, 3), (6, 6)], ((3, 4), FAR, FAR), (None,) * 3)
    observations, _, terminated, _, info = world.step(np.array([[RIGHT, STAY]]))
    assert terminated[0]
    for seen in (observations, info["final_obs"]):
        assert seen["position"][0].tolist() == [[[0, 0], [6, 6]], [[6, 6], [0, 0]]]
        assert seen["legal"][0, 0].tolist() == [True, False, False, False, False]
        assert world.lexicon.names[seen["grid"][0, 1, 3, 4, 0]].endswith("wolf")


def test_all_agents_read_the_same_document_and_goal():
    world = Rtfm(6, num_agents=3, size=8, nl=True)
    seen = world.reset(0)
    for key in ("document", "goal"):
        assert (seen[key] == seen[key][:, :1]).all()
        assert len(np.unique(seen[key])) > 1
