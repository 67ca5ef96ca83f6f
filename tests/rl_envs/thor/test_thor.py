"""AI2-THOR's adapter on a scripted controller: our rules with its pictures, exported rooms, one sentence a fault."""

import copy
import json
import sys
from unittest import mock

import numpy as np
import pytest

from rl_envs import make
from rl_envs.furnmove.furnishing import shown_characters
from rl_envs.furnmove.room_file import load_room, save_room
from rl_envs.furnmove.splits import room_by_name
from rl_envs.thor import exporter, simulator
from rl_envs.thor.exporter import export_room, make_lattice, share_of_known_floor
from rl_envs.thor.furnmove import ThorFurnMove, scene_name
from rl_envs.thor.simulator import Lattice, Simulator, ThorError
from tests.rl_envs.thor.fake_controller import FLOOR_Y, FLOORS, FakeController, thing

SCENE = "FloorPlan229"
FURNITURE = (thing("Television", 0.0, 0.0, (1.1, 0.8, 0.4), base=0.7), thing("Dresser", 0.0, 0.0, (1.2, 1.0, 0.5)))


def drawn_world(controller=None, **arguments):
    controller = controller or FakeController(copy.deepcopy(list(FURNITURE)))
    return ThorFurnMove(controller=controller, rooms=f"ithor_{SCENE}", frame_pixels=42, **arguments), controller


def test_unity_draws_and_our_rules_decide():
    world, _ = drawn_world()
    plain = make("furnmove-v0", rooms=f"ithor_{SCENE}")
    seen, random = world.reset(3), np.random.default_rng(0)
    plain.reset(3)
    assert seen["frame"].shape == (1, 2, 42, 42, 3) and seen["frame"].dtype == np.uint8
    assert seen["frame"][0, 1].max() == 10
    for _ in range(40):
        actions = random.integers(13, size=(1, 2))
        ours, theirs = world.step(actions), plain.step(actions)
        np.testing.assert_equal(ours[1:4], theirs[1:4])
    np.testing.assert_equal(world.state, plain.state)


def test_a_joint_step_teleports_the_television_and_every_agent_to_its_cell():
    world, controller = drawn_world()
    world.reset(3)
    controller.calls.clear()
    world.step(np.array([[2, 3]]))
    assert [name for name, _ in controller.calls] == ["TeleportObject", "TeleportFull", "TeleportFull"]
    moved, *agents = (arguments for _, arguments in controller.calls)
    west, north = FLOORS[SCENE]["x_of_first_column"] - 0.25, FLOORS[SCENE]["z_of_first_row"] + 0.25
    for number, arguments in enumerate(agents):
        row, column = world.state["agent_cells"][0, number]
        assert arguments["agentId"] == number and arguments["horizon"] == 30
        assert arguments["position"] == {"x": west + 0.25 * column, "y": FLOOR_Y, "z": north - 0.25 * row}
        assert arguments["rotation"]["y"] == 90 * world.state["agent_headings"][0, number]
    assert moved["objectId"].startswith("Television") and moved["forceAction"]
    assert moved["position"]["y"] == pytest.approx(1.3)
    assert moved["rotation"]["y"] == 90 * world.state["tv"][0, 2]


def test_the_pivot_of_an_object_may_lie_above_its_base():
    high = dict(FURNITURE[0], position={"x": 0.0, "y": 1.1, "z": 0.0})
    world, controller = drawn_world(FakeController([high, copy.deepcopy(FURNITURE[1])]))
    world.reset(0)
    television = [arguments for name, arguments in controller.calls if name == "TeleportObject"][-1]
    assert television["position"]["y"] == pytest.approx(1.3 + 0.4)


def test_a_scene_is_opened_once_and_the_engine_is_stopped_at_the_end():
    world, controller = drawn_world(max_episode_steps=2)
    world.reset(0)
    for _ in range(5):
        world.step(np.array([[3, 3]]))
    assert [name for name, _ in controller.calls].count("MakeObjectsStaticKinematicMassThreshold") == 1
    assert controller.settings["agentCount"] == 2
    world.close()
    assert controller.stopped


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"agents": 1}, "FloorPlan229.*agentCount"),
        ({"unknown": ["TeleportFull"]}, "TeleportFull"),
        ({"refused": {"TeleportObject": "Television is stuck"}}, "TeleportObject.*stuck"),
        ({"silent": ["TeleportFull"]}, "TeleportFull.*start"),
        ({"pixels": 84}, r"\[84, 84, 3\].*\[42, 42, 3\]"),
        ({"objects": FURNITURE[:1]}, "Dresser.*CoffeeTable"),
        ({"objects": FURNITURE[1:]}, "Television"),
    ],
    ids=["one agent", "unknown", "refused", "silent", "size", "no goal", "no television"],
)
def test_a_fault_is_one_sentence(faults, said):
    world, _ = drawn_world(FakeController(**({"objects": copy.deepcopy(list(FURNITURE))} | faults)))
    with pytest.raises(ThorError, match=said) as fault:
        world.reset(0)
    assert "\n" not in str(fault.value)


def test_rooms_that_are_no_scenes_and_several_worlds_are_refused():
    with pytest.raises(ThorError, match=r"test_room_01"):
        scene_name(room_by_name("test_room_01"))
    with pytest.raises(ValueError, match="num_worlds"):
        ThorFurnMove(2)


def test_without_the_extra_or_without_a_build_one_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "ai2thor.controller", None)
    with pytest.raises(ThorError, match=r"\.\[thor\]"):
        Simulator(2, 84)
    no_build = mock.Mock(Controller=mock.Mock(side_effect=Exception("No build exists")))
    monkeypatch.setitem(sys.modules, "ai2thor", mock.Mock(controller=no_build))
    monkeypatch.setitem(sys.modules, "ai2thor.controller", no_build)
    with pytest.raises(ThorError, match="build"):
        Simulator(2, 84)


def centre_of_a_gap(scene):
    """A cell with unreachable cells all around it but inside the room, in metres."""
    floor = np.array([[letter == "." for letter in line] for line in FLOORS[scene]["floor"]])
    for row in range(2, floor.shape[0] - 2):
        for column in range(2, floor.shape[1] - 2):
            if not floor[row - 1 : row + 2, column - 1 : column + 2].any() and floor[row].any():
                return Lattice(FLOORS[scene]["x_of_first_column"], FLOORS[scene]["z_of_first_row"]).metres(
                    (row, column)
                )
    raise AssertionError("no gap")


def exported(*objects, scene=SCENE):
    simulator = Simulator(1, 42, FakeController(objects, agents=1))
    return export_room(simulator, scene), simulator


def test_an_exported_room_has_alfreds_floor_and_loads_again(tmp_path):
    room, simulator = exported()
    np.testing.assert_array_equal(room.agent_cells.sum(), FLOORS[SCENE]["cells"])
    assert share_of_known_floor(room, make_lattice(simulator.reachable())) == 1.0
    save_room(room, tmp_path / "room.json")
    assert load_room(tmp_path / "room.json") == room
    assert room.name == f"thor_{SCENE}"


@pytest.mark.parametrize(
    ("kind", "height", "base", "blocks", "letter", "pieces"),
    [
        ("Fridge", 1.8, 0.0, True, "X", [("shelf", 1.8)]),
        ("Cabinet", 2.0, 0.0, True, "X", [("shelf", 2.0)]),
        ("Bookshelf", 2.0, 0.1, True, "X", [("shelf", 2.1)]),
        ("Painting", 0.6, 1.2, True, "o", []),
        ("Bed", 0.6, 0.0, False, "o", []),
        ("CeilingLamp", 0.3, 2.1, False, "o", []),
        ("Television", 0.8, 0.7, False, "o", []),
    ],
)
def test_every_object_in_the_height_of_the_television_blocks_it(kind, height, base, blocks, letter, pieces):
    x, z = centre_of_a_gap(SCENE)
    empty, engine = exported()
    room, _ = exported(thing(kind, x, z, (0.3, height, 0.3), base))
    row, column = make_lattice(engine.reachable()).cells(np.array([x]), np.array([z]))[0]
    assert room.drawing[row][column] == letter
    assert [(piece.kind, piece.height) for piece in room.furniture] == pieces
    assert not (room.tv_cells & ~empty.tv_cells).any()
    assert (room.tv_cells[:, row, column].any(), (empty.tv_cells & ~room.tv_cells).any()) == (not blocks, blocks)
    np.testing.assert_array_equal(room.agent_cells, empty.agent_cells)


def test_a_tall_piece_beyond_the_enclosed_floor_is_shown_with_its_height():
    """A fridge in the room's north-west corner, where neither its rows nor its columns have floor on both sides."""
    bare, engine = exported()
    west, north = make_lattice(engine.reachable()).metres((0, 0))
    room, _ = exported(thing("Fridge", west, north, (0.6, 1.8, 0.1)))
    (piece,) = room.furniture
    assert (piece.kind, piece.height, piece.row, piece.column) == ("shelf", 1.8, 0, 0)
    shown = shown_characters(room)
    assert (shown[piece.cells] == "X").all()
    shown[piece.cells] = "#"
    np.testing.assert_array_equal(shown, shown_characters(bare))


def export_with(engine, monkeypatch, *arguments):
    """What the command returns and that it started this engine."""
    monkeypatch.setattr(simulator, "start_engine", lambda agents, pixels: engine)
    return exporter.main(arguments)


@pytest.mark.parametrize(("scenes", "status"), [([SCENE], 0), ([SCENE, "FloorPlan999"], 2)])
def test_the_engine_is_stopped_after_an_export_and_after_a_fault(scenes, status, tmp_path, monkeypatch):
    engine = FakeController(agents=1)
    assert export_with(engine, monkeypatch, "--scenes", *scenes, "--out", str(tmp_path)) == status
    assert engine.stopped


def test_the_engine_is_stopped_when_an_export_is_interrupted(tmp_path, monkeypatch):
    engine = FakeController(agents=1)
    monkeypatch.setattr(exporter, "export_room", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        export_with(engine, monkeypatch, "--scenes", SCENE, "--out", str(tmp_path))
    assert engine.stopped


@pytest.mark.parametrize(
    ("commit", "said"), [("9549791ce2e7f472", "engine commit 9549791ce2e7f472"), (None, "unknown")]
)
def test_the_file_of_an_exported_room_says_the_commit_of_the_engine(commit, said, tmp_path, monkeypatch):
    export_with(FakeController(agents=1, commit=commit), monkeypatch, "--scenes", SCENE, "--out", str(tmp_path))
    path = tmp_path / f"thor_{SCENE}.json"
    assert said in json.loads(path.read_text())["note"]
    assert load_room(path).name == f"thor_{SCENE}"


def test_every_episode_in_an_exported_room_has_the_lattice_of_the_untouched_scene(tmp_path):
    """The stand closes cells; where these are the last ones of a side, cells would be counted from another one."""
    room, simulator = exported()
    save_room(room, tmp_path / "room.json")
    lattice = make_lattice(simulator.reachable())
    floor = simulator.reachable()
    wide = thing("Dresser", float(floor[:, 0].mean()), float(floor[:, 2].mean()), (9.0, 1.0, 9.0))
    controller = FakeController([copy.deepcopy(FURNITURE[0]), wide])
    world = ThorFurnMove(controller=controller, rooms=str(tmp_path / "room.json"), frame_pixels=42, max_episode_steps=1)
    world.reset(0)
    for _ in range(3):
        controller.calls.clear()
        world.step(np.array([[12, 12]]))
        told = [arguments["position"] for name, arguments in controller.calls if name == "TeleportFull"]
        for cell, position in zip(world.state["agent_cells"][0], told[-2:], strict=True):
            assert (position["x"], position["z"]) == pytest.approx(lattice.metres(cell))
