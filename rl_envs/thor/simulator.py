"""The interface to AI2-THOR that FurnMove needs; every error of the engine becomes one sentence.

Names of actions and parameters are those of ai2thor 5 (https://ai2thor.allenai.org/ithor/documentation). Only stock
actions are used. A scene has one lattice: cell (0, 0) of a room lies at its west and north end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.errors import installing
from rl_envs.core.spec import Array
from rl_envs.furnmove.geometry import CELL_METRES

Controller: TypeAlias = Any
"""`ai2thor.controller.Controller`, or an object with its `step`, `reset`, `stop` and `last_event`."""
Metadata: TypeAlias = dict[str, Any]

HORIZON_DEGREES, QUARTER_DEGREES = 30.0, 90.0
FIELD_OF_VIEW_DEGREES, VISIBILITY_METRES = 90, 1.25


class ThorError(RuntimeError):
    """An error of AI2-THOR; the message says how to fix it."""


@dataclass(frozen=True)
class Lattice:
    """Positions of a room's cells in a scene."""

    west: float  # x of the centres of column 0, metres
    north: float  # z of the centres of row 0, metres; rows go south, towards smaller z

    def metres(self, cell: Array) -> tuple[float, float]:
        """(x, z) of the centre of a cell [2], (row, column)."""
        return self.west + CELL_METRES * float(cell[1]), self.north - CELL_METRES * float(cell[0])

    def cells(self, x: Array, z: Array) -> Array:
        """The nearest cells of points x [K] and z [K] in metres, [K, 2] int64."""
        places = np.stack([(self.north - np.asarray(z)) / CELL_METRES, (np.asarray(x) - self.west) / CELL_METRES], -1)
        return places.round().astype(np.int64)


class Simulator:
    """One AI2-THOR with N agents."""

    def __init__(self, num_agents: int, pixels: int, controller: Controller | None = None) -> None:
        """Start AI2-THOR for N agents and frames of P x P pixels, or take a running controller."""
        self.num_agents, self.pixels = num_agents, pixels
        self._controller = controller if controller is not None else start_engine(num_agents, pixels)
        self.scene = ""
        self._reachable: Array | None = None

    def open(self, scene: str) -> None:
        """Load a scene, unless it is loaded; furniture is then fixed where it is placed."""
        if scene == self.scene:
            return
        settings = {"agentCount": self.num_agents, "width": self.pixels, "height": self.pixels}
        event = self._asked(f"scene {scene}", lambda: self._controller.reset(scene=scene, **settings))
        count = len(_events(event))
        if count != self.num_agents:
            raise ThorError(
                f"AI2-THOR made {count} agent{'s' * (count != 1)} in scene {scene} instead of {self.num_agents}: "
                "this build or this kind of scene ignores agentCount, so use an iTHOR scene (FloorPlan201 to 230)"
            )
        self.call("MakeObjectsStaticKinematicMassThreshold")
        self.scene, self._reachable = scene, None

    def call(self, action: str, **arguments: Any) -> Metadata:
        """Do one action; returns the metadata after it; ThorError where it fails."""
        event = self._asked(f"action {action}", lambda: self._controller.step(action=action, **arguments))
        metadata: Metadata = event.metadata
        if not metadata.get("lastActionSuccess", True):
            reason = " ".join(str(metadata.get("errorMessage", "")).split())[:200]
            raise ThorError(
                f"AI2-THOR refused {action} in scene {self.scene or '(none)'}: {reason or 'it gave no reason'}"
            )
        return metadata

    def frames(self) -> Array:
        """Present frame of each agent's camera, [N, P, P, 3] uint8."""
        frames = [np.asarray(event.frame) for event in _events(self._controller.last_event)]
        wanted = (self.pixels, self.pixels, 3)
        for frame in frames:
            if frame.shape != wanted:
                raise ThorError(
                    f"AI2-THOR sent a frame of shape {list(frame.shape)} and {list(wanted)} was wanted: start it with "
                    f"width={self.pixels} and height={self.pixels}"
                )
        return np.stack(frames)

    def reachable(self) -> Array:
        """Positions that an agent can reach, [K, 3] float64: x, y, z in metres.

        AI2-THOR is queried once per scene: furniture that is moved later would close cells, and shift the lattice.
        """
        if self._reachable is None:
            found = self.call("GetReachablePositions")["actionReturn"]
            self._reachable = np.array([[place[axis] for axis in "xyz"] for place in found or []], float).reshape(-1, 3)
        return self._reachable

    def objects(self) -> list[Metadata]:
        """Metadata of all objects."""
        return list(self._controller.last_event.metadata["objects"])

    @property
    def commit(self) -> str:
        """Commit of the engine's build; `unknown` for custom builds."""
        return str(getattr(getattr(self._controller, "_build", None), "commit_id", None) or "unknown")

    def stop(self) -> None:
        """End the engine's process."""
        self._controller.stop()

    def _asked(self, what: str, ask: Callable[[], Any]) -> Any:
        """Call the engine, and convert its ValueError (unknown action) and TimeoutError into `ThorError`."""
        try:
            return ask()
        except ValueError as error:
            reason = " ".join(str(error).split())[:200]
            raise ThorError(f"this build of AI2-THOR does not support {what}: {reason}") from error
        except TimeoutError as error:
            raise ThorError(
                f"AI2-THOR did not answer ({what}): start it again, with a smaller scene or fewer agents"
            ) from error


def _events(event: Any) -> list[Any]:
    """One event per agent."""
    return list(getattr(event, "events", None) or [event])


def start_engine(num_agents: int, pixels: int) -> Controller:
    """Start an `ai2thor` controller with this package's settings."""
    try:
        from ai2thor.controller import Controller as Engine  # an extra: imported where it is needed
    except ImportError as error:
        raise ThorError(f"AI2-THOR is not installed: {installing('thor')}") from error
    try:
        return Engine(
            agentMode="default",
            agentCount=num_agents,
            makeAgentsVisible=True,
            gridSize=CELL_METRES,
            snapToGrid=True,
            rotateStepDegrees=QUARTER_DEGREES,
            fieldOfView=FIELD_OF_VIEW_DEGREES,
            visibilityDistance=VISIBILITY_METRES,
            quality="Very Low",
            width=pixels,
            height=pixels,
        )
    except Exception as error:  # the engine raises plain Exception where it finds no build
        reason = " ".join(str(error).split())[:200]
        raise ThorError(
            f"AI2-THOR cannot be started ({reason}): it downloads its Unity build at the first start and needs a "
            "display or Vulkan; run `python -c 'import ai2thor.controller as c; c.Controller()'` on such a machine once"
        ) from error
