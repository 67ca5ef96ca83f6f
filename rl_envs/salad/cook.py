"""Scripted cooks: baselines that act on each agent's beliefs, with or without messages of the teacher's grammar."""

from collections.abc import Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.salad import macro_actions as macro
from rl_envs.salad.macro_actions import MacroActions
from rl_envs.salad.observation import Belief, beliefs
from rl_envs.salad.subtasks import WAITING, Knowledge, Subtask, hands_over, macro_for, next_macro
from rl_envs.salad.symbols import CHOPS, NOTHING, NUM_FOODS, NUM_THINGS
from rl_envs.salad.world import Salad


class ScriptedCooks:
    """Scripted policy of both agents in a batch of kitchens with macro actions."""

    def __init__(self, world: Salad) -> None:
        """Attach to a world."""
        if world.action_names[0] != macro.NAMES[macro.WAIT]:
            raise ValueError("scripted cooks choose macro actions: make the world with actions='short' or 'full'")
        self._world = world
        self._place = {int(number): place for place, number in enumerate(world.macros)}
        each = (world.num_worlds, world.num_agents)
        self._passed = np.zeros((*each, NUM_THINGS), bool)
        self._asked_for = np.zeros((*each, NUM_FOODS), bool)

    def act(self, heard: Sequence[Sequence[Subtask | None]] | None = None) -> Array:
        """Actions for the present state of the world, [B, N] int64; agents that do not decide wait.

        `heard` `[B][N]` is the subtask that a message requested of each agent, or None; by default none gets messages.
        """
        world, state = self._world, self._world.state
        for memory in (self._passed, self._asked_for):
            memory[state["episode_length"] == 0] = False
        belief = beliefs(world.kitchen, state)
        actions = np.zeros((world.num_worlds, world.num_agents), np.int64)
        for row, agent in np.argwhere(state["decides"]).tolist():
            asked = heard[row][agent] if heard is not None else None
            wanted = self._wanted(row, agent, asked)
            known = knowledge(world, belief, state["available"], row, agent, wanted, self._passed[row, agent])
            chosen = macro_for(asked, known) if asked is not None else None
            if chosen is None:
                # A cook that gets messages and does not observe the order acts only on request.
                is_idle = asked is not None and asked.kind == WAITING and not world.knows[agent]
                chosen = macro.WAIT if is_idle else next_macro(known)
            if chosen == macro.SHARE:
                self._passed[row, agent, known.hand] = True
            actions[row, agent] = self._place[chosen]
        return actions

    def _wanted(self, row: int, agent: int, asked: Subtask | None) -> frozenset[int]:
        """Foods of the dish: the order if known; else requested foods; else all foods (to pass on), or a guess."""
        world, memory = self._world, self._asked_for[row, agent]
        if world.knows[agent]:
            return recipe_foods(int(world.state["recipe"][row]))
        if asked is not None:
            if 0 <= asked.thing < NUM_FOODS:
                memory[asked.thing] = True
            return frozenset(np.flatnonzero(memory).tolist())
        if hands_over(world.kitchen, agent):
            return frozenset(np.flatnonzero(world.kitchen.has[:NUM_FOODS]).tolist())
        return recipe_foods(int(world.recipes[world.state["wrong_dishes"][row] % len(world.recipes)]))


def knowledge(
    world: Salad,
    belief: Belief,
    available: Array,
    row: int,
    agent: int,
    wanted: frozenset[int],
    passed: Array | None = None,
) -> Knowledge:
    """Knowledge of one agent in world `row`; without `passed` [5] (things it passed on), of one that sees everything.

    `available` [B, N, macro actions] bool; `wanted`: foods of the dish.
    """
    kitchen, at, mate = world.kitchen, int(belief.at[row, agent]), int(belief.at[row, 1 - agent])
    sees_all = passed is None
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
        wanted=wanted,
        passed=frozenset() if passed is None else frozenset(np.flatnonzero(passed).tolist()),
    )


def recipe_foods(recipe: int) -> frozenset[int]:
    """Foods of the recipe with this number."""
    return frozenset(food for food in range(NUM_FOODS) if recipe + 1 >> food & 1)


def truth(world: Salad) -> tuple[Belief, Array]:
    """Beliefs of agents that see everything, and their available macro actions, [B, N, macro actions] bool."""
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
