"""Games under a planner: agents act, sub-goals are judged, the planner plans anew or reflects (SAMA, section 3.4).

A round takes between `min_steps` and `max_steps` decisions. It has succeeded when every agent has reached its sub-goal
at some decision of it. A round that is tried again begins where it began: the game is restored, with its clock, the
enemy's script and all chance. A game that ends within a round is over; its loss is not taken back. Decisions of rounds
that were undone are counted. This file must not know who plans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_models.planners.plans import Plan
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rounds import PlanningLoop, RoundEnd
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama.minirts.features import moment_of
from tune_experiments.sama.minirts.subgoals import OF_TEXT
from tune_experiments.sama.minirts.world import GameSnapshot, PlannedRts

METRICS = ("win_rate", "win_rate_of_standing", "decisions", "undone_decisions", "rounds", "reached_rounds", "ticks")
"""Metrics of a game: won within its limit of decisions, undone ones counted; won in the decisions that stand, as
the paper counts; decisions that stand; decisions that were undone; rounds judged; rounds with all sub-goals reached;
length."""
Executor: TypeAlias = Callable[[PlannedRts], Arrays]
"""The actions of all agents, factor -> [B, N], in worlds that hold their commands."""
Watch: TypeAlias = Callable[[PlannedRts, PlanningLoop], None]
"""Called with worlds and planner before the first decision and after each."""


class RtsPlay:
    """One game in each of B worlds."""

    def __init__(
        self,
        world: PlannedRts,
        executor: Executor,
        loop: PlanningLoop,
        book: RewardBook,
        min_steps: int,
        max_steps: int,
    ) -> None:
        """Prepare to play.

        Args:
            world: B games.
            executor: who carries commands out.
            loop: plans and reflects.
            book: says when a sub-goal is reached.
            min_steps: smallest number of env steps of a round; an env step is a decision.
            max_steps: number of env steps after which a round is over.
        """
        self._world, self._executor, self._loop, self._book = world, executor, loop, book
        self._min_steps, self._max_steps = min_steps, max_steps
        each = (world.num_worlds, world.num_agents)
        self._in_round = np.zeros(world.num_worlds, int)
        self._reached, self._commands = np.zeros(each, bool), np.full(each, -1)
        self._found = {name: np.zeros(world.num_worlds) for name in METRICS}
        self._starts: dict[int, GameSnapshot] = {}
        self._rounds = np.zeros(world.num_worlds, int)

    def run(self, seed: int, watch: Watch | None = None) -> Episodes:
        """Play to the end of every world's first game.

        Args:
            seed: of the games.
            watch: looks on.

        Returns:
            `METRICS`, [B] each.
        """
        world = self._world
        world.reset(seed)
        world.auto_resets = False
        self._moment = self._now()
        self._before = {name: value.copy() for name, value in self._moment.items() if name != "texts"}
        self._texts = list(self._moment.get("texts", ()))
        is_playing, played = np.ones(world.num_worlds, bool), np.zeros(world.num_worlds)
        begun = range(world.num_worlds)
        plans = self._loop.begin(dict(zip(begun, world.states(begun), strict=True)))
        for index, plan in plans.items():
            self._begin_round(index, plan, "")
        _ = watch and watch(world, self._loop)
        while is_playing.any():
            info = world.step(self._executor(world))[-1]
            self._in_round += is_playing
            played += is_playing
            ended = np.isin(np.arange(world.num_worlds), info["done_worlds"]) & is_playing
            self._note(ended, played)
            is_playing &= ~ended
            self._judge(is_playing)
            self._end_rounds(is_playing)
            _ = watch and watch(world, self._loop)
        return self._found

    def _note(self, ended: Array, played: Array) -> None:
        """Keep what games that end now have come to."""
        world = self._world
        won = (world.games["winner"] == 0).astype(float)
        values = {
            "win_rate": won * (played <= world.max_episode_steps),
            "win_rate_of_standing": won,
            "decisions": world.state["episode_length"],
            "undone_decisions": played - world.state["episode_length"],
            "ticks": world.games["tick"],
        }
        for name, value in values.items():
            np.copyto(self._found[name], value, where=ended)

    def _judge(self, is_playing: Array) -> None:
        """Sub-goals that are reached now; who was to make one thing and has made it gets no further command."""
        self._moment = self._now()
        before = self._before | ({"texts": self._texts} if self._texts else {})
        asked = np.where(is_playing[:, None] & ~self._reached, self._commands, -1)
        fresh = self._book.reached(asked, before, self._moment)
        self._reached |= fresh
        for index, agent in np.argwhere(fresh).tolist():
            if not OF_TEXT[self._book.texts[self._commands[index, agent]]].lasts:
                self._world.tell(index, agent, "")

    def _end_rounds(self, is_playing: Array) -> None:
        is_over = self._reached.all(1) & (self._in_round >= self._min_steps) | (self._in_round >= self._max_steps)
        over = np.flatnonzero(is_playing & is_over).tolist()
        if not over:
            return
        states = dict(zip(over, self._world.states(over), strict=True))
        ends = {index: RoundEnd(states[index], tuple(map(bool, self._reached[index]))) for index in over}
        for index, end in ends.items():
            self._found["rounds"][index] += 1
            self._found["reached_rounds"][index] += all(end.reached)
        following = self._loop.end_rounds(ends)
        again = [index for index in over if following[index].recovers]
        for index in again:
            self._world.restore_game(index, self._starts[index])
        if again:
            self._world.observe()
            self._moment = self._now()
        for index in over:
            self._begin_round(index, following[index].plan, " again" * following[index].recovers)

    def _begin_round(self, index: int, plan: Plan, how: str) -> None:
        """Give the agents of a world their commands of the round."""
        world = self._world
        self._rounds[index] += 1
        world.headlines[index] = f"round {self._rounds[index]}{how}: {plan.goal}"
        self._starts[index] = world.snapshot_of(index)
        self._in_round[index], self._reached[index] = 0, False
        for name, value in self._before.items():
            value[index] = self._moment[name][index]
        if "texts" in self._moment:
            self._texts[index] = self._moment["texts"][index]
        for agent, text in enumerate(plan.commands):
            self._commands[index, agent] = self._book.texts.index(text)
            world.tell(index, agent, OF_TEXT[text].phrase)

    def _now(self) -> Mapping[str, Array]:
        """Features of all worlds, and their texts where tests are Python."""
        world = self._world
        texts = {"texts": world.states(range(world.num_worlds))} if self._book.reads_texts else {}
        return moment_of(world.seen) | texts
