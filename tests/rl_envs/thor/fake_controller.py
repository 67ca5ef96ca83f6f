"""What AI2-THOR answers to the calls of the adapter, without Unity: a scripted answer per action, and a log of calls.

Metadata have the names and forms of ai2thor 5 (`Controller.step`, `Event`, `MultiAgentEvent`): an unknown action raises
ValueError, and a refused one says `lastActionSuccess` False.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from rl_envs.furnmove import ithor

FLOORS = json.loads(Path(ithor.__file__).with_name("ithor_living_room_floors.json").read_text())
KNOWN = (
    "Initialize",
    "MakeObjectsStaticKinematicMassThreshold",
    "GetReachablePositions",
    "TeleportFull",
    "TeleportObject",
)
FLOOR_Y = 0.9


def thing(kind, x, z, size, base=0.0):
    """An object of the metadata whose pivot is the middle of its base."""
    box = {"center": {"x": x, "y": base + size[1] / 2, "z": z}, "size": dict(zip("xyz", size, strict=True))}
    position = {"x": x, "y": base, "z": z}
    return {
        "objectId": f"{kind}|{x}|{z}",
        "objectType": kind,
        "position": position,
        "rotation": {"y": 0.0},
        "axisAlignedBoundingBox": box,
    }


class FakeController:
    """One scene with ALFRED's floor; frames are as grey as the number of the agent says."""

    def __init__(self, objects=(), agents=2, pixels=42, unknown=(), refused=None, silent=(), commit=None):
        self.objects, self.agents, self.pixels = list(objects), agents, pixels
        self.unknown, self.refused, self.silent = set(unknown), dict(refused or {}), set(silent)
        self.calls, self.stopped, self._moved = [], False, set()
        self._build = SimpleNamespace(**({"commit_id": commit} if commit else {}))
        self.last_event = None

    def reset(self, scene, **settings):
        self.scene = scene
        if scene not in FLOORS:
            raise ValueError(f"Scene '{scene}' not contained in build")
        self.settings = settings
        return self._answer("Initialize", {})

    def step(self, action, **arguments):
        self.calls.append((action, arguments))
        return self._answer(action, arguments)

    def stop(self):
        self.stopped = True

    def _answer(self, action, arguments):
        if action in self.silent:
            raise TimeoutError(f"no answer to {action}")
        if action in self.unknown or action not in KNOWN:
            raise ValueError(f"{action} is not a valid action")
        reason = self.refused.get(action)
        if action == "TeleportObject" and reason is None:
            (moved,) = [one for one in self.objects if one["objectId"] == arguments["objectId"]]
            moved["axisAlignedBoundingBox"]["center"] = {
                axis: middle + arguments["position"][axis] - moved["position"][axis]
                for axis, middle in moved["axisAlignedBoundingBox"]["center"].items()
            }
            moved["position"] = arguments["position"]
            self._moved.add(moved["objectId"])
        metadata = {
            "lastActionSuccess": reason is None,
            "errorMessage": reason or "",
            "actionReturn": self._places() if action == "GetReachablePositions" else None,
            "objects": self.objects,
        }
        grey = [np.full((self.pixels, self.pixels, 3), 10 * agent, np.uint8) for agent in range(self.agents)]
        events = [SimpleNamespace(frame=frame, metadata=metadata) for frame in grey]
        self.last_event = SimpleNamespace(metadata=metadata, events=events)
        return self.last_event

    def _places(self):
        """The floor, without cells that a moved object closes."""
        floor = FLOORS[self.scene]
        west, north = floor["x_of_first_column"], floor["z_of_first_row"]
        places = [
            {"x": west + 0.25 * column, "y": FLOOR_Y, "z": north - 0.25 * row}
            for row, line in enumerate(floor["floor"])
            for column, letter in enumerate(line)
            if letter == "."
        ]
        boxes = [one["axisAlignedBoundingBox"] for one in self.objects if one["objectId"] in self._moved]
        return [place for place in places if not any(self._is_closed(place, box) for box in boxes)]

    @staticmethod
    def _is_closed(place, box):
        return all(abs(place[axis] - box["center"][axis]) < box["size"][axis] / 2 + 0.2 for axis in "xz")
