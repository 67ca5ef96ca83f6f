"""MiniRTS for the play loop, its scripted executor, and tests of sub-goals; an env step is a decision.

A sub-goal is reached if its test holds at some decision of the round. A game that ends within a round is not undone.
Tests that a model writes (SAMA, section 3.3) are tried on rounds of scripted agents with drawn phrases before use.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_CONTINUE, MAX_LISTED, UNIT_FACTORS
from rl_envs.minirts.symbols import ARMY, FACTORY
from rl_envs.minirts.tick import RUNNING
from rl_models.planners.planner import Planner
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rewards import DesignedReward, RewardDesigner, RewardSource, Transitions, builtin_rewards
from rl_models.planners.rounds import NextRound
from tune_experiments.red.commanders import ASKING
from tune_experiments.red.decisions import per_unit_actions
from tune_experiments.red.trials import team_commands
from tune_experiments.sama.minirts.domain import get_domain
from tune_experiments.sama.minirts.subgoals import OF_TEXT, SUBGOALS, TESTS, WAIT
from tune_experiments.sama.minirts.world import GameSnapshot, PlannedRts, compute_features
from tune_experiments.sama.planning import game_code
from tune_experiments.sama.play import PlayAdapter

FORMS = {False: "per_unit", True: "collective"}
"""Form of the actions of scripted and of learned teams."""
_WORLDS, _ROUNDS, _DECISIONS = 12, 12, 8
_TRIAL_SEED = 17
_DRAWN_EVERY = 3
"""Every third round has drawn phrases; in the others a world's agents build a factory and train its unit."""
METRICS = ("win_rate", "win_rate_of_standing", "decisions", "undone_decisions", "rounds", "reached_rounds", "ticks")
"""Metrics of a game: won within its limit of decisions, undone ones included; won, undone ones excluded (the paper's
count); decisions without undone ones; undone decisions; finished rounds; rounds with all sub-goals reached; length."""


def scripted(world: PlannedRts) -> Arrays:
    """Scripted executor of the 17 phrases (`red/scripted.py`)."""
    tables = np.zeros((world.num_worlds, world.num_agents, MAX_LISTED, len(UNIT_FACTORS)), np.int32)
    tables[..., 0] = C_CONTINUE
    for index in np.flatnonzero(world.games["result"] == RUNNING).tolist():
        tables[index] = team_commands(world.seen, index, world.latest_commands(index))
    return per_unit_actions(tables)


class RtsPlay(PlayAdapter[PlannedRts]):
    """The play loop's adapter of B games; a book holds the tests of the sub-goals."""

    metrics = METRICS
    undone_metric = "undone_decisions"

    def __init__(self, world: PlannedRts, book: RewardBook) -> None:
        super().__init__(world)
        self._book = book
        each = (world.num_worlds, world.num_agents)
        self._reached, self._commands = np.zeros(each, bool), np.full(each, -1)
        self._round_starts: dict[int, GameSnapshot] = {}
        self._rounds = np.zeros(world.num_worlds, int)

    def reset(self, seed: int) -> None:
        """Begin the games."""
        self.world.reset(seed)
        self._moment = self._now()
        self._before = {name: value.copy() for name, value in self._moment.items()}

    def states(self, worlds: Sequence[int]) -> list[str]:
        """Text of each game for the planner."""
        return self.world.states(worlds)

    def begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        """Give all agents their phrases."""
        for index, each in rounds.items():
            self._rounds[index] += 1
            again = " again" * each.recovers
            self.world.headlines[index] = f"round {self._rounds[index]}{again}: {each.plan.goal}"
            self._reached[index] = False
            for name, value in self._moment.items():
                self._before[name][index] = value[index]
            for agent, text in enumerate(each.plan.commands):
                self._commands[index, agent] = self._book.texts.index(text)
                self.world.tell(index, agent, OF_TEXT[text].phrase)

    def reached(self, is_playing: Array) -> Array:
        """Test the present state; an agent that has completed its command gets no command."""
        self._moment = self._now()
        asked = np.where(is_playing[:, None] & ~self._reached, self._commands, -1)
        fresh = self._book.reached(asked, self._before, self._moment)
        self._reached |= fresh
        for index, agent in np.argwhere(fresh).tolist():
            if not OF_TEXT[self._book.texts[self._commands[index, agent]]].lasts:
                self.world.tell(index, agent, "")
        return self._reached

    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """Whether the game is over."""
        return done

    def outcome(self, played: Array) -> Arrays:
        """Winner, and time."""
        world = self.world
        won = (world.games["winner"] == 0).astype(float)
        return {
            "win_rate": won * (played <= world.max_episode_steps),
            "win_rate_of_standing": won,
            "decisions": world.state["episode_length"],
            "ticks": world.games["tick"],
        }

    def save(self, worlds: Sequence[int]) -> None:
        """Save games one by one, because their tables of distances grow."""
        self._round_starts |= {index: self.world.snapshot_game(index) for index in worlds}

    def restore(self, worlds: Sequence[int]) -> None:
        """Restore games, and observe them."""
        for index in worlds:
            self.world.restore_game(index, self._round_starts[index])
        self.world.observe()
        self._moment = self._now()

    def _now(self) -> Arrays:
        """Features of all games, and their texts [B] where tests are Python."""
        world = self.world
        texts = world.states(range(world.num_worlds)) if self._book.reads_texts else None
        return compute_features(world.seen) | ({} if texts is None else {"texts": np.array(texts, object)})


# ------------------------------------------------------------------------------------------------ tests of sub-goals


def open_book(source: RewardSource, planner: Planner) -> RewardBook:
    """Tests of all sub-goals; close it, because tests in Python run in processes."""
    domain = get_domain(len(planner.domain.agents))
    designed = [] if source == "builtin" else design_rewards(planner)
    return RewardBook(builtin_rewards(domain, designed), domain, TESTS, _texts)


def design_rewards(planner: Planner) -> list[DesignedReward]:
    """Tests by the planner's model, except for waiting, which is always reached."""
    domain = get_domain(len(planner.domain.agents))
    play, code = transitions(len(domain.agents)), game_code(domain.source)
    designer = RewardDesigner(planner.caller, domain, TESTS, play, planner.manual, code)
    return designer.design([text for text in domain.subgoals if text != WAIT])


def transitions(num_agents: int) -> Transitions:
    """States at the beginning and the end of short rounds of N agents, one pair for each world and round."""
    numbers, befores, afters, texts = random.Random(_TRIAL_SEED), list[Any](), list[Any](), list[tuple[str, str]]()
    with closing(PlannedRts(_WORLDS, agents_per_side=num_agents, actions=FORMS[False])) as world:
        world.reset(_TRIAL_SEED)
        for number in range(_ROUNDS):
            before, states = compute_features(world.seen), world.states(range(_WORLDS))
            for index, agent in np.ndindex(_WORLDS, num_agents):
                drawn = numbers.choice(SUBGOALS).phrase
                world.tell(index, agent, drawn if number % _DRAWN_EVERY == 0 else _chain(index, number))
            for _ in range(_DECISIONS):
                world.step(scripted(world))
            befores.append(before)
            afters.append(compute_features(world.seen))
            texts += zip(states, world.states(range(_WORLDS)), strict=True)
    return Transitions(_joined(befores), _joined(afters), tuple(texts))


def _chain(world: int, number: int) -> str:
    """The command of a world's agents in a round: the factory of one type, or the type itself."""
    kind = ARMY[world % len(ARMY)]
    return ASKING[FACTORY[kind] if number % 2 else kind]


def _joined(moments: list[Any]) -> dict[str, Any]:
    return {name: np.concatenate([moment[name] for moment in moments]) for name in moments[0]}


def _texts(moment: Any) -> Any:
    return moment["texts"]
