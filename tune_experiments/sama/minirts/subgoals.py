"""The sub-goals of MiniRTS: RED's 17 phrases and to wait; when each is reached, and who can begin with it now.

Tests compare a moment (`world.compute_features`) with the one in which the round began. SAMA's prompt allows one
building of each type and six units of each; the engine has no such caps, so they are checked here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.minirts.phrases import ATTACK, KEEP_SCOUTING, MADE, MINE, MINE_ALL, PHRASES, SEND_SCOUT
from rl_envs.minirts.symbols import (
    BUILDER,
    CAVALRY,
    COST,
    FIRST_BUILDING,
    NO_TYPE,
    NUM_CELLS,
    PEASANT,
    SPEARMAN,
    SWORDMAN,
    UNITS,
)
from rl_models.planners.domain import SubgoalTest
from tune_experiments.sama.minirts.scene import Hand, Scene

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
"""Price of a sub-goal that an agent cannot begin with."""
MAX_UNITS, MAX_BUILDINGS = 6, 1
"""Largest number of units and of buildings of each type (SAMA's prompt)."""
NEW_CELLS = 60
"""Cells that are newly seen when scouting was of use."""
_MANY = 9


@dataclass(frozen=True)
class Subgoal:
    """One thing for one agent to do.

    Attributes:
        text: the planner's name; a phrase of the world, or `WAIT`.
        goal: the team's goal that it belongs to.
        made: the type that it asks for, `NO_TYPE` for none.
    """

    text: str
    goal: str
    made: int = NO_TYPE

    @property
    def phrase(self) -> str:
        """The command that the agent gets; nothing where it waits."""
        return "" if self.text == WAIT else self.text

    @property
    def lasts(self) -> bool:
        """Whether the agent continues with it once it is reached; it makes a thing only once."""
        return self.made == NO_TYPE


_GOALS = {ATTACK: FIGHT, MINE: EARN, MINE_ALL: EARN, KEEP_SCOUTING: SCOUT, SEND_SCOUT: SCOUT, WAIT: REST}


def type_word(kind: int) -> str:
    """A type as states as JSON write it."""
    return UNITS[kind].replace(" ", "_")


def _subgoal(text: str) -> Subgoal:
    if text in _GOALS:
        return Subgoal(text, _GOALS[text])
    kind = MADE[text]
    goal = EARN if kind == PEASANT else TRAIN if kind < FIRST_BUILDING else EQUIP
    return Subgoal(text, goal, kind)


SUBGOALS = tuple(_subgoal(text) for text in (*PHRASES, WAIT))
OF_TEXT = {one.text: one for one in SUBGOALS}


# ------------------------------------------------------------------------------- when they are reached


def _attacks(before: Any, now: Any) -> Array:
    return np.asarray(now["attacking"] >= 1)


def _mines(before: Any, now: Any) -> Array:
    return (now["idle"] == 0) & (now["gathering"] >= 1)


def _all_mine(before: Any, now: Any) -> Array:
    peasants = now["own"][..., PEASANT]
    return (peasants >= 1) & (now["gathering"] == peasants)


def _scouted(before: Any, now: Any) -> Array:
    return _for_each((now["seen"] - before["seen"] >= NEW_CELLS) | (now["seen"] == NUM_CELLS), now)


def _made(kind: int, before: Any, now: Any) -> Array:
    return _for_each(now["team"][:, kind] > before["team"][:, kind], now)


def _always(before: Any, now: Any) -> Array:
    return np.ones(now["idle"].shape, bool)


def _for_each(of_team: Array, now: Any) -> Array:
    """The team's values [B] for each agent, [B, N]."""
    return np.broadcast_to(of_team[:, None], now["idle"].shape)


_TESTS_OF_DEEDS: dict[str, SubgoalTest] = {
    ATTACK: _attacks,
    MINE: _mines,
    MINE_ALL: _all_mine,
    KEEP_SCOUTING: _scouted,
    SEND_SCOUT: _scouted,
    WAIT: _always,
}
TESTS: dict[str, SubgoalTest] = {
    one.text: _TESTS_OF_DEEDS.get(one.text, functools.partial(_made, one.made)) for one in SUBGOALS
}
"""Text of a sub-goal -> whether each agent has reached it, of moments at the round's beginning and now."""


# ------------------------------------------------------------------------------- price


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


# ------------------------------------------------------------------------------- reward functions as text

_CODE = "def reward(previous, current):\n    now = current\n    was = previous\n    return 1 if {test} else 0\n"
_TESTS = {
    ATTACK: 'now["me"]["attacking"] >= 1',
    MINE: 'now["me"]["idle"] == 0 and now["me"]["gathering"] >= 1',
    MINE_ALL: 'now["me"]["own"]["peasant"] >= 1 and now["me"]["gathering"] == now["me"]["own"]["peasant"]',
    WAIT: 'now["money"] >= 0',
}


def reward_code(one: Subgoal) -> str:
    """Python that says over `as_json` what the test says, as a language model would write it.

    It is data: it runs in the sandbox alone.
    """
    if one.made != NO_TYPE:
        name = type_word(one.made)
        return _CODE.format(test=f'now["team"]["{name}"] - was["team"]["{name}"] >= 1')
    scouted = f'now["seen"] - was["seen"] >= {NEW_CELLS} or now["seen"] == {NUM_CELLS}'
    return _CODE.format(test=_TESTS.get(one.text, scouted))
