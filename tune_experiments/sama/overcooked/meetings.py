"""Cross-play of two chefs: perhaps with a planner, and with different action spaces.

A chef of `selfplay` and of the population methods has the game's actions and observes its planes. One of SAMA or
`mappo` chooses the cell to go to and observes symbols. `MeetingKitchen` gives each chef its own actions.

A planner commands only its own team's chefs. If both chefs are of one trained team, its planner commands both, and a
round is over when both have reached their sub-goals; else each follows its own planner, if it has one, which does not
get the other's commands. Nothing is undone, so planners do not reflect, also where a team plays with itself.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.overcooked.world import PRIMITIVE
from rl_models.planners.plans import Plan
from rl_models.planners.rounds import PlanningLoop, RoundEnd
from tune_experiments.experiment.plan import Episodes
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.overcooked.crossplay import SELF_PLAY_OF, Kitchens, MixedTeam, play_pair
from tune_experiments.overcooked.evaluation import play_team
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.sama.overcooked.config import BLIND, SELF_PLAY, split_method
from tune_experiments.sama.overcooked.play import EVALUATION_SEED
from tune_experiments.sama.overcooked.trials import UNPLANNED
from tune_experiments.sama.overcooked.world import NUM_CHEFS, CommandedKitchen
from tune_experiments.sama.planning import make_planning_loop
from tune_experiments.sama.play import planner_seed

SAMA_OF = "sama_overcooked"
KITCHENS: Kitchens = {
    SELF_PLAY_OF: lambda team: str(team.config.task),
    SAMA_OF: lambda team: split_method(team.method)[1],
}
"""Experiments whose teams can be paired -> the kitchen of one of its teams."""


@dataclass
class Commander:
    """A planner that does not reflect, and the numbers of the `chefs` that it commands.

    A round is over after `round_steps` env steps; `in_round` [B] int are those of the present rounds.
    """

    loop: PlanningLoop
    chefs: Sequence[int]
    round_steps: int
    in_round: Array


class MeetingKitchen(CommandedKitchen):
    """Kitchens with at most one planner a chef; chefs without one have no sub-goal and no command.

    Planners command in the first episode of each kitchen. Their rounds and memories are not part of a snapshot.
    """

    def __init__(self, num_worlds: int, commanders: Sequence[Commander], **arguments: Any) -> None:
        self._commanders = commanders
        self._is_commanded = np.isin(np.arange(NUM_CHEFS), [chef for one in commanders for chef in one.chefs])
        super().__init__(num_worlds, observations=("lossless", "symbols"), **arguments)

    def _begin(self, rows: Array) -> None:
        super()._begin(rows)
        first = rows[self.chance.episode[rows] == 0].tolist()
        self.state["reached"][rows] = True
        for one in self._commanders if first else ():
            self._follow(one, one.loop.begin({row: self.describe_state(row) for row in first}))

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        result = super()._advance(actions, recorded)
        is_playing = ~(result[1] | result[2]) & (self.chance.episode == 0)
        for one in self._commanders:
            one.in_round += 1
            reached = self.state["reached"]
            over = np.flatnonzero(is_playing & (reached[:, one.chefs].all(1) | (one.in_round >= one.round_steps)))
            # Failures of another team's chef do not count for this planner.
            ends = {
                world: RoundEnd(
                    self.describe_state(world),
                    tuple(bool(reached[world, chef]) or chef not in one.chefs for chef in range(NUM_CHEFS)),
                )
                for world in over.tolist()
            }
            if ends:
                self._follow(one, {world: following.plan for world, following in one.loop.end_rounds(ends).items()})
        return result

    def _follow(self, one: Commander, plans: Mapping[int, Plan]) -> None:
        self.command(list(plans), [plan.commands for plan in plans.values()], one.chefs)
        one.in_round[list(plans)] = 0

    def _rests(self, rows: Array) -> Array:
        return np.asarray(super()._rests(rows) & self._is_commanded)

    def _observe(self, rows: Array) -> Arrays:
        seen = super()._observe(rows)
        return seen | {"commands": np.where(self._is_commanded[:, None], seen["commands"], np.uint8(0))}


def meet(first: LoadedPolicy, second: LoadedPolicy, episodes: int) -> Episodes:
    """Episodes of one team's chef 0 with another's chef 1, as for `play_team`."""
    pair = first, second
    layout, limit = KITCHENS[first.experiment.name](first), first.config.max_episode_steps
    if not any(map(_relocates, pair)):
        settings = OvercookedConfig(task=layout, max_episode_steps=limit)
        return play_pair(settings, first.policy, second.policy, episodes)
    commanders = [_commander(pair[chefs[0]], chefs, episodes) for chefs in _who_is_commanded(pair)]
    kinds = tuple("adjacent" if _relocates(team) else PRIMITIVE for team in pair)
    world = MeetingKitchen(episodes, commanders, layout=layout, actions=kinds, max_episode_steps=limit)
    with closing(world):
        unknown = [() if _relocates(team) else ("legal",) for team in pair]
        return play_team(world, MixedTeam([first.policy, second.policy], unknown))


def _relocates(team: LoadedPolicy) -> bool:
    return team.experiment.name == SAMA_OF and split_method(team.method)[0] != SELF_PLAY


def _is_commanded(team: LoadedPolicy) -> bool:
    return team.experiment.name == SAMA_OF and split_method(team.method)[0] not in {*UNPLANNED, BLIND}


def _who_is_commanded(pair: Sequence[LoadedPolicy]) -> list[tuple[int, ...]]:
    """Chefs with a planner, grouped by planner."""
    if pair[0] is pair[1]:
        return [tuple(range(NUM_CHEFS))] if _is_commanded(pair[0]) else []
    return [(chef,) for chef, team in enumerate(pair) if _is_commanded(team)]


def _commander(team: LoadedPolicy, chefs: Sequence[int], episodes: int) -> Commander:
    config = dataclasses.replace(team.config, reflections=0)
    loop = make_planning_loop(
        config, split_method(team.method)[1], planner_seed(team.policy, EVALUATION_SEED), team.trial_folder
    )
    return Commander(loop, chefs, config.round_steps, np.zeros(episodes, int))
