"""Observation of a side as sentences for planners, and back without loss.

`describe(view)` writes a line of money and sight, then one line an object of the lists, own units with their agent and
their command, others with whether they are in sight. `read(text)` returns the same arrays and refuses every other text.
As in the observation, nothing is included that fog hides. Past commands, running averages, terrain and masks are left
out.
"""

import re

import numpy as np

from rl_envs.core.spec import Arrays
from rl_envs.minirts.factored import C_ATTACK, C_BUILDING, C_GATHER, C_IDLE, C_MOVE, C_UNIT, MAX_LISTED
from rl_envs.minirts.observation import LIST_NAMES, NUM_COUNTS
from rl_envs.minirts.phrases import View
from rl_envs.minirts.symbols import MAX_HP, NUM_CELLS, NUM_TYPES, RESOURCE, SIDE, UNITS

_TYPE, _NUMBER = "|".join(UNITS[1:]), r"(0|[1-9]\d{0,8})"
_AT = rf"at x {_NUMBER}, y {_NUMBER}"
_FIRST = re.compile(
    rf"You have {_NUMBER} money, you see {_NUMBER} of {NUM_CELLS} cells, and you have seen {_NUMBER} others before\."
)
_HEALTH = rf"{_AT}, hp {_NUMBER} of {_NUMBER}"
_OWN = re.compile(rf"own {_NUMBER} of agent {_NUMBER}: ({_TYPE}) {_HEALTH}; (.+)\.")
_OTHER = re.compile(rf"(?:(enemy) {_NUMBER}: ({_TYPE})|(resource) {_NUMBER}:) {_HEALTH}; (out of sight|in sight)\.")
_COMMANDS = {
    C_IDLE: re.compile(r"idle"),
    C_GATHER: re.compile(rf"gathers resource (?P<gather>{_NUMBER})"),
    C_ATTACK: re.compile(rf"attacks enemy (?P<attack>{_NUMBER}), a (?P<unit_type>{_TYPE})"),
    C_BUILDING: re.compile(rf"builds a (?P<unit_type>{_TYPE}) at x (?P<x>{_NUMBER}), y (?P<y>{_NUMBER})"),
    C_UNIT: re.compile(rf"trains a (?P<unit_type>{_TYPE})"),
    C_MOVE: re.compile(rf"moves to x (?P<x>{_NUMBER}), y (?P<y>{_NUMBER})"),
}
_ARGUMENTS = ("unit_type", "x", "y", "gather", "attack")
_SIGHT = ("out of sight", "in sight")
"""A remembered object is out of sight; so is an object that only `oracle` shows."""
DESCRIBED: tuple[str, ...] = (
    *("money", "count", "owner", "enemy_in_sight", "resource_in_sight"),
    *(f"num_{name}" for name in LIST_NAMES),
    *(f"{name}_{part}" for name in LIST_NAMES for part in ("type", "x", "y", "hp")),
    *(f"command_{part}" for part in ("type", *_ARGUMENTS)),
)
"""Keys of a view that the text holds."""


class UnreadableStateError(ValueError):
    """A text does not describe a state of MiniRTS; the message is the reason."""


def team_view(observations: Arrays, index: int = 0) -> Arrays:
    """Observation, name -> [...], of a whole side in one world, from observations name -> [B, N, ...].

    It has the keys of one agent; `owned` and the masks hold for all agents together, and `owner` [50] uint8 is the
    agent that commands an own unit, 0 beyond the list.
    """
    view = {name: value[index, 0] for name, value in observations.items()}
    owned = observations["owned"][index]
    view["owner"] = owned.argmax(0).astype(np.uint8)
    view |= {name: observations[name][index].any(0) for name in ("owned", "legal_command", "legal_unit_type")}
    return view


def describe(view: View) -> str:
    """A view of a team (`team_view`) as lines of text."""
    visible, seen = (round(float(share) * NUM_CELLS) for share in view["count"][:2])
    lines = [
        f"You have {int(view['money'])} money, you see {visible} of {NUM_CELLS} cells, and you have seen {seen} "
        "others before."
    ]
    for k in range(int(view["num_own"])):
        who = f"own {k} of agent {int(view['owner'][k])}: {UNITS[int(view['own_type'][k])]}"
        lines.append(f"{who} {_place(view, 'own', k)}; {describe_command(view, k)}.")
    for name in LIST_NAMES[1:]:
        for k in range(int(view[f"num_{name}"])):
            who = f"{name} {k}: {UNITS[int(view['enemy_type'][k])]}" if name == "enemy" else f"{name} {k}:"
            lines.append(f"{who} {_place(view, name, k)}; {_SIGHT[int(view[f'{name}_in_sight'][k])]}.")
    return "\n".join(lines)


def _place(view: View, name: str, k: int) -> str:
    most = int(MAX_HP[int(view[f"{name}_type"][k])])
    x, y, hp = int(view[f"{name}_x"][k]), int(view[f"{name}_y"][k]), round(float(view[f"{name}_hp"][k]) * most)
    return f"at x {x}, y {y}, hp {hp} of {most}"


def describe_command(view: View, k: int) -> str:
    """Present command of own unit `k`, in words."""
    numbers = {part: int(view[f"command_{part}"][k]) for part in _ARGUMENTS}
    kind, place = UNITS[numbers["unit_type"]], f"x {numbers['x']}, y {numbers['y']}"
    return {
        C_IDLE: "idle",
        C_GATHER: f"gathers resource {numbers['gather']}",
        C_ATTACK: f"attacks enemy {numbers['attack']}, a {kind}",
        C_BUILDING: f"builds a {kind} at {place}",
        C_UNIT: f"trains a {kind}",
        C_MOVE: f"moves to {place}",
    }[int(view["command_type"][k])]


def read(text: str) -> Arrays:
    """The arrays [...] of a description: keys DESCRIBED, of the types of observations.

    Raises UnreadableStateError for a text that `describe` does not write.
    """
    found = _blank()
    lines = text.split("\n")
    first = _FIRST.fullmatch(lines[0])
    if first is None:
        raise UnreadableStateError(f"expected a line about money and sight, got {lines[0][:80]!r}")
    found["money"][...] = int(first[1])
    visible, seen = int(first[2]), int(first[3])
    if visible + seen > NUM_CELLS:
        raise UnreadableStateError(f"the map has only {NUM_CELLS} cells, not {visible} and {seen}")
    for line in lines[1:]:
        _read_object(found, line)
    _check_targets(found)
    found["count"][:3] = np.array([visible, seen, NUM_CELLS - visible - seen]) / NUM_CELLS
    for name, base in (("own", 2), ("enemy", 17)):
        kinds = found[f"{name}_type"][: int(found[f"num_{name}"])]
        found["count"][base + 1 : base + NUM_TYPES] = np.bincount(kinds, minlength=NUM_TYPES)[1:]
    found["count"][-1] = found["num_resource"]
    written = describe(found).split("\n")
    wrong = next((line for line, wanted in zip(lines, written, strict=True) if line != wanted), None)
    if wrong is not None:
        raise UnreadableStateError(f"{wrong[:80]!r} is in the wrong place or has an impossible number")
    return found


def _blank() -> Arrays:
    lists: Arrays = {"money": np.zeros((), np.int32), "count": np.zeros(NUM_COUNTS, np.float32)}
    lists |= {f"num_{name}": np.zeros((), np.uint8) for name in LIST_NAMES}
    for key in DESCRIBED:
        dtype = np.float32 if key.endswith("_hp") else bool if key.endswith("in_sight") else np.uint8
        lists.setdefault(key, np.zeros(MAX_LISTED, dtype))
    return lists


def _read_object(found: Arrays, line: str) -> None:
    own, other = _OWN.fullmatch(line), _OTHER.fullmatch(line)
    if own is not None:
        number, agent, kind = int(own[1]), int(own[2]), UNITS.index(own[3])
        k = _append(found, "own", line, number, kind, own.groups()[3:7])
        found["owner"][k] = min(agent, 255)
        _read_command(found, k, own[8])
    elif other is not None:
        name = other[1] or other[4]
        kind = UNITS.index(other[3]) if other[1] else RESOURCE
        k = _append(found, name, line, int(other[2] or other[5]), kind, other.groups()[5:9])
        found[f"{name}_in_sight"][k] = bool(_SIGHT.index(other[10]))
    else:
        raise UnreadableStateError(f"expected a line about an object, got {line[:80]!r}")


def _append(found: Arrays, name: str, line: str, number: int, kind: int, numbers: tuple[str, ...]) -> int:
    """Write type, place and health of the next object of a list; returns its place."""
    k, (x, y, hp, most) = int(found[f"num_{name}"]), map(int, numbers)
    if k != number or k >= MAX_LISTED:
        raise UnreadableStateError(f"a list is numbered from 0 to at most {MAX_LISTED - 1}: {line[:80]!r}")
    if max(x, y) >= SIDE or hp > most or most != MAX_HP[kind]:
        raise UnreadableStateError(f"{line[:80]!r} is outside the map, or has impossible health")
    found[f"num_{name}"] += 1
    found[f"{name}_type"][k], found[f"{name}_x"][k], found[f"{name}_y"][k] = kind, x, y
    found[f"{name}_hp"][k] = np.float32(hp) / np.float32(most)
    return k


def _read_command(found: Arrays, k: int, words: str) -> None:
    for command, pattern in _COMMANDS.items():
        match = pattern.fullmatch(words)
        if match is None:
            continue
        found["command_type"][k] = command
        for part, value in match.groupdict().items():
            number = UNITS.index(value) if part == "unit_type" else int(value)
            if number > 255:
                raise UnreadableStateError(f"{words[:80]!r} has a number that is too large")
            found[f"command_{part}"][k] = number
        return
    raise UnreadableStateError(f"{words[:80]!r} is no command of a unit")


def _check_targets(found: Arrays) -> None:
    """Refuse commands about places outside the map, and about objects that are in no list or of another type."""
    commands, kinds = found["command_type"], found["command_unit_type"]
    lost = (commands == C_GATHER) & (found["command_gather"] >= found["num_resource"])
    lost |= (commands == C_ATTACK) & (found["command_attack"] >= found["num_enemy"])
    lost |= np.maximum(found["command_x"], found["command_y"]) >= SIDE
    target = found["enemy_type"][np.minimum(found["command_attack"], MAX_LISTED - 1)]
    lost |= (commands == C_ATTACK) & (kinds != target)
    if lost.any():
        raise UnreadableStateError(f"the command of own {int(lost.argmax())} has a target that no line names")
