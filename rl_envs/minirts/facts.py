"""One short sentence about each listed object, as rows of a constant table of words, for models that attend to units.

`own guard tower hurt attacks dragon`, `enemy stable unhurt hidden`, `resource hurt visible`: side, type, health, and
what an own unit does or whether another object is in sight. Row 0 of the table is padding. Positions are only in the
lists. The sentences add no information to the lists.
"""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_ATTACK, C_BUILDING, C_GATHER, C_MOVE, C_UNIT, COMMANDS, MAX_LISTED
from rl_envs.minirts.observation import LIST_NAMES
from rl_envs.minirts.phrases import PHRASES
from rl_envs.minirts.symbols import NUM_TYPES, UNITS

HEALTH = ("dying", "hurt", "unhurt")
"""Up to a third of full health, less than all of it, all of it."""
_DYING = 1 / 3
SIGHT_WORDS = ("hidden", "visible")
"""Words for objects out of sight, which are remembered (or shown by `oracle`), and in sight."""
_PLAIN = ("idle", "gathers", "moves")
_ACTIVITIES = (*_PLAIN, *(f"attacks {name}" for name in UNITS), *(f"builds {name}" for name in UNITS))
_FIRST_ACTIVITY = np.zeros(len(COMMANDS), np.int64)
_FIRST_ACTIVITY[[C_GATHER, C_MOVE, C_ATTACK]] = 1, 2, 3
_FIRST_ACTIVITY[[C_BUILDING, C_UNIT]] = len(_PLAIN) + NUM_TYPES
"""[7] number of each command's first activity."""
FACT_LENGTH, PHRASE_LENGTH = 7, 5
"""L of `tables["facts"]` and of `tables["phrases"]`, in words."""


def _sentences() -> Iterator[str]:
    """All sentences in the order of their rows, the empty one first."""
    yield ""
    for kind in UNITS:
        for health in HEALTH:
            yield from (f"own {kind} {health} {activity}" for activity in _ACTIVITIES)
    for kind in UNITS:
        for health in HEALTH:
            yield from (f"enemy {kind} {health} {sight}" for sight in SIGHT_WORDS)
    for health in HEALTH:
        yield from (f"resource {health} {sight}" for sight in SIGHT_WORDS)


FACTS: tuple[str, ...] = tuple(_sentences())
"""[D] sentences; an observation's `own_fact`, `enemy_fact` and `resource_fact` are indices into it."""
VOCABULARY: tuple[str, ...] = ("", *sorted({word for text in (*FACTS, *PHRASES) for word in text.split()}))
"""Words by token; 0 is padding."""
_OWN, _ENEMY = 1, 1 + NUM_TYPES * len(HEALTH) * len(_ACTIVITIES)
_RESOURCE = _ENEMY + NUM_TYPES * len(HEALTH) * len(SIGHT_WORDS)


def encode_text(text: str, length: int) -> Array:
    """Token ids of a text, [length] int16, padded with 0."""
    words = text.split()
    unknown = sorted(set(words) - set(VOCABULARY))
    if unknown or len(words) > length:
        raise ValueError(f"{text!r} must have at most {length} words of facts.VOCABULARY; unknown are {unknown}")
    found = np.zeros(length, np.int16)
    found[: len(words)] = [VOCABULARY.index(word) for word in words]
    return found


@cache
def text_tables() -> Arrays:
    """`facts` [D, L] and `phrases` [18, L] int16 tokens; phrase 0 is the empty one, phrase k + 1 is PHRASES[k]."""
    kinds = (("facts", FACTS, FACT_LENGTH), ("phrases", ("", *PHRASES), PHRASE_LENGTH))
    return {name: np.stack([encode_text(text, length) for text in texts]) for name, texts, length in kinds}


def make_facts(seen: Mapping[str, Array]) -> Arrays:
    """`own_fact`, `enemy_fact`, `resource_fact`, [..., 50] uint16: row of FACTS of each listed object, 0 beyond.

    `seen`: lists and commands of observations, name -> [..., 50], and lengths of lists, [...].
    """
    sight = {name: seen[f"{name}_in_sight"].astype(np.int64) for name in LIST_NAMES[1:]}
    kinds = {name: seen[f"{name}_type"].astype(np.int64) for name in LIST_NAMES}
    health = {name: _health(seen[f"{name}_hp"]) for name in LIST_NAMES}
    own = (kinds["own"] * len(HEALTH) + health["own"]) * len(_ACTIVITIES) + _activity(seen)
    enemy = (kinds["enemy"] * len(HEALTH) + health["enemy"]) * len(SIGHT_WORDS) + sight["enemy"]
    resource = health["resource"] * len(SIGHT_WORDS) + sight["resource"]
    found = {"own": _OWN + own, "enemy": _ENEMY + enemy, "resource": _RESOURCE + resource}
    listed = {name: np.arange(MAX_LISTED) < np.asarray(seen[f"num_{name}"])[..., None] for name in LIST_NAMES}
    return {f"{name}_fact": np.where(listed[name], rows, 0).astype(np.uint16) for name, rows in found.items()}


def _health(share: Array) -> Array:
    """Numbers of HEALTH by share of full health."""
    return (share > _DYING).astype(np.int64) + (share >= 1)


def _activity(seen: Mapping[str, Array]) -> Array:
    """Numbers of _ACTIVITIES by present command."""
    order, kind = seen["command_type"].astype(np.int64), seen["command_unit_type"].astype(np.int64)
    return _FIRST_ACTIVITY[order] + kind * np.isin(order, (C_ATTACK, C_BUILDING, C_UNIT))
