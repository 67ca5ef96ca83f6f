"""Scripted cooks: baselines that act on what each agent knows, deaf or hearing messages of the teacher's grammar.

This file must not know about learning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad import macro_actions as macro
from rl_envs.salad.errands import Errand, Knowledge, next_macro, obey
from rl_envs.salad.macro_actions import MacroActions
from rl_envs.salad.sight import Belief, beliefs
from rl_envs.salad.symbols import CHOPS, NOTHING, NUM_FOODS, NUM_THINGS
from rl_envs.salad.world import Salad


class ScriptedCooks:
    """Both agents of all kitchens of one world, which must use macro actions."""

    def __init__(self, world: Salad) -> None:
        """Watch a world.

        Raises:
            ValueError: its agents take primitive actions.
        """
        if world.action_names[0] != macro.NAMES[macro.WAIT]:
            raise ValueError("scripted cooks choose macro actions: make the world with actions='short' or 'full'")
        self._world = world
        self._place = {int(number): place for place, number in enumerate(world.macros)}
        self._passed = np.zeros((world.num_worlds, world.num_agents, NUM_THINGS), bool)

    def act(self, heard: Sequence[Sequence[Errand | None]] | None = None) -> Array:
        """Actions for the present moment of the world.

        Args:
            heard: [B][N], the errand that each agent was asked to do; None for nothing. Without it all are deaf.

        Returns:
            [B, N] int64; waiting for agents that do not decide.
        """
        world, state = self._world, self._world.state
        self._passed[state["episode_length"] == 0] = False
        belief = beliefs(world.kitchen, state)
        actions = np.zeros((world.num_worlds, world.num_agents), np.int64)
        for row, agent in np.argwhere(state["decides"]):
            known = knowledge(world, belief, state["available"], int(row), int(agent), self._passed[row, agent])
            asked = heard[row][agent] if heard is not None else None
            chosen = obey(asked, known) if asked is not None else None
            chosen = next_macro(known) if chosen is None else chosen
            if chosen == macro.SHARE:
                self._passed[row, agent, known.hand] = True
            actions[row, agent] = self._place[chosen]
        return actions


def knowledge(
    world: Salad, belief: Belief, available: Array, row: int, agent: int, passed: Array | None = None
) -> Knowledge:
    """What one agent knows; with nothing passed on given, what one knows who sees everything and the order.

    Args:
        world: the game.
        belief: of all agents.
        available: [B, N, macro actions] bool.
        row: the world's number.
        agent: the agent's number.
        passed: [5] bool, things that it handed over.
    """
    kitchen, at, mate = world.kitchen, int(belief.at[row, agent]), int(belief.at[row, 1 - agent])
    sees_all = passed is None
    order = int(world.state["recipe"][row]) + 1 >> np.arange(NUM_FOODS) & 1 == 1
    wanted = order if sees_all or world.knows[agent] else kitchen.has[:NUM_FOODS]
    return Knowledge(
        kitchen=kitchen,
        agent=agent,
        at=at,
        mate=mate if sees_all or kitchen.in_sight[at, mate] else NOTHING,
        hand=int(belief.hand[row, agent]),
        cells=tuple(belief.cells[row, agent].tolist()),
        is_chopped=tuple(belief.is_chopped[row, agent].tolist()),
        in_plate=tuple(belief.in_plate[row, agent].tolist()),
        is_gone=tuple(belief.is_gone[row, agent].tolist()),
        can=frozenset(world.macros[available[row, agent, world.macros]].tolist()),
        sees_all=sees_all,
        wanted=frozenset(np.flatnonzero(wanted).tolist()),
        passed=frozenset() if passed is None else frozenset(np.flatnonzero(passed).tolist()),
    )


def truth(world: Salad) -> tuple[Belief, Array]:
    """What all agents would believe if they saw everything, and what they could then do."""
    state, kitchen, both = world.state, world.kitchen, world.num_agents
    belief = Belief(
        at=state["agent_cells"],
        hand=state["held"],
        cells=np.repeat(state["thing_cells"][:, None], both, axis=1),
        is_chopped=np.repeat((state["chops"] >= CHOPS)[:, None], both, axis=1),
        in_plate=np.repeat(state["in_plate"][:, None], both, axis=1),
        is_gone=np.broadcast_to(~kitchen.has | (kitchen.homes == NOTHING), (*state["held"].shape, NUM_THINGS)),
    )
    return belief, MacroActions(kitchen).available(belief)
