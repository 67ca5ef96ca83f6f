"""Rooms of FurnMove from scenes of AI2-THOR: floor, furniture with kinds and heights, cells for the television.

    python -m rl_envs.thor.exporter --scenes FloorPlan201 FloorPlan229 --out rooms

The floor is the result of `GetReachablePositions`. Furniture is every object on the floor that is tall or of a known
kind, by its box grown by an agent's radius. No stock action returns the cells for the lifted television: they are
inferred by the rule of `furnmove/ithor.py`, without cells in which it would collide with an object between 1.3 and 2.05
m. The file's note has the engine's commit.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.furnmove.frame_palette import TELEVISION_METRES
from rl_envs.furnmove.geometry import CELL_METRES
from rl_envs.furnmove.ithor import EXPORTED_PREFIX, between, first_cell, inferred_tv_cells
from rl_envs.furnmove.ithor import PREFIX as ITHOR_PREFIX
from rl_envs.furnmove.kinds import CARRY_METRES
from rl_envs.furnmove.room import LOW, TALL, Furniture, Mask, Room, characters, drawing_of_masks
from rl_envs.furnmove.room_checks import MAX_HEIGHT_METRES, RoomError, validate_room
from rl_envs.furnmove.room_file import save_room
from rl_envs.furnmove.splits import room_by_name
from rl_envs.thor.simulator import Lattice, Metadata, Simulator, ThorError

AGENT_RADIUS_METRES = 0.2
_MARGIN = 1
"""Cells around the outermost reachable ones."""

KINDS = {
    "Sofa": "sofa",
    "ArmChair": "arm_chair",
    "Chair": "arm_chair",
    "CoffeeTable": "coffee_table",
    "SideTable": "side_table",
    "TVStand": "tv_stand",
    "Dresser": "tv_stand",
    "Desk": "desk",
    "DiningTable": "dining_table",
    "GarbageCan": "bin",
    "HousePlant": "plant",
    "Box": "box",
    "Ottoman": "ottoman",
    "ShelvingUnit": "shelf",
    "Shelf": "shelf",
    "FloorLamp": "floor_lamp",
}
"""Type of an object -> kind of furniture."""

OTHER_TALL_KIND = "shelf"
"""Kind of objects on the floor that reach above 1.3 m and have no type in `KINDS`, such as a fridge."""

_CARRIED = "Television"
_TELEVISION_TOP_METRES = CARRY_METRES + TELEVISION_METRES[2]
_ON_FLOOR_METRES = 0.3
"""An object whose box begins higher than this above the floor stands or hangs on something else."""


def export_room(simulator: Simulator, scene: str) -> Room:
    """The room `thor_SCENE` of a scene of iTHOR, such as FloorPlan201, from a running engine."""
    simulator.open(scene)
    places = simulator.reachable()
    if not len(places):
        raise ThorError(f"no place in scene {scene} can be reached: choose another scene")
    lattice = make_lattice(places)
    cells = lattice.cells(places[:, 0], places[:, 2])
    floor = np.zeros(cells.max(0) + 1 + _MARGIN, bool)
    floor[cells[:, 0], cells[:, 1]] = True
    boxes = _boxes(simulator.objects(), lattice, floor.shape)
    things, inside = _on_floor(boxes), between(floor)
    in_the_way = [box.covered for box in boxes if box.top >= CARRY_METRES and box.base < _TELEVISION_TOP_METRES]
    tv_cells = inferred_tv_cells(inside, _union(in_the_way, floor))
    drawing = characters(drawing_of_masks(floor, tv_cells))
    drawing[inside & ~floor] = LOW
    drawing[_union([covered for _, height, covered in things if height >= CARRY_METRES], floor)] = TALL
    rows = tuple("".join(row) for row in drawing.tolist())
    room = Room(EXPORTED_PREFIX + scene, floor, tv_cells, rows, _pieces(things, drawing))
    validate_room(room)
    return room


def make_lattice(places: Array) -> Lattice:
    """The lattice of an exported room: one cell of margin around the reachable positions [K, 3], in metres."""
    return Lattice(float(places[:, 0].min()) - _MARGIN * CELL_METRES, float(places[:, 2].max()) + _MARGIN * CELL_METRES)


class _Box(NamedTuple):
    """An object: its type, its lowest and highest point, and where an agent's centre would touch it."""

    object_type: str
    base: float
    top: float
    covered: Mask


def _boxes(objects: Sequence[Metadata], lattice: Lattice, shape: tuple[int, ...]) -> list[_Box]:
    """All objects except televisions, because the scene's own one is carried."""
    rows, columns = np.indices(shape)
    x, z = lattice.west + CELL_METRES * columns, lattice.north - CELL_METRES * rows
    found = []
    for thing in objects:
        if thing["objectType"] == _CARRIED:
            continue
        centre, size = (thing["axisAlignedBoundingBox"][name] for name in ("center", "size"))
        near = abs(x - centre["x"]) < size["x"] / 2 + AGENT_RADIUS_METRES
        near &= abs(z - centre["z"]) < size["z"] / 2 + AGENT_RADIUS_METRES
        base, top = (round(float(centre["y"] + half * size["y"]), 3) for half in (-0.5, 0.5))
        found.append(_Box(thing["objectType"], base, top, near))
    return found


def _union(masks: Sequence[Mask], floor: Mask) -> Mask:
    """Cells of any of the masks, except floor: [H, W] bool each -> [H, W] bool."""
    return np.logical_or.reduce([np.zeros_like(floor), *masks]) & ~floor


Thing = tuple[str, float, Mask]
"""Kind, height in metres, and the cells in which an agent's centre would touch it."""


def _on_floor(boxes: Sequence[_Box]) -> list[Thing]:
    """Furniture of known kinds, and all tall furniture, the highest first."""
    found = []
    for box in boxes:
        kind = KINDS.get(box.object_type, OTHER_TALL_KIND if box.top >= CARRY_METRES else None)
        if kind is not None and box.base <= _ON_FLOOR_METRES:
            found.append((kind, box.top, box.covered))
    return sorted(found, key=lambda one: -one[1])


def _pieces(things: Sequence[Thing], drawing: np.ndarray) -> tuple[Furniture, ...]:
    """Things that cover a rectangle of their character without cells of a higher one; the others stay unlisted."""
    used, pieces = np.zeros(drawing.shape, bool), []
    for kind, height, covered in things:
        wanted = LOW if height < CARRY_METRES else TALL
        own = np.argwhere(covered & (drawing == wanted) & ~used)
        if not len(own) or not 0 < height <= MAX_HEIGHT_METRES:
            continue
        (top, left), (bottom, right) = own.min(0).tolist(), own.max(0).tolist()
        piece = Furniture(kind, top, left, bottom - top + 1, right - left + 1, height)
        if (drawing[piece.cells] == wanted).all() and not used[piece.cells].any():
            used[piece.cells] = True
            pieces.append(piece)
    return tuple(pieces)


def share_of_known_floor(room: Room, lattice: Lattice) -> float | None:
    """Share of ALFRED's floor cells of the same scene that an exported room has; None where ALFRED lacks the scene."""
    name = ITHOR_PREFIX + room.name.removeprefix(EXPORTED_PREFIX)
    try:
        known = np.argwhere(room_by_name(name).agent_cells)
    except RoomError:
        return None
    west, north = first_cell(name)
    ours = lattice.cells(west + CELL_METRES * known[:, 1], north - CELL_METRES * known[:, 0])
    inside = ((ours >= 0) & (ours < room.agent_cells.shape)).all(1)
    ours = ours[inside]
    return float(room.agent_cells[ours[:, 0], ours[:, 1]].sum() / len(known))


def _write_room(simulator: Simulator, scene: str, folder: Path) -> None:
    """Export one scene into a file of the folder, and print a line about it."""
    path = folder / f"{EXPORTED_PREFIX}{scene}.json"
    folder.mkdir(parents=True, exist_ok=True)
    room = export_room(simulator, scene)
    save_room(room, path, f"Scene {scene} of AI2-THOR, engine commit {simulator.commit}; inferred television cells.")
    share = share_of_known_floor(room, make_lattice(simulator.reachable()))
    print(f"wrote {path}" + (f", with {share:.0%} of ALFRED's floor cells" if share is not None else ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Export scenes into room files."""
    parser = argparse.ArgumentParser(prog="python -m rl_envs.thor.exporter", description="Export rooms from AI2-THOR.")
    parser.add_argument("--scenes", nargs="+", required=True, help="scenes of iTHOR, such as FloorPlan201")
    parser.add_argument("--out", type=Path, required=True, help="folder for the room files")
    given = parser.parse_args(arguments)
    try:
        simulator = Simulator(1, 84)
        try:
            for scene in given.scenes:
                _write_room(simulator, scene, given.out)
        finally:
            simulator.stop()
    except (ThorError, RoomError) as error:
        print(f"exporter: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
