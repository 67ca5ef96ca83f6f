"""The frozen lake with commands, its trained methods, and their tests with every planner.

In `CommandedLake` each agent's command is a cell. An agent at this cell, or with the command to stay, does not move
until its next command: the game has no action for that. `SubgoalLake` has single rounds with random cells to learn
from. State beyond the lake's: `commands` [2], cells, or side * side for `stay`, and `reached` [2].

A test of `sama` combines a planner (by knowledge of its rules, or by method of naming goals) and an executor: the
learned policy, or a scripted walker. A fall ends the round, and after the last retry the episode, so a planner finds
holes by trial and error.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.frozen_lake_spread.text import describe
from rl_envs.frozen_lake_spread.world import ACTIONS, NUM_AGENTS, FrozenLakeSpread
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.networks.parts import Part
from rl_models.planners.rounds import NextRound
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.parts_team import parts_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests, TrialPlan
from tune_experiments.experiment.supervised_stage import NoTraining
from tune_experiments.sama.frozen_lake.config import BY_RULES, LakeConfig
from tune_experiments.sama.frozen_lake.domain import Knowledge, command_texts
from tune_experiments.sama.planned_experiment import planning_metrics
from tune_experiments.sama.planning import make_planning_loop
from tune_experiments.sama.play import Executor, PlannedPlay, PlayAdapter, learned_executor


class CommandedLake(FrozenLakeSpread):
    """The frozen lake with sub-goals; observation `command` is the agent's own sub-goal."""

    def __init__(self, num_worlds: int = 1, first_world: int = 0, **arguments: Any) -> None:
        super().__init__(num_worlds, first_world, **{"observations": ("one_hot",)} | arguments)
        side = self.lake.side
        self._number = {text: number for number, text in enumerate(command_texts(side))}
        self.observation_spec |= {"command": ArraySpec((2 * side + 1,), "uint8", 0, 1, "row, column, or to rest")}

    def command(self, worlds: Sequence[int], commands: Sequence[Sequence[str]]) -> None:
        """Give the agents of K worlds new sub-goals, two texts for each world."""
        rows = np.asarray(worlds, int)
        self.state["commands"][rows] = [[self._number[text] for text in texts] for texts in commands]
        self.state["reached"][rows] = False
        self._judge()

    def describe_state(self, index: int) -> str:
        """State of world `index` as text."""
        state = self.state
        return describe(self.lake, state["cells"][index], state["target"][index], int(state["episode_length"][index]))

    def _judge(self) -> Array:
        """Agents that have just reached their sub-goals, [B, 2] bool."""
        state = self.state
        is_there = (state["commands"] == self.lake.side**2) | (state["commands"] == state["cells"])
        fresh = is_there & ~state["out"] & ~state["reached"]
        state["reached"] |= fresh
        return np.asarray(fresh)

    def _moves(self) -> Array:
        return np.asarray(super()._moves() & ~self.state["reached"])

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        result = super()._advance(actions, recorded)
        self._judge()
        return result

    def _observe(self, rows: Array) -> Arrays:
        seen, side = super()._observe(rows), self.lake.side
        command = np.where(self.state["reached"][rows], side**2, self.state["commands"][rows])
        rests = command == side**2
        row, column = np.divmod(np.where(rests, 0, command), side)
        target = np.concatenate([np.eye(side)[row], np.eye(side)[column]], -1) * ~rests[..., None]
        return seen | {"command": np.concatenate([target, rests[..., None]], -1).astype(np.uint8)}

    def _blank_state(self, num_worlds: int) -> Arrays:
        each = (num_worlds, NUM_AGENTS)
        own = {"commands": np.full(each, self.lake.side**2, np.int64), "reached": np.zeros(each, bool)}
        return super()._blank_state(num_worlds) | own

    def _state_bounds(self) -> Mapping[str, tuple[int, int]]:
        return {"commands": (0, self.lake.side**2)}


class SubgoalLake(CommandedLake):
    """Rounds from random states with random sub-goals."""

    metric_names = ("reached", "fell")

    def __init__(self, num_worlds: int = 1, first_world: int = 0, **arguments: Any) -> None:
        super().__init__(num_worlds, first_world, **arguments)
        self._ice = np.flatnonzero(~self.lake.holes)

    def _begin(self, rows: Array) -> None:
        drawn = self.chance.uniforms(2 * NUM_AGENTS, rows)
        cells = self._ice[(drawn * len(self._ice)).astype(int)]
        self.state["cells"][rows], self.state["commands"][rows] = cells[:, :NUM_AGENTS], cells[:, NUM_AGENTS:]
        self.state["reached"][rows] = cells[:, :NUM_AGENTS] == cells[:, NUM_AGENTS:]

    def _moves(self) -> Array:
        """Moves of agents; in a round a target is like any other cell."""
        return np.asarray(~self.state["out"] & ~self.state["reached"])

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        before = self.state["reached"].copy()
        super()._advance(actions, recorded)
        self.state["target"][:] = 0
        fresh = self.state["reached"] & ~before
        is_over = np.asarray(self.state["reached"].all(1) | self.state["out"].any(1))
        is_late = np.asarray((self.state["episode_length"] + 1 >= self.max_episode_steps) & ~is_over)
        return fresh.astype(float), is_over, is_late

    def _episode_metrics(self, rows: Array) -> Arrays:
        reached, fell = self.state["reached"][rows].all(1), self.state["out"][rows].any(1)
        return {"reached": reached.astype(float), "fell": fell.astype(float)}


LEFT, DOWN, RIGHT, UP = range(len(ACTIONS))


def walker(world: CommandedLake) -> Array:
    """Scripted actions [B, N]: first along the column, then along the row."""
    side, state = world.lake.side, world.state
    row, column = np.divmod(state["cells"].astype(int), side)
    to_row, to_column = np.divmod(np.where(state["commands"] < side**2, state["commands"], state["cells"]), side)
    vertical = np.where(to_row > row, DOWN, UP)
    return np.where(to_row != row, vertical, np.where(to_column > column, RIGHT, LEFT))


class LakePlay(PlayAdapter[CommandedLake]):
    """The play loop's adapter of B lakes."""

    metrics = ("success", "arrivals", "fell", "rounds", "undone_steps")
    undone_metric = "undone_steps"

    def states(self, worlds: Sequence[int]) -> list[str]:
        """States as text; with an agent in a hole, the state at the round's start."""
        is_lost = self.is_lost()
        return [self._start(index) if is_lost[index] else self.world.describe_state(index) for index in worlds]

    def begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        """Send both agents to cells, or let them stay."""
        self.world.command(list(rounds), [each.plan.commands for each in rounds.values()])

    def is_lost(self) -> Array:
        """Whether an agent has fallen in, [B] bool."""
        return np.asarray(self.world.state["out"].any(1))

    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """See `PlayAdapter`, [B] bool: both agents are on targets, or time is up."""
        return done & ~self.is_lost()

    def outcome(self, played: Array) -> Arrays:
        """Agents on targets, and whether one has fallen in, name -> [B]."""
        arrivals = (self.world.state["target"] > 0).sum(1)
        return {"success": arrivals == NUM_AGENTS, "arrivals": arrivals, "fell": self.is_lost()}

    def _start(self, index: int) -> str:
        cells, target, length = (self._starts[name][index] for name in ("cells", "target", "episode_length"))
        return describe(self.world.lake, cells, target, int(length))


SAMA, MAPPO, WALKER = "sama", "mappo", "walker"
VALIDATION_SEED, TEST_SEED = 101, 202
RANDOM_COMMANDS = "random commands"
_RULES: dict[str, tuple[Knowledge, dict[str, Any]]] = {
    "sama blind": ("blind", {}),
    "sama remembering": ("remembering", {}),
    "sama privileged": ("privileged", {}),
    "deps": ("blind", {"goals": "deps"}),
    "plan4mc": ("blind", {"goals": "plan4mc"}),
    RANDOM_COMMANDS: ("blind", {"random_share": 1.0, "reflections": 0}),
}
"""Planner by rule -> knowledge of its rules, and changed settings; without reflection for random commands."""
PLANNERS = tuple(_RULES)
_TOLD: tuple[Knowledge, ...] = ("blind", "privileged")
"""Knowledge of other planners, one test each."""
GAME = "frozen_lake_spread"
BY = ", "
"""Between planner and executor in the condition of a test."""


def plan(config: LakeConfig, method: str, seed: int) -> TrialPlan:
    """One method with one seed; the walker is not trained, and its policy is not used."""
    learned = TrialPlan(
        make_world=functools.partial(make_world, config, method),
        build_policy=functools.partial(build_policy, config, method, seed),
        objective=make_objective(config.learner, config.learner.entropy_schedule(config.budget_env_steps)),
        optimiser=optimiser_settings(config.learner, config.learner.learning_rate, config.budget_env_steps),
        seed=seed,
        **config.plan_arguments(),
        validate=functools.partial(validate, config, method),
    )
    if method != WALKER:
        return learned
    uniform = functools.partial(uniform_team, NUM_AGENTS, len(ACTIONS))
    fixed: dict[str, Any] = {"validate": lambda policy: {}, "make_algorithm": NoTraining, "learns": False}
    return dataclasses.replace(learned, build_policy=uniform, **fixed)


def make_world(config: LakeConfig, method: str, num_worlds: int = 1, first_world: int = 0) -> FrozenLakeSpread:
    """Training worlds: the game itself, or rounds with random sub-goals."""
    if method == MAPPO:
        return FrozenLakeSpread(num_worlds, first_world, observations=("one_hot",), **config.world())
    return SubgoalLake(num_worlds, first_world, max_episode_steps=config.max_round_steps, **config.world())


def build_policy(config: LakeConfig, method: str, seed: int) -> TeamPolicy:
    """The team of a method with its initial weights: agents observe both cells, and in `sama` their own commands."""
    spec = make_world(config, method).observation_spec
    parts = [Part(key, spec[key].shape) for key in ("one_hot", "command") if key in spec]
    kind: Any = "mappo" if method == MAPPO else "ippo"
    return parts_team(config.network, parts, NUM_AGENTS, len(ACTIONS), kind, seed=seed)


def validate(config: LakeConfig, method: str, policy: TeamPolicy) -> Episodes:
    """Greedy episodes in the method's training worlds."""
    with closing(make_world(config, method, config.valid_episodes)) as world:
        return Evaluation(world, policy, is_greedy=True).run(VALIDATION_SEED)


def evaluate(config: LakeConfig, method: str, policy: TeamPolicy, trial_folder: Path | None = None) -> Tests:
    """The game itself and random play, or every planner with the learned team and with the walker."""
    if method == MAPPO:
        uniform = uniform_team(NUM_AGENTS, len(ACTIONS))
        played, random = play_game(config, policy, is_greedy=True), play_game(config, uniform, is_greedy=False)
        return {Tested(GAME): played, Tested(GAME, method=RANDOM): random}
    executors: dict[str, Executor] = {"learned": learned_executor(policy, is_greedy=True), WALKER: walker}
    return {
        Tested(GAME, f"{planner}{BY}{name}"): planned(config, planner, executor, trial_folder)
        for planner in planner_names(config)
        for name, executor in executors.items()
        if name == WALKER or method != WALKER
    }


def planner_names(config: LakeConfig) -> list[str]:
    """Planners of the tests: rules, and the configured planner with each kind of knowledge."""
    others = [] if config.planner == "offline" else [f"{config.planner} {variant}" for variant in _TOLD]
    return [*PLANNERS, *others]


def play_game(config: LakeConfig, policy: TeamPolicy, is_greedy: bool) -> Episodes:
    """Whole episodes without a planner; metrics of the world."""
    world = FrozenLakeSpread(config.test_episodes, observations=("one_hot",), **config.world())
    found = Evaluation(world, policy, is_greedy=is_greedy).run(TEST_SEED)
    return {name: found[name] for name in ("success", "arrivals", "fell")}


def planned(config: LakeConfig, planner: str, executor: Executor, trial_folder: Path | None = None) -> Episodes:
    """Whole episodes with one of `planner_names`; only one episode if everything is deterministic."""
    has_chance = config.slippery or planner == RANDOM_COMMANDS
    episodes = config.test_episodes if has_chance else 1
    knowledge, changes = _RULES.get(planner, (planner.rpartition(" ")[2], None))
    asked = config if changes is None else dataclasses.replace(config, **BY_RULES | changes)
    loop = make_planning_loop(asked, knowledge, TEST_SEED, trial_folder)
    world = CommandedLake(episodes, **config.world())
    found = PlannedPlay(LakePlay(world), executor, loop, config.max_round_steps).run(TEST_SEED)
    return found if changes is not None else found | planning_metrics(loop, config, episodes)
