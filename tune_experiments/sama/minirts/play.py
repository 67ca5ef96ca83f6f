"""MiniRTS with a planner, for the play loop, its scripted executor, and tests of sub-goals; an env step is a decision.

A sub-goal is reached if its test holds at some decision of the round. A game that ends within a round is not undone.
Tests that a model writes (SAMA, section 3.3) are tried on rounds of scripted agents with drawn phrases before use.
"""

import operator
import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts import kernels
from rl_envs.minirts.batch import LEARNED_KEYS
from rl_envs.minirts.factored import C_ATTACK, C_CONTINUE, C_GATHER, C_IDLE, MAX_LISTED, UNIT_FACTORS
from rl_envs.minirts.game import GAME_NAMES
from rl_envs.minirts.symbols import ARMY, FACTORY, NUM_CELLS, NUM_TYPES, PEASANT
from rl_envs.minirts.text import team_view
from rl_envs.minirts.tick import RUNNING
from rl_models.planners.planner import Planner
from rl_models.planners.reward_book import RewardBook
from rl_models.planners.rewards import DesignedReward, RewardDesigner, RewardSource, Transitions
from rl_models.planners.rounds import NextRound
from tune_experiments.play.captions import Line, with_lines
from tune_experiments.red.commanded_rts import NARRATED, CommandedRts
from tune_experiments.red.commanders import ASKING
from tune_experiments.red.decisions import per_unit_actions
from tune_experiments.red.trials import team_commands
from tune_experiments.sama.minirts.config import Sight
from tune_experiments.sama.minirts.domain import get_domain
from tune_experiments.sama.minirts.scene import describe_scene
from tune_experiments.sama.minirts.subgoals import OF_TEXT, SUBGOALS, WAIT
from tune_experiments.sama.planning import game_code
from tune_experiments.sama.play import PlayAdapter

_CLOCK = ("key", "episode", "step")


@dataclass(frozen=True)
class GameSnapshot:
    """Snapshot of one game."""

    record: np.void
    learned: Array
    others: Arrays
    clock: tuple[int, ...]


class PlannedRts(CommandedRts):
    """B games whose agents get a planner's commands.

    Args:
        num_worlds: B.
        first_world: Number of the first world in the run.
        sight: The planner's information: `fair`, what the team sees or remembers; `full`, all enemies and resources; or
            `types`, as `fair`, but with the types that the enemy's script trains instead of recently seen enemies. The
            executor never sees through the fog.
        is_read: Whether a network needs observations; a step without them costs less.
        game: Further arguments of `CommandedRts`.

    Attributes:
        seen: The game's own observations now, name -> [B, N, ...].
        headlines: Line of text above the image of each game.
    """

    def __init__(
        self, num_worlds: int = 1, first_world: int = 0, *, sight: Sight = "fair", is_read: bool = False, **game: Any
    ) -> None:
        if sight not in get_args(Sight):
            raise ValueError(f"sight must be one of {', '.join(get_args(Sight))}, got {sight!r}")
        self.sight, self._is_read = sight, is_read
        self.seen: Arrays = {}
        self.headlines = [""] * num_worlds
        super().__init__(num_worlds, first_world, **{"commander": NARRATED} | game)
        if not is_read:
            self.observation_spec = {}

    def states(self, worlds: Sequence[int]) -> list[str]:
        """Text of each of these worlds, as the planner sees it."""
        rows = np.asarray(worlds, int)
        seen = self._seen_by_planner(rows)
        found = []
        for place, world in enumerate(rows):
            view = team_view(seen, place)
            if self.sight == "types":
                view["enemy_average"] = np.zeros(NUM_TYPES)
                view["enemy_average"][self.enemies_trained(int(world))] = 1
            found.append(describe_scene(view, int(self.state["episode_length"][world])))
        return found

    def snapshot_game(self, world: int) -> GameSnapshot:
        """Snapshot of one game."""
        games = self.games
        others = {
            name: value[world].copy() for name, value in games.items() if name not in (*GAME_NAMES, *LEARNED_KEYS)
        }
        clock = tuple(int(getattr(self.chance, name)[world]) for name in _CLOCK)
        return GameSnapshot(games.records[world].copy(), games.learned[world].copy(), others, clock)

    def restore_game(self, world: int, snapshot: GameSnapshot) -> None:
        """Restore one game; the others continue. `observe` shows it afterwards."""
        games = self.games
        games.records[world] = snapshot.record
        games.learned[world] = 0
        if len(snapshot.learned) == games.learned.shape[1]:
            games.learned[world] = snapshot.learned
        else:  # the tables have grown meanwhile
            kernels.copy_learned(snapshot.learned, games.learned[world])
        for name, value in snapshot.others.items():
            games[name][world] = value
        for name, moment in zip(_CLOCK, snapshot.clock, strict=True):
            getattr(self.chance, name)[world] = moment

    def render(self, index: int = 0) -> Array:
        """The game from above, with the headline above it, [H, W, 3] uint8."""
        return with_lines(super().render(index), [Line(self.headlines[index])])

    def _checked(self, actions: Any) -> Any:
        """Unchecked: a script's 351 factors are valid, and checking them takes as long as the game."""
        return super()._checked(actions) if self._is_read else actions

    def _observe(self, rows: Array) -> Arrays:
        seen = super(CommandedRts, self)._observe(rows)
        if len(rows) == self.num_worlds:
            self.seen = seen
        return self._as_read(seen, rows) if self._is_read else {}

    def _seen_by_planner(self, rows: Array) -> Arrays:
        if self.sight != "full":
            return {name: value[rows] for name, value in self.seen.items()}
        oracle = self.games["oracle"]
        before = oracle[rows, 0].copy()
        oracle[rows, 0] = True
        try:
            return super(CommandedRts, self)._observe(rows)
        finally:
            oracle[rows, 0] = before


def compute_features(seen: Arrays) -> dict[str, Any]:
    """Features of B games for the tests of sub-goals, from observations name -> [B, N, ...].

    Returns:
        `team` [B, 16] finished objects of the team by type, `own` [B, N, 16] of each agent, `idle`, `gathering` and
        `attacking` [B, N], `seen` and `money` [B].
    """
    kinds, commands, owned = seen["own_type"].astype(int), seen["command_type"], seen["owned"]
    peasants, fighters = owned & (kinds == PEASANT), owned & np.isin(kinds, ARMY)
    own = (owned[..., None] & (kinds[..., None] == np.arange(NUM_TYPES))).sum(2)
    return {
        "team": own.sum(1),
        "own": own,
        "idle": (peasants & (commands == C_IDLE)).sum(2),
        "gathering": (peasants & (commands == C_GATHER)).sum(2),
        "attacking": (fighters & (commands == C_ATTACK)).sum(2),
        "seen": np.rint(seen["count"][:, 0, :2].sum(1) * NUM_CELLS).astype(int),
        "money": seen["money"][:, 0].astype(int),
    }


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
    """Actions, name -> [B, N], of the scripted executor of the 17 phrases (`red/trials.py`)."""
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
        """See `PlayAdapter`, [B, N] bool, of the present state; an agent that has completed its command gets none."""
        self._moment = self._now()
        asked = np.where(is_playing[:, None] & ~self._reached, self._commands, -1)
        fresh = self._book.reached(asked, self._before, self._moment)
        self._reached |= fresh
        for index, agent in np.argwhere(fresh).tolist():
            if not OF_TEXT[self._book.texts[self._commands[index, agent]]].lasts:
                self.world.tell(index, agent, "")
        return self._reached

    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """See `PlayAdapter`, [B] bool: the game is over."""
        return done

    def outcome(self, played: Array) -> Arrays:
        """Winner, and time in decisions and ticks, name -> [B]."""
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


def open_book(source: RewardSource, planner: Planner) -> RewardBook:
    """Tests of all sub-goals; close it, because tests in Python run in processes."""
    designed = [] if source == "builtin" else design_rewards(planner)
    return RewardBook(get_domain(len(planner.domain.agents)), designed, operator.itemgetter("texts"))


def design_rewards(planner: Planner) -> list[DesignedReward]:
    """Tests by the planner's model, except for waiting, which is always reached."""
    domain = get_domain(len(planner.domain.agents))
    play, code = transitions(len(domain.agents)), game_code(domain.source)
    designer = RewardDesigner(planner.caller, domain, play, planner.manual, code)
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
    return Transitions.join(befores, afters, texts)


def _chain(world: int, number: int) -> str:
    """The command of a world's agents in a round: the factory of one type, or the type itself."""
    kind = ARMY[world % len(ARMY)]
    return ASKING[FACTORY[kind] if number % 2 else kind]
