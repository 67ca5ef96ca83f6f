"""The sub-goals of MiniRTS: RED's 17 phrases and to wait; tests, costs, and the rules' choice.

Tests compare the present state (`play.compute_features`) with that at the round's beginning. SAMA's prompt allows one
building of each type and six units of each; the engine has no such limits, so they are checked here.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts.phrases import ATTACK, KEEP_SCOUTING, MADE, MINE, MINE_ALL, PHRASES, SEND_SCOUT
from rl_envs.minirts.symbols import (
    ARCHER,
    ARMY,
    BUILDER,
    CATAPULT,
    CAVALRY,
    COST,
    DRAGON,
    FACTORY,
    FIRST_BUILDING,
    NO_TYPE,
    NUM_CELLS,
    PEASANT,
    SPEARMAN,
    SWORDMAN,
    UNITS,
)
from rl_models.planners.domain import SubgoalTest
from tune_experiments.red.commanders import COUNTER, FOOT
from tune_experiments.sama.minirts.scene import Hand, Scene
from tune_experiments.sama.rule_domain import ranked

EARN, SCOUT, EQUIP, TRAIN, FIGHT, REST = (
    "earn money",
    "find out what the enemy trains",
    "build a factory",
    "train an army",
    "attack the enemy",
    "wait",
)
GOALS = (EARN, SCOUT, EQUIP, TRAIN, FIGHT, REST)
WAIT = "wait"
FAR = 1_000
"""Cost of a sub-goal that an agent cannot begin."""
MAX_UNITS, MAX_BUILDINGS = 6, 1
"""Largest number of units and of buildings of each type (SAMA's prompt)."""
NEW_CELLS = 60
"""Number of newly seen cells that completes scouting."""
_MANY = 9


@dataclass(frozen=True)
class Subgoal:
    """A sub-goal of one agent: the planner's name for it (a phrase of the world, or `WAIT`), and the team's goal.

    `made` is the type to make, `NO_TYPE` for none.
    """

    text: str
    goal: str
    made: int = NO_TYPE

    @property
    def phrase(self) -> str:
        """The agent's command; empty for waiting."""
        return "" if self.text == WAIT else self.text

    @property
    def lasts(self) -> bool:
        """Whether the agent continues with it once it is reached; it makes a thing only once."""
        return self.made == NO_TYPE


_GOALS = {ATTACK: FIGHT, MINE: EARN, MINE_ALL: EARN, KEEP_SCOUTING: SCOUT, SEND_SCOUT: SCOUT, WAIT: REST}


def type_word(kind: int) -> str:
    """Name of a type in states as JSON."""
    return UNITS[kind].replace(" ", "_")


def _subgoal(text: str) -> Subgoal:
    if text in _GOALS:
        return Subgoal(text, _GOALS[text])
    kind = MADE[text]
    goal = EARN if kind == PEASANT else TRAIN if kind < FIRST_BUILDING else EQUIP
    return Subgoal(text, goal, kind)


SUBGOALS = tuple(_subgoal(text) for text in (*PHRASES, WAIT))
OF_TEXT = {one.text: one for one in SUBGOALS}


def _scouted(before: Any, now: Any) -> Array:
    return _for_each((now["seen"] - before["seen"] >= NEW_CELLS) | (now["seen"] == NUM_CELLS), now)


def _made(kind: int, before: Any, now: Any) -> Array:
    return _for_each(now["team"][:, kind] > before["team"][:, kind], now)


def _for_each(of_team: Array, now: Any) -> Array:
    """The team's values [B] for each agent, [B, N]."""
    return np.broadcast_to(of_team[:, None], now["idle"].shape)


_TESTS_OF_DEEDS: dict[str, SubgoalTest] = {
    ATTACK: lambda before, now: now["attacking"] >= 1,
    MINE: lambda before, now: (now["idle"] == 0) & (now["gathering"] >= 1),
    MINE_ALL: lambda before, now: (now["gathering"] >= 1) & (now["gathering"] == now["own"][..., PEASANT]),
    KEEP_SCOUTING: _scouted,
    SEND_SCOUT: _scouted,
    WAIT: lambda before, now: np.ones(now["idle"].shape, bool),
}
TESTS: dict[str, SubgoalTest] = {
    one.text: _TESTS_OF_DEEDS.get(one.text, functools.partial(_made, one.made)) for one in SUBGOALS
}
"""Text of a sub-goal -> whether each agent has reached it, from the states at the round's beginning and now."""


def cost(scene: Scene, agent: int, one: Subgoal) -> int:
    """Cost of a sub-goal for an agent now, less for the agent that is better placed; `FAR` if it cannot begin."""
    hand = scene.hands[agent]
    if one.made != NO_TYPE:
        return _training_price(scene, hand, one.made)
    if one.text == WAIT:
        return _MANY // 2
    if one.text == ATTACK:
        return _less_with(hand.fighters)
    if one.text == MINE:
        return _less_with(hand.idle_peasants) if hand.own[PEASANT] else FAR
    if one.text == MINE_ALL:
        return _less_with(hand.own[PEASANT])
    riders = sum(hand.own[kind] for kind in (CAVALRY, SPEARMAN, SWORDMAN))
    able = hand.own[PEASANT] if one.text == SEND_SCOUT else hand.own[PEASANT] + hand.fighters
    return FAR if not able or scene.seen == NUM_CELLS else _less_with(able + riders * (one.text == KEEP_SCOUTING))


def _less_with(number: int) -> int:
    return max(1, _MANY - number) if number else FAR


def _training_price(scene: Scene, hand: Hand, kind: int) -> int:
    most = MAX_UNITS if kind < FIRST_BUILDING else MAX_BUILDINGS
    if COST[kind] > scene.money or scene.own[kind] + scene.coming[kind] >= most:
        return FAR
    if kind >= FIRST_BUILDING:
        return _less_with(hand.free_peasants)
    return 1 if hand.idle_factories[int(BUILDER[kind])] else FAR


# ------------------------------------------------------------------------------- choice
# Scores follow the game: peasants first, then the factory and five units of what beats the enemy, then the attack
# (RED's oracle; SAMA, section 5). A team that has not seen the enemy scouts.

ENOUGH_PEASANTS, ENOUGH_UNITS, ENOUGH_TO_ATTACK = 6, 5, 6
_OF_THE_GOAL = 200.0
"""Bonus for useful sub-goals of a given goal."""


def choices(scene: Scene, goal: str | None = None) -> Iterator[tuple[Subgoal, ...]]:
    """All compatible combinations of sub-goals, one for each agent, the best first; ties by the order of sub-goals."""
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
    """Types that beat what the enemy trains, the most urgent first; the strongest types if nothing is known."""
    if not scene.threats:
        return [DRAGON]
    found = [_foot(scene) if kind in (ARCHER, CATAPULT) else COUNTER[kind] for kind in scene.threats]
    return list(dict.fromkeys(found))


def _foot(scene: Scene) -> int:
    """A foot or horse type that can be trained now, else the first of them."""
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


# ------------------------------------------------------------------------------- reward functions as text

_CODE = "def reward(previous, current):\n    now = current\n    was = previous\n    return 1 if {test} else 0\n"
_TESTS = {
    ATTACK: 'now["me"]["attacking"] >= 1',
    MINE: 'now["me"]["idle"] == 0 and now["me"]["gathering"] >= 1',
    MINE_ALL: 'now["me"]["own"]["peasant"] >= 1 and now["me"]["gathering"] == now["me"]["own"]["peasant"]',
    WAIT: 'now["money"] >= 0',
}


def reward_code(one: Subgoal) -> str:
    """The test as Python over `as_json`, in the form of a language model's reply; it only runs in the sandbox."""
    if one.made != NO_TYPE:
        name = type_word(one.made)
        return _CODE.format(test=f'now["team"]["{name}"] - was["team"]["{name}"] >= 1')
    scouted = f'now["seen"] - was["seen"] >= {NEW_CELLS} or now["seen"] == {NUM_CELLS}'
    return _CODE.format(test=_TESTS.get(one.text, scouted))
