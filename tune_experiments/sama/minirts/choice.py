"""Which sub-goals the agents of a team should have now: every combination that can begin, weighed.

Scores follow the game: peasants first, then the factory and five units of what beats the enemy, then the attack (sheet
of RED's oracle; SAMA, section 5). A team that knows nothing of the enemy scouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rl_envs.minirts.symbols import (
    ARCHER,
    ARMY,
    BUILDER,
    CATAPULT,
    COST,
    DRAGON,
    FACTORY,
    FIRST_BUILDING,
    NO_TYPE,
    PEASANT,
)
from tune_experiments.red.commanders import COUNTER, FOOT
from tune_experiments.sama.minirts.scene import Scene
from tune_experiments.sama.minirts.subgoals import (
    ATTACK,
    FAR,
    KEEP_SCOUTING,
    MINE,
    MINE_ALL,
    SEND_SCOUT,
    SUBGOALS,
    WAIT,
    Subgoal,
    cost,
)
from tune_experiments.sama.rule_domain import ranked

ENOUGH_PEASANTS, ENOUGH_UNITS, ENOUGH_TO_ATTACK = 6, 5, 6
_OF_THE_GOAL = 200.0
"""Score of belonging to a goal that is given, where a sub-goal is of any use."""


def choices(scene: Scene, goal: str | None = None) -> Iterator[tuple[Subgoal, ...]]:
    """All compatible ways to occupy the agents, in their order, the best first; ties by the order of sub-goals."""
    kinds = wanted(scene)
    scores = {one.text: _score(scene, kinds, one) for one in SUBGOALS}
    for one in SUBGOALS:
        scores[one.text] += _OF_THE_GOAL * (one.goal == goal and scores[one.text] > 0)
    options = [
        [(one, scores[one.text] - price) for one in SUBGOALS if (price := cost(scene, agent, one)) < FAR]
        for agent in range(len(scene.hands))
    ]
    return (chosen for chosen in ranked(options) if _compatible(scene, chosen))


def wanted(scene: Scene) -> list[int]:
    """Types that beat what the enemy trains, the most urgent first; what beats most where nothing is known."""
    if not scene.threats:
        return [DRAGON]
    found = [_foot(scene) if kind in (ARCHER, CATAPULT) else COUNTER[kind] for kind in scene.threats]
    return list(dict.fromkeys(found))


def _foot(scene: Scene) -> int:
    """A type on foot or horse that can be trained already, else the first of them."""
    own = scene.own
    return next((kind for kind in FOOT if own[FACTORY[kind]] + scene.coming[FACTORY[kind]]), FOOT[0])


def _score(scene: Scene, kinds: Sequence[int], one: Subgoal) -> float:
    if one.made == PEASANT:
        return 73.0 if scene.own[PEASANT] + scene.coming[PEASANT] < ENOUGH_PEASANTS else -10.0
    if one.made != NO_TYPE:
        return _training_score(scene, kinds, one.made)
    if one.text == ATTACK:
        is_due = scene.is_attacked() or sum(hand.fighters for hand in scene.hands) >= ENOUGH_TO_ATTACK
        return 80.0 if is_due else -20.0
    if one.text in (KEEP_SCOUTING, SEND_SCOUT):
        return 0.0 if scene.threats else 75.0
    idle = sum(hand.idle_peasants for hand in scene.hands)
    return {MINE: 40.0 if idle else 12.0, MINE_ALL: 2.0, WAIT: 10.0}[one.text]


def _training_score(scene: Scene, kinds: Sequence[int], made: int) -> float:
    if made >= FIRST_BUILDING:
        places = [place for place, kind in enumerate(kinds) if FACTORY[kind] == made]
        return 72.0 - 10.0 * places[0] if places else -20.0
    if made not in kinds:
        return -20.0
    number = scene.own[made] + scene.coming[made]
    return 70.0 - 2.0 * number - 5.0 * kinds.index(made) if number < ENOUGH_UNITS else 11.0


def _compatible(scene: Scene, chosen: Sequence[Subgoal]) -> bool:
    """Whether all can begin together: money, one building of a type, one scout, no factory asked twice."""
    made = [one.made for one in chosen if one.made != NO_TYPE]
    if sum(int(COST[kind]) for kind in made) > scene.money:
        return False
    scouts = sum(one.text in (KEEP_SCOUTING, SEND_SCOUT) for one in chosen)
    if scouts > 1 or len({kind for kind in made if kind >= FIRST_BUILDING}) < sum(k >= FIRST_BUILDING for k in made):
        return False
    for kind, number in Counter(int(BUILDER[kind]) for kind in made if kind in (*ARMY, PEASANT)).items():
        if number > sum(hand.idle_factories[kind] for hand in scene.hands):
            return False
    return True
