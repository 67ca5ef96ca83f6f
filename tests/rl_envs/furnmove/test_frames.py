"""First-person frames: agreement with a slow caster, and hand-computed pixels."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from rl_envs import make
from rl_envs.furnmove import frame_palette as palette
from rl_envs.furnmove.frame_renderer import FrameRenderer
from rl_envs.furnmove.furnishing import EYE_METRES
from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.splits import resolve_rooms
from tests.rl_envs.furnmove.slow_frames import slow_classes
from tests.rl_envs.images import classes_of

NORTH, EAST, SOUTH, WEST = range(4)
BOTH = {"observations": ("view", "frame")}
FAR_STAND, FAR_TV = (1, 3, 0), (1, 3, 0)


def random_states(rooms, num_agents, count, seed):
    """Rooms with stand, television and agents anywhere on free floor, not only where the rules would put them."""
    random = np.random.default_rng(seed)
    world = make("furnmove-v0", count, num_agents=num_agents, rooms=rooms)
    world.reset(seed)
    states = []
    for index in range(count):
        room, stand = rooms[int(world.state["room"][index])], world.state["stand"][index]
        cells = np.argwhere(room.agent_cells)
        cells = cells[(abs(cells - stand[:2]) > 3).any(1)]
        agents = world.state["agent_cells"][index]
        if index % 2 and len(cells) >= num_agents:
            agents = cells[random.choice(len(cells), num_agents, replace=False)]
        states.append((room, stand, agents, random.integers(4, size=num_agents), world.state["tv"][index]))
    return states


def drawn_classes(states, pixels):
    """[B, N, P, P], by the renderer."""
    rooms = [state[0] for state in states]
    renderer = FrameRenderer(len(states), max(r.height for r in rooms), max(r.width for r in rooms), pixels)
    for world, (room, stand, *_) in enumerate(states):
        renderer.load(world, room, stand)
    cells, headings, tv = (np.stack([state[part] for state in states]) for part in (2, 3, 4))
    return classes_of(renderer.draw(np.arange(len(states)), cells, headings, tv))


def one_floor(classes):
    """The same classes with the floor's two colours as one."""
    return np.where(classes == palette.OTHER_FLOOR, palette.FLOOR, classes)


def compare(states, pixels):
    """Share of equal pixels of each frame, the floor's two colours as one class, and of the pixels of each part.

    The parts: where either caster sees a television or an agent, and where both see floor, whose colours then count.
    """
    shares, parts = [], {"television": [0, 0], "agents": [0, 0], "floor": [0, 0]}
    for (room, stand, agents, headings, tv), ours in zip(states, drawn_classes(states, pixels), strict=True):
        for agent, image in enumerate(ours):
            slow = slow_classes(room, stand, agents, headings, agent, tv, pixels)
            same = one_floor(slow) == one_floor(image)
            shares.append(same.mean())
            floor = same & (one_floor(slow) == palette.FLOOR)
            parts["floor"][0] += (slow == image)[floor].sum()
            parts["floor"][1] += floor.sum()
            for name, low, high in (
                ("television", palette.TELEVISION, palette.AGENT_BODY),
                ("agents", palette.AGENT_BODY, palette.FIRST_KIND),
            ):
                either = ((slow >= low) & (slow < high)) | ((image >= low) & (image < high))
                parts[name][0] += same[either].sum()
                parts[name][1] += either.sum()
    return np.array(shares), {name: equal / total for name, (equal, total) in parts.items()}


SETS = [("train", "full", 2, 84), ("train", "laptop", 2, 42), ("test", "full", 3, 42), ("ithor_test", "full", 2, 84)]


@pytest.mark.long
@pytest.mark.parametrize(("split", "size", "agents", "pixels"), SETS)
def test_classes_of_pixels_agree_with_the_slow_caster(split, size, agents, pixels):
    rooms = resolve_rooms(split, size)
    shares, parts = compare(random_states(rooms, agents, 8, seed=pixels), pixels)
    assert len(shares) == 8 * agents
    assert shares.mean() >= 0.98 and shares.min() >= 0.96, (shares.mean(), shares.min())
    assert parts["television"] >= 0.98 and parts["agents"] >= 0.96, parts
    assert parts["floor"] >= 0.98, "the floor's pattern differs: " + str(parts)


def seen_in(room, agents, headings, tv=FAR_TV, stand=FAR_STAND, pixels=84):
    return one_floor(
        drawn_classes([(room, np.array(stand), np.array(agents), np.array(headings), np.array(tv))], pixels)[0]
    )


HALL = room_from_drawing("hall", ["." * 21] * 21)


@pytest.mark.parametrize("distance_cells", [3, 6, 10])
def test_the_foot_of_a_wall_is_in_the_row_that_the_pinhole_gives(distance_cells):
    agents, headings = [(20 - distance_cells, 10), (0, 0)], [SOUTH, NORTH]
    column = seen_in(HALL, agents, headings)[0, :, 42]
    metres = 0.25 * distance_cells + 0.25  # half a cell, and the fine cell by which it is eroded
    foot = 42 * (1 - np.tan(np.radians(30) - np.arctan(EYE_METRES / metres)))
    assert abs(np.flatnonzero(column == palette.FLOOR).min() - foot) <= 1
    assert set(column) <= {palette.FLOOR, palette.WALL, palette.CEILING}


def test_the_stand_has_a_yellow_top_and_nothing_else_is_as_yellow():
    image = seen_in(HALL, [(15, 10), (0, 0)], [NORTH, NORTH], stand=(11, 10, 0))[0]
    assert (image == palette.STAND_TOP).any() and (image == palette.STAND_SIDE).any()
    for name in ("a", "b", "c"):
        colours = palette.room_palette(name)[: palette.NUM_CLASSES * palette.SHADES].astype(int)
        yellowness = np.minimum(colours[:, 0], colours[:, 1]) - colours[:, 2]
        order = np.argsort(-yellowness)[: palette.SHADES]
        assert set(order // palette.SHADES) == {palette.STAND_TOP}


def test_colours_of_rooms_stay_those_of_trained_teams():
    names = (room.name for rooms in ("train", "test", "ithor_train", "ithor_test") for room in resolve_rooms(rooms))
    looks = hashlib.sha256(b"".join(palette.room_palette(name).tobytes() for name in names)).hexdigest()[:16]
    assert looks == "b41595387fa3aa5c"


@pytest.mark.parametrize(("world_id", "more"), [("furnmove-v0", {}), ("furnlift-v0", {"shows_expert": True})])
def test_the_same_actions_give_the_same_game_with_and_without_pictures(world_id, more):
    random, ended = np.random.default_rng(0), np.zeros(2, int)
    small = {"rooms": "train_stream", "room_size": "laptop", "max_episode_steps": 20, "frame_pixels": 42} | more
    forms = (("view",), ("frame",), ("view", "frame"))
    plain, *others = (make(world_id, 8, observations=keys, **small) for keys in forms)
    seen = [world.reset(1) for world in (plain, *others)]
    for _ in range(40):
        actions = random.integers(plain.action_spec, size=(8, 2))
        if "expert" in seen[0]:  # random play alone never lifts the television
            actions = np.where(random.random((8, 1)) < 0.8, np.maximum(seen[0]["expert"], 0), actions)
        results = [world.step(actions) for world in (plain, *others)]
        seen = [result[0] for result in results]
        for world, result in zip(others, results[1:], strict=True):
            for ours, theirs in zip(result[1:4], results[0][1:4], strict=True):  # rewards and ends
                np.testing.assert_array_equal(ours, theirs)
            np.testing.assert_equal(world.state, plain.state)
        ended += [results[0][2].sum(), results[0][3].sum()]
        np.testing.assert_array_equal(seen[0]["view"], seen[2]["view"])
        np.testing.assert_array_equal(seen[1]["frame"], seen[2]["frame"])
    assert ended[0 if "expert" in seen[0] else 1] >= 8, "lifted, or stopped at the limit"
    assert set(seen[1]) == set(seen[0]) - {"view"} | {"frame"}


@pytest.mark.processes
def test_worlds_without_frames_do_not_load_numba():
    code = (
        "import sys, rl_envs\n"
        "rl_envs.make('furnmove-v0', rooms='valid', room_size='laptop').reset(0)\n"
        "rl_envs.make('furnlift-v0', rooms='valid', room_size='laptop').reset(0)\n"
        "print('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_furnlift_shows_its_television_on_the_floor_and_no_other_agent():
    world = make("furnlift-v0", 1, rooms=[HALL], **BOTH)
    agents = {"agent_cells": np.array([[[14, 10], [13, 10]]]), "agent_headings": np.array([[NORTH, NORTH]])}
    frame = world.restore(agents | {"room": np.zeros(1, int), "tv": np.array([[9, 10, 0]])})["frame"]
    poses = agents["agent_cells"], agents["agent_headings"], world.state["tv"]
    renderer = FrameRenderer(1, 21, 21, 84, agents_visible=False)
    renderer.load(0, HALL)
    drawn = classes_of(renderer.draw(np.arange(1), *poses, tv_base=0.0))
    assert frame.shape == (1, 2, 84, 84, 3)
    np.testing.assert_array_equal(frame, renderer.frames(np.arange(1), *poses, tv_base=0.0))
    assert (drawn == palette.TELEVISION).any((2, 3)).all()
    assert not ((drawn >= palette.AGENT_BODY) & (drawn < palette.FIRST_KIND)).any()
