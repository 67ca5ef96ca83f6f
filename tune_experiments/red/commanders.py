"""Commanders: rules that give agents commands out of 17 phrases (RED, section 5; its evaluation scripts).

`oracle` knows which types the enemy trains, and names their counters: first mine, then peasants while there are few,
then the factory, then five units. `adversarial` names losing types, `fair` guesses the enemy from observations through
the fog, `none` is silent and `random` draws any phrase. The adversarial chain against archers keeps asking for dragons
while there are fewer than five *archers*, as in the released code. Against catapults the released oracle is silent; its
adversarial command is not in the release, and here all peasants are sent to mine.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts.phrases import MADE, MINE, MINE_ALL, PHRASES, SEND_SCOUT
from rl_envs.minirts.symbols import (
    ARCHER,
    ARMY,
    BARRACK,
    BLACKSMITH,
    CATAPULT,
    CAVALRY,
    DRAGON,
    FACTORY,
    PEASANT,
    SPEARMAN,
    STABLE,
    SWORDMAN,
    WORKSHOP,
)

COMMANDERS = ("oracle", "fair", "none", "random", "adversarial")
SILENCE = ""
Moment = Mapping[str, Array]
"""Present observation of an agent, name -> [...], with the keys of the world."""
_OPENING, _FEW_OBJECTS, _FEW_PEASANTS, _ENOUGH = 2, 7, 6, 5
ASKING = {kind: phrase for phrase, kind in MADE.items()}
"""Type -> the phrase that asks for it."""
COUNTER = {SPEARMAN: SWORDMAN, SWORDMAN: CAVALRY, CAVALRY: SPEARMAN, DRAGON: ARCHER}
"""Enemy type -> the type that beats it; any of `FOOT` beats archers."""
FOOT = (SWORDMAN, CAVALRY, SPEARMAN)
_EXISTING = (CAVALRY, SWORDMAN, SPEARMAN)
"""Foot types against archers, in order of preference if their factory exists."""
_LOSING = {DRAGON: CAVALRY, SPEARMAN: CAVALRY, SWORDMAN: SPEARMAN, CAVALRY: SWORDMAN, ARCHER: DRAGON}
_TRAINED_IN = {BARRACK: SPEARMAN, BLACKSMITH: SWORDMAN, STABLE: CAVALRY, WORKSHOP: DRAGON}


def say(
    commander: str, seen: Moment, decision: int, enemies: Sequence[int], agent: int, uniforms: Array, share: float
) -> str:
    """Command that a commander gives to an agent.

    Args:
        commander: one of COMMANDERS.
        seen: observation of the agent.
        decision: number of decisions before this one.
        enemies: types that the enemy trains, which only `oracle` and `adversarial` use.
        agent: index; agents follow different chains if the enemy trains several types.
        uniforms: [2] in [0, 1), for `random`.
        share: share of decisions with a command of `random`.

    Returns:
        one of PHRASES, or "".
    """
    if commander == "none":
        return SILENCE
    if commander == "random":
        return PHRASES[int(uniforms[1] * len(PHRASES))] if uniforms[0] < share else SILENCE
    if decision < _OPENING:
        return MINE
    known = _guess(seen) if commander == "fair" else list(enemies)
    enemy = known[agent % len(known)] if known else None
    if enemy != CATAPULT and int(seen["num_own"]) < _FEW_OBJECTS and _count(seen, PEASANT) < _FEW_PEASANTS:
        return ASKING[PEASANT]
    if enemy is None:
        return SEND_SCOUT if commander == "fair" else SILENCE
    return _against(seen, enemy, agent) if commander != "adversarial" else _losing(seen, enemy)


def _against(seen: Moment, enemy: int, agent: int) -> str:
    """The next command of the chain that beats an enemy type."""
    if enemy == CATAPULT:
        return SILENCE
    if enemy != ARCHER:
        return _chain(seen, COUNTER[enemy])
    for kind in _EXISTING:
        if _count(seen, FACTORY[kind]) and _count(seen, kind) < _ENOUGH:
            return _chain(seen, kind)
    return _chain(seen, FOOT[agent % len(FOOT)])


def _losing(seen: Moment, enemy: int) -> str:
    """The next command of the chain that loses to an enemy type."""
    if enemy == CATAPULT:
        return MINE_ALL
    return _chain(seen, _LOSING[enemy], ARCHER if enemy == ARCHER else None)


def _chain(seen: Moment, kind: int, counted: int | None = None) -> str:
    """A factory, then its units until there are five."""
    if not _count(seen, FACTORY[kind]):
        return ASKING[FACTORY[kind]]
    return ASKING[kind] if _count(seen, kind if counted is None else counted) < _ENOUGH else SILENCE


def _count(seen: Moment, kind: int) -> int:
    """Own objects of a type, those in production included."""
    own = seen["own_type"][: int(seen["num_own"])]
    return int((own == kind).sum()) + int(seen["in_production"][kind])


def _guess(seen: Moment) -> list[int]:
    """Probable types of the enemy, the commonest first: by recently seen units, else by known factories."""
    lately = np.asarray(seen["enemy_average"])
    armies = sorted((kind for kind in ARMY if lately[kind] > 0), key=lambda kind: -lately[kind])
    known = set(seen["enemy_type"][: int(seen["num_enemy"])].tolist())
    return armies or [kind for factory, kind in _TRAINED_IN.items() if factory in known]
