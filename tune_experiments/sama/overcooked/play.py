"""Overcooked for the play loop, and its scripted chefs; soups are counted twice.

`soups` are those within an episode's number of env steps, undone ones included. `standing_soups` is the paper's count,
which leaves undone env steps out.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.scripted import NUM_UNIFORMS, ShortestPaths
from rl_envs.overcooked.words import FULL, NOTHING, STAY, THINGS
from rl_envs.overcooked.world import SOUP_REWARD
from rl_models.planners.rounds import NextRound, PlanningLoop
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama.overcooked.config import BLIND, SamaConfig, split_method
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.subgoals import DISH_STORE, MIDDLE_COUNTER, ONION_STORE, Subgoal
from tune_experiments.sama.overcooked.world import NUM_CHEFS, CommandedKitchen
from tune_experiments.sama.play import Executor, PlannedPlay, PlayAdapter, Watch

EVALUATION_SEED = 400
"""Seed of every evaluation: it fixes the random numbers of the choice of cells."""
_THINGS = ("held", "contents")


class KitchenPlay(PlayAdapter[CommandedKitchen]):
    """B kitchens."""

    metrics = ("soups", "reward", "standing_soups", "rounds", "reached_rounds", "idle_rounds", "wasted_steps")
    undone_metric = "wasted_steps"

    def reset(self, seed: int) -> None:
        """Begin the episodes."""
        super().reset(seed)
        self._soups = np.zeros(self.world.num_worlds)

    def states(self, worlds: Sequence[int]) -> list[str]:
        """The environment's sentences."""
        return [self.world.describe_state(index) for index in worlds]

    def begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        """Command both chefs."""
        self.world.command(list(rounds), [each.plan.commands for each in rounds.values()])

    def has_changed(self, worlds: Sequence[int]) -> Array:
        """Whether a thing was moved or has cooked, [K] bool; if not, both chefs are stuck."""
        changed = [(self.world.state[name][worlds] != self._starts[name][worlds]).any(-1) for name in _THINGS]
        return np.logical_or.reduce(changed)

    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """See `PlayAdapter`, [B] bool: the episode's clock, which undone rounds reset, has run out."""
        is_at_limit = is_playing & (played == self.world.max_episode_steps)
        np.copyto(self._soups, self.world.state["soups"], where=is_at_limit)
        return done

    def outcome(self, played: Array) -> Arrays:
        """Soups in both counts and their reward, name -> [B]."""
        return {
            "soups": self._soups,
            "reward": SOUP_REWARD * self._soups,
            "standing_soups": self.world.state["soups"],
        }


class ScriptedExecutor:
    """Scripted chefs: each walks the shortest way to the next thing of its sub-goal, and uses it.

    Random numbers are the kitchens' own, so that an undone round repeats. A chef that holds something else, or whose
    pot is not ready, waits.
    """

    def __init__(self, layout: str) -> None:
        self._kinds = tuple(get_domain(layout).kinds.values())
        self._ways: ShortestPaths | None = None

    def __call__(self, world: CommandedKitchen) -> Array:
        """Cells that the chefs choose now, [B, 2] int."""
        self._ways = self._ways or ShortestPaths(world.kitchen)
        at, uniforms = world.state["agent_cells"], world.chance.policy_uniforms(NUM_UNIFORMS)
        targets = np.stack([[self._targets(world, b, n) for n in range(NUM_CHEFS)] for b in range(world.num_worlds)])
        chosen = [self._ways.next_cells(*each) for each in zip(at, targets, uniforms, strict=True)]
        return np.stack(chosen)

    def _targets(self, world: CommandedKitchen, index: int, chef: int) -> Array:
        """Cells to use next, [H * W] bool; none if it is done, waits or cannot begin."""
        state, nothing = world.state, np.zeros(world.kitchen.size, bool)
        if state["reached"][index, chef]:
            return nothing
        one = self._kinds[state["commands"][index, chef]]
        held, contents = THINGS[state["held"][index, chef]], state["contents"][index]
        if one.kind == "wait":
            return nothing if _faces(world, index, chef, one) else world.kitchen.place_cells(one.target)
        if held == "nothing" and one.kind in ("bring", "fetch"):
            is_store = one.origin in (ONION_STORE, DISH_STORE)
            cells = world.kitchen.place_cells(one.origin)
            return cells if is_store else cells & (contents == THINGS.index(one.thing))
        if held != one.thing or one.kind == "fetch":
            return nothing
        cells = world.kitchen.place_cells(one.target)
        if one.target.startswith("pot"):  # not ready yet: make way
            return cells & ((contents >= FULL) == (one.kind == "fill"))
        if one.kind == "clear":  # preferably not at the middle counter
            aside = (
                cells & ~world.kitchen.place_cells(MIDDLE_COUNTER) & world.kitchen.reach[chef] & (contents == NOTHING)
            )
            cells = aside if aside.any() else cells
        return cells & (contents == NOTHING) if "counter" in one.target else cells


def _faces(world: CommandedKitchen, index: int, chef: int, one: Subgoal) -> bool:
    """Whether a chef waits, facing the place of its sub-goal."""
    state, kitchen = world.state, world.kitchen
    front = kitchen.front[state["agent_cells"][index, chef] * STAY + state["headings"][index, chef]]
    return bool(kitchen.place_cells(one.target)[front])


def play_under(
    loop: PlanningLoop,
    config: SamaConfig,
    method: str,
    executor: Executor,
    episodes: int,
    watch: Watch | None = None,
    seed: int = EVALUATION_SEED,
) -> Episodes:
    """Episodes with a given planning loop, [episodes] each; `method` is a method and its kitchen."""
    row, layout = split_method(method)
    world = CommandedKitchen(
        episodes, layout=layout, sees_commands=row != BLIND, max_episode_steps=config.max_episode_steps
    )
    with closing(world):
        return PlannedPlay(KitchenPlay(world), executor, loop, config.round_steps).run(seed, watch)
