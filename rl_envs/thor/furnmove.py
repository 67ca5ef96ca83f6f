"""FurnMove by our rules, drawn by AI2-THOR (A Cordial Sync, Jain et al., ECCV 2020, section 6).

Every step is decided by `furnmove-v0`. Then all agents are teleported, the television and the stand are put where they
are in our state, and Unity's frames become the observation `frame`: N + 1 calls of the engine a joint step. An engine
shows one scene, so there is one world (B = 1). Use it as `rl_envs.make("rl_envs.thor.furnmove:ThorFurnMove")`.

| | |
|---|---|
| rooms | `ithor_train` (the default), `ithor_valid`, `ithor_test`, one of their rooms, or room files of `exporter.py` |
| stand | the scene's own dresser, television stand, side table or coffee table; the paper's yellow top is not in the stock build |
| differs from our frames | nothing but pictures: states, rewards and ends are equal for equal actions |
"""  # noqa: E501 (a table row is one line)

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import ROTATIONS
from rl_envs.furnmove.ithor import EXPORTED_PREFIX, first_cell
from rl_envs.furnmove.ithor import PREFIX as ITHOR_PREFIX
from rl_envs.furnmove.kinds import CARRY_METRES
from rl_envs.furnmove.room import Room
from rl_envs.furnmove.world import FurnMove
from rl_envs.thor.exporter import make_lattice
from rl_envs.thor.simulator import HORIZON_DEGREES, QUARTER_DEGREES, Controller, Lattice, Simulator, ThorError

GOALS = ("Dresser", "TVStand", "SideTable", "CoffeeTable")
"""Types of objects that represent the goal; the first one in the scene is used."""


Thing: TypeAlias = tuple[str, float]
"""Id of an object, and how far its pivot lies above its lowest point, metres."""


class ThorFurnMove(FurnMove):
    """One room of FurnMove whose frames are Unity's."""

    array_libraries = ("numpy",)

    def __init__(
        self, num_worlds: int = 1, first_world: int = 0, *, controller: Controller | None = None, **arguments: Any
    ) -> None:
        """Start the engine, or use a running `ai2thor` controller; `num_worlds` must be 1.

        Arguments are FurnMove's; `rooms` is `ithor_train` by default and `observations` is `("frame",)`.
        """
        if num_worlds != 1:
            raise ValueError(
                f"an engine shows one scene, so num_worlds must be 1, not {num_worlds}: start more processes"
            )
        self._controller = controller
        if "starts" not in arguments:
            arguments.setdefault("rooms", "ithor_train")
        super().__init__(num_worlds, first_world, **({"observations": ("frame",)} | arguments))

    def _make_renderer(self) -> UnityRenderer:  # type: ignore[override]
        return UnityRenderer(Simulator(self.num_agents, self._frame_pixels, self._controller))

    def close(self) -> None:
        """End the engine's process."""
        if self._renderer is not None:
            self._renderer.simulator.stop()  # type: ignore[attr-defined]


class UnityRenderer:
    """Shows states of FurnMove in AI2-THOR; the two methods are those of our own renderer."""

    def __init__(self, simulator: Simulator) -> None:
        """Take a running engine."""
        self.simulator = simulator
        self._lattice, self._floor_metres = Lattice(0.0, 0.0), 0.0
        self._television = ("", 0.0)

    def load(self, _world: int, room: Room, goal: Array) -> None:
        """Open the scene of a room (`ithor_...`, or exported), and place the goal [3] (row, column, rotation)."""
        self.simulator.open(scene_name(room))
        places = self.simulator.reachable()
        self._floor_metres = float(places[0, 1]) if len(places) else 0.0
        is_ithor = room.name.startswith(ITHOR_PREFIX)
        self._lattice = Lattice(*first_cell(room.name)) if is_ithor else make_lattice(places)
        self._television = self._object("Television")
        self._put(self._object(*GOALS), goal, 0.0)

    def frames(self, _rows: Array, cells: Array, headings: Array, tv: Array) -> NDArray[np.uint8]:
        """Show a state: cells [1, N, 2], headings [1, N] and television [1, 3] int -> frames [1, N, P, P, 3] uint8."""
        self._put(self._television, tv[0], CARRY_METRES)
        for agent, (cell, heading) in enumerate(zip(cells[0], headings[0], strict=True)):
            x, z = self._lattice.metres(cell)
            self.simulator.call(
                "TeleportFull",
                agentId=agent,
                position={"x": x, "y": self._floor_metres, "z": z},
                rotation={"x": 0.0, "y": QUARTER_DEGREES * int(heading), "z": 0.0},
                horizon=HORIZON_DEGREES,
                standing=True,
                forceAction=True,
            )
        return self.simulator.frames()[None]

    def _put(self, thing: Thing, pose: Array, base_metres: float) -> None:
        """Put an object on a cell, with its lowest point at a height above the floor."""
        x, z = self._lattice.metres(pose[:2])
        name, pivot = thing
        turned = QUARTER_DEGREES * (int(pose[2]) % ROTATIONS)
        self.simulator.call(
            "TeleportObject",
            objectId=name,
            position={"x": x, "y": base_metres + pivot, "z": z},
            rotation={"x": 0.0, "y": turned, "z": 0.0},
            forceAction=True,
        )

    def _object(self, *kinds: str) -> Thing:
        """The first object of these types in the scene, in the order of the types."""
        objects = self.simulator.objects()
        for kind in kinds:
            for thing in objects:
                if thing["objectType"] == kind:
                    box = thing["axisAlignedBoundingBox"]
                    return thing["objectId"], thing["position"]["y"] - (box["center"]["y"] - box["size"]["y"] / 2)
        raise ThorError(f"scene {self.simulator.scene} has no {' or '.join(kinds)}: choose another room")


def scene_name(room: Room) -> str:
    """`ithor_FloorPlan201` -> `FloorPlan201`."""
    for prefix in (ITHOR_PREFIX, EXPORTED_PREFIX):
        if room.name.startswith(f"{prefix}FloorPlan"):
            return room.name.removeprefix(prefix)
    raise ThorError(
        f"room {room.name!r} is not a scene of AI2-THOR: use ithor_train, ithor_valid, ithor_test, or rooms that were "
        "exported with `python -m rl_envs.thor.exporter`"
    )
