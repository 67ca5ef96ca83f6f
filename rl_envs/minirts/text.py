"""What a side observes, in sentences for planners, and back without loss.

`describe(observation)` writes one line of money, one line an object of its lists, and its command; `read(text)` gives
the same arrays again. Nothing that fog hides occurs in an observation, so nothing of it occurs here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_ATTACK, C_BUILDING, C_GATHER, C_IDLE, C_MOVE, C_UNIT, MAX_LISTED
from rl_envs.minirts.observation import LIST_NAMES
from rl_envs.minirts.symbols import MAX_HP, UNITS

_MONEY = re.compile(r"You have (\d+) money\.")
_OBJECT = re.compile(r"(own|enemy|resource) (\d+): (.+?) at (\d+) (\d+) with (\d+) of (\d+) hp(?:; (.*))?\.")
_COMMANDS = {
    C_IDLE: re.compile(r"idle"),
    C_GATHER: re.compile(r"gathers resource (?P<gather>\d+)"),
    C_ATTACK: re.compile(r"attacks enemy (?P<attack>\d+), a (?P<unit_type>.+)"),
    C_BUILDING: re.compile(r"builds a (?P<unit_type>.+) at (?P<x>\d+) (?P<y>\d+)"),
    C_UNIT: re.compile(r"trains a (?P<unit_type>.+)"),
    C_MOVE: re.compile(r"moves to (?P<x>\d+) (?P<y>\d+)"),
}
DESCRIBED = (
    "money",
    *(f"{name}_{part}" for name in LIST_NAMES for part in ("type", "x", "y", "hp")),
    *(f"command_{part}" for part in ("type", "unit_type", "x", "y", "gather", "attack")),
)
"""Keys of an observation that the text holds."""


def describe(observation: Mapping[str, Array]) -> str:
    """One agent's observation (keys of the world, without axes of worlds and agents) as lines of text."""
    lines = [f"You have {int(observation['money'])} money."]
    for name in LIST_NAMES:
        for k in range(int(observation[f"num_{name}"])):
            kind, x, y = (int(observation[f"{name}_{part}"][k]) for part in ("type", "x", "y"))
            hp = round(float(observation[f"{name}_hp"][k]) * int(MAX_HP[kind]))
            command = f"; {_command(observation, k)}" if name == "own" else ""
            lines.append(f"{name} {k}: {UNITS[kind]} at {x} {y} with {hp} of {MAX_HP[kind]} hp{command}.")
    return "\n".join(lines)


def _command(observation: Mapping[str, Array], k: int) -> str:
    told = int(observation["command_type"][k])
    numbers = {part: int(observation[f"command_{part}"][k]) for part in ("unit_type", "x", "y", "gather", "attack")}
    kind, place = UNITS[numbers["unit_type"]], f"{numbers['x']} {numbers['y']}"
    return {
        C_IDLE: "idle",
        C_GATHER: f"gathers resource {numbers['gather']}",
        C_ATTACK: f"attacks enemy {numbers['attack']}, a {kind}",
        C_BUILDING: f"builds a {kind} at {place}",
        C_UNIT: f"trains a {kind}",
        C_MOVE: f"moves to {place}",
    }[told]


def read(text: str) -> Arrays:
    """The arrays of a description, keys DESCRIBED and the lengths of the lists.

    Raises:
        ValueError: a line that `describe` does not write.
    """
    found: Arrays = {"money": np.zeros((), np.int32)}
    for key in DESCRIBED[1:]:
        found[key] = np.zeros(MAX_LISTED, np.float32 if key.endswith("_hp") else np.uint8)
    found |= {f"num_{name}": np.zeros((), np.uint8) for name in LIST_NAMES}
    for line in text.splitlines():
        money, thing = _MONEY.fullmatch(line), _OBJECT.fullmatch(line)
        if money:
            found["money"][...] = int(money[1])
        elif thing and thing[3] in UNITS and int(thing[2]) < MAX_LISTED:
            _read_object(found, thing)
        else:
            raise ValueError(f"this line is no sentence of a MiniRTS state: {line[:80]!r}; write it as describe does")
    return found


def _read_object(found: Arrays, thing: re.Match[str]) -> None:
    name, k, kind = thing[1], int(thing[2]), UNITS.index(thing[3])
    found[f"num_{name}"] += 1
    found[f"{name}_type"][k], found[f"{name}_x"][k], found[f"{name}_y"][k] = kind, int(thing[4]), int(thing[5])
    found[f"{name}_hp"][k] = np.float32(int(thing[6])) / np.float32(MAX_HP[kind])
    for told, pattern in _COMMANDS.items():
        command = pattern.fullmatch(thing[8] or "")
        if command:
            found["command_type"][k] = told
            for part, value in command.groupdict().items():
                found[f"command_{part}"][k] = UNITS.index(value) if part == "unit_type" else int(value)
