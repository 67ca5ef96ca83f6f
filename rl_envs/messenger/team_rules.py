"""The rules for two agents, from EnDi's paper (2023, section 5.2 and A.2), and named deviations of its release.

There are an enemy, two messages and two goals. The agents share the reward and never block each other. Everything moves
by whole cells, and a touch needs the same cell.
"""

from collections.abc import Callable, Collection

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.messenger.single_rules import CELL_STEPS, LOST, WON, Outcome, moved
from rl_envs.messenger.symbols import SIDE

RELEASED: dict[str, tuple[tuple[int, ...], str]] = {
    "random_walk": ((2, 3), "all entities move at random, and the manual gives no movement"),
    "any_object_pays": ((1,), "messages and goals are both right for every agent, with or without the message"),
    "half_reward": ((1,), "an agent alone on a right object ends the episode with +0.5"),
    "only_pairs_count": ((2,), "one agent on a wrong object loses nothing; both on different wrong objects lose"),
    "message_at_start": ((3,), "agents begin with the message in 20 % of the episodes"),
    "goal_bonus": ((3,), "+0.2 for every agent on a goal, at every step"),
    "one_check": ((3,), "entities move first and touches are checked once, so two that swap cells do not touch"),
    "late_symbol": ((3,), "the symbol of an agent with the message changes one step late"),
}
"""Behaviours of the published code that are not in the paper: name -> (stages that it concerns, description)."""

BONUS, HALF = 0.2, 0.5
_ENEMY, _MESSAGES, _GOALS = 0, slice(1, 3), slice(3, 5)
_ROW = 2 * SIDE
_ORDER = (3, 4, 1, 2, 0)
"""Order in which entities move: goals, messages, enemy."""


def behaviours(released: Collection[str], stage: int) -> frozenset[str]:
    """The named behaviours that concern a stage."""
    if isinstance(released, str) or not isinstance(released, Collection):
        raise ValueError(f"released must be a list of names, such as [{released!r}]")
    for name in released:
        if name not in RELEASED:
            raise ValueError(f"the release has no behaviour called {name!r}; there are {', '.join(RELEASED)}")
    return frozenset(name for name in released if stage in RELEASED[name][0])


class TeamRules:
    """Applies steps to a world's state, for B games at once."""

    def __init__(self, stage: int, released: frozenset[str]) -> None:
        """Select the rules of a stage, 1 to 3, with these behaviours of the release."""
        self._stage, self._released = stage, released
        self._judge = (self._judge_start, self._judge_pairs, self._judge_delivery)[stage - 1]

    def play(self, state: Arrays, actions: Array, entity_moves: Callable[[], Array]) -> Outcome:
        """Apply one step, actions [B, 2], to the state, name -> [B, ...].

        Agents move and touch, then entities (`entity_moves` gives their actions [B, 5]) do.
        """
        entities_first = "one_check" in self._released
        everywhere = np.ones(len(actions), bool)
        if entities_first:
            _move_entities(state, entity_moves(), everywhere)
        state["avatar_places"] = moved(state["avatar_places"], CELL_STEPS[actions])
        outcome = self._judge(state, everywhere)
        if self._stage > 1 and not entities_first:
            goes_on = ~outcome.over
            _move_entities(state, entity_moves(), goes_on)
            outcome = _joined(outcome, self._judge(state, goes_on))
        if "goal_bonus" in self._released:
            on_goal = _either(_touch(state, ~outcome.over)[..., _GOALS]) & state["has_message"]
            outcome.reward += BONUS * on_goal.sum(1)
        return outcome

    def _judge_start(self, state: Arrays, goes_on: Array) -> Outcome:
        """Stage 1: won when the agents are on different right objects (a message; a goal for an agent with one)."""
        touch, holds = _touch(state, goes_on), state["has_message"]
        messages, goals = touch[..., _MESSAGES], touch[..., _GOALS]
        lost = _either(touch[..., _ENEMY])
        if "any_object_pays" in self._released:
            won, is_right = _on_different(messages) | _on_different(goals), _either(messages | goals)
        else:
            lost |= _either(_either(goals) & ~holds)
            won, is_right = _on_their_own(messages, goals, holds)
        won &= ~lost
        halves = _either(is_right) & ~lost & ~won & ("half_reward" in self._released)
        return Outcome(WON * won + HALF * halves + LOST * lost, lost | won | halves, won)

    def _judge_pairs(self, state: Arrays, goes_on: Array) -> Outcome:
        """Stage 2: as stage 1, and also checked after the entities moved."""
        if "only_pairs_count" not in self._released:
            return self._judge_start(state, goes_on)
        touch, holds = _touch(state, goes_on), state["has_message"]
        enemy, any_holds, all_hold = _either(touch[..., _ENEMY]), _either(holds), holds[:, 0] & holds[:, 1]
        on_messages, on_goals = _on_different(touch[..., _MESSAGES]), _on_different(touch[..., _GOALS])
        won = ~enemy & ((on_messages & ~all_hold) | (on_goals & any_holds))
        lost = enemy | (on_messages & all_hold) | (on_goals & ~any_holds)
        return Outcome(WON * won + LOST * lost, won | lost, won)

    def _judge_delivery(self, state: Arrays, goes_on: Array) -> Outcome:
        """Stage 3: each agent gets a message (+0.2 once), then a goal; won when they have reached different goals."""
        touch = _touch(state, goes_on)
        enemy = _either(touch[..., _ENEMY])
        touch &= ~enemy[:, None, None]
        picks_up = _either(touch[..., _MESSAGES]) & ~state["has_message"]
        state["has_message"] |= picks_up
        goals, holds = touch[..., _GOALS], state["has_message"]
        lost = enemy | _either(_either(goals) & ~holds)
        state["reached"] |= goals & holds[..., None]
        won = ~lost & goes_on & _on_different(state["reached"])
        reward = np.where(lost, LOST, np.where(won, WON, BONUS * picks_up.sum(1)))
        return Outcome(reward, lost | won, won)


def _joined(first: Outcome, second: Outcome) -> Outcome:
    """The outcome of two checks in one step; an end in the second check replaces the first one's reward."""
    before = np.where(second.over, 0.0, first.reward)
    return Outcome(before + second.reward, first.over | second.over, first.won | second.won)


def _touch(state: Arrays, goes_on: Array) -> Array:
    """[B, 2, 5] bool, whether an agent is in the cell of an entity, in the worlds whose game is not over."""
    entities = np.where(goes_on[:, None], _cells(state["entity_places"]), -1)
    return _cells(state["avatar_places"])[:, :, None] == entities[:, None]


def _cells(places: Array) -> Array:
    """Positions [..., 2] as one number each, [...] int64."""
    return places[..., 0] * _ROW + places[..., 1]


def _either(pair: Array) -> Array:
    """Whether one of the two values of the last axis is true."""
    return pair[..., 0] | pair[..., 1]


def _on_different(objects: Array) -> Array:
    """[B] bool, whether the two agents are on two different objects of a kind, [B, 2, 2]."""
    return (objects[:, 0, 0] & objects[:, 1, 1]) | (objects[:, 0, 1] & objects[:, 1, 0])


def _on_their_own(messages: Array, goals: Array, holds: Array) -> tuple[Array, Array]:
    """Whether the agents are on different right objects, [B] bool, and which agent is on a right one, [B, 2] bool."""
    right = np.where(holds[..., None], goals, messages)
    is_right = _either(right)
    want_different_kinds = holds[:, 0] != holds[:, 1]
    return (want_different_kinds & is_right[:, 0] & is_right[:, 1]) | _on_different(right), is_right


def _move_entities(state: Arrays, actions: Array, goes_on: Array) -> None:
    """Move entities one after another by a cell, unless another entity is there; avatars do not block."""
    places = state["entity_places"]
    targets = moved(places, CELL_STEPS[actions] * goes_on[:, None, None])
    cells, wanted = _cells(places).T.copy(), _cells(targets).T
    for entity in _ORDER:
        is_free = np.logical_and.reduce(cells != wanted[entity])
        cells[entity] = np.where(is_free, wanted[entity], cells[entity])
    state["entity_places"] = np.where((cells == wanted).T[..., None], targets, places)
