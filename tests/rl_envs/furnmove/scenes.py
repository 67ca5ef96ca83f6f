"""Hand-made rooms and situations for the tests of FurnMove."""

import numpy as np

from rl_envs.furnmove.room import Room, room_from_drawing
from rl_envs.furnmove.splits import RoomStream, room_by_name
from rl_envs.furnmove.world import FurnMove

AHEAD, TURN_LEFT, TURN_RIGHT, PASS = range(4)
CARRY_AHEAD, CARRY_RIGHT, CARRY_BACK, CARRY_LEFT = range(4, 8)
TURN_OBJECT = 8
PUSH_AHEAD, PUSH_RIGHT, PUSH_BACK, PUSH_LEFT = range(9, 13)
NORTH, EAST, SOUTH, WEST = range(4)
FINE, FAILED = -0.01, -0.03
"""Rewards of a step, and of a step whose action failed."""

CENTRE = (12, 12)
OPEN_ROOM = room_from_drawing("open", ["." * 25] * 25)
SMALL = room_from_drawing("small", [".......", ".....o.", ".......", ".......", ".......", "......."])
APART = {n: [(14, 9), (14, 15), (10, 9), (10, 15)][:n] for n in (1, 2, 3, 4)}
"""N -> cells around a television at the centre of the open room: at least 2 apart, it can be held from there, and still
after it moved by one cell to any side."""


def room_without(*closed, tv_cells=None):
    """The open room with some cells closed to agents, not to the television."""
    agent_cells = OPEN_ROOM.agent_cells.copy()
    for cell in closed:
        agent_cells[cell] = False
    return Room("changed", agent_cells, OPEN_ROOM.tv_cells if tv_cells is None else tv_cells, ())


def situation(agents, headings, tv=(*CENTRE, 0), stand=(3, 3, 0), room=OPEN_ROOM, **arguments):
    """One world in a given situation; `headings` may be one for all."""
    world = FurnMove(num_agents=len(agents), rooms=[room], **arguments)
    situate(world, [agents], [np.broadcast_to(headings, len(agents))], [tv], [stand])
    return world


def situations(agents, headings, tvs, stand=(3, 3, 0), room=OPEN_ROOM, **arguments):
    """B worlds: agents [B][N] cells, headings [B][N], tvs [B] poses."""
    world = FurnMove(len(agents), num_agents=len(agents[0]), rooms=[room], **arguments)
    situate(world, agents, headings, tvs, [stand] * len(agents))
    return world


def situate(world, agents, headings, tvs, stands):
    """Put worlds of one room into given situations."""
    rooms = np.zeros(world.num_worlds, int)
    state = {"room": rooms, "agent_cells": agents, "agent_headings": headings, "tv": tvs, "stand": stands}
    world.auto_resets = False
    world.restore({name: np.array(value) for name, value in state.items()})


def act(world, *actions):
    """One env step of a single world: the rewards of its agents, rounded to what the rules can pay."""
    _, reward, *_ = world.step(np.array([actions]))
    return [round(value, 9) for value in reward[0].tolist()]


def pose(world):
    """(television, cells of the agents, headings) of a single world, as plain numbers."""
    state = world.state
    agents = [tuple(cell) for cell in state["agent_cells"][0].tolist()]
    return tuple(state["tv"][0].tolist()), agents, state["agent_headings"][0].tolist()


ROOMS = [
    room_by_name("floorplan229"),
    RoomStream(seed=7, size="laptop", split="valid")[3],
    room_from_drawing("pillars", ["........", "...X....", "..oo....", "........", ".....#..", "........", "........"]),
]


def likely_coordinated(world, random):
    """Actions of which four in five joint ones are coordinated, so that the furniture moves a lot."""
    table = world.tables["coordinated_actions"]
    rows = world.observe()["coordination"][:, 0]
    chosen = table[rows, random.integers(table.shape[1], size=len(rows))]
    anything = random.integers(13, size=chosen.shape)
    return np.where(random.random((len(rows), 1)) < 0.8, chosen, anything).astype(int)
