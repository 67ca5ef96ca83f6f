"""RTFM's protocol: greedy play on training assignments, on unseen ones, in other rooms, and with wrong documents.

Unseen assignments are in two parts: `valid` for choosing settings, and `eval`, the test, on which nothing is tuned.
Every win rate is beside those of random play and of the best play without reading. With shuffled documents the team
gets another episode's document: the win rate of a team that reads falls to that of play without reading.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rl_envs import World
from rl_envs.rtfm.arena import Arena
from rl_envs.rtfm.grid import NUM_MOVES
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
from tune_experiments.rtfm.best_play import win_probabilities
from tune_experiments.rtfm.config import (
    REFERENCES,
    SHUFFLED,
    TEST,
    UNSEEN,
    LettersTask,
    RunConfig,
    Task,
    column,
    make_world,
)

Changes: TypeAlias = dict[str, Any]
"""Arguments of worlds, over those of a task."""
TEST_SEED, VALIDATION_SEED = 84, 86
"""Seeds that fix all episodes, with the worlds' arguments; validation episodes are not test episodes."""


def evaluate(
    config: RunConfig, policy: TeamPolicy, is_greedy: bool = True, played: dict[str, Changes] | None = None
) -> Tests:
    """Episodes of each column (`played`, by default `columns`: name -> arguments of its worlds), then the references.

    Random play is tested with `is_greedy` False.
    """
    played = columns(config) if played is None else played
    found = {as_tested(name): play_both(config, policy, name, changes, is_greedy) for name, changes in played.items()}
    for size in dict.fromkeys((config.task.size, *config.test_sizes)):
        known = references(config.task, size, config.test_episodes)
        world = column(UNSEEN, size)
        found |= {Tested(world, method=player): dict(episodes) for player, episodes in known.items()}
    return found


def as_tested(name: str) -> Tested:
    """Name of a column's test; wrong documents are those of unseen assignments."""
    split, _, room = name.rpartition("_")
    return Tested(f"{UNSEEN}_{room}", SHUFFLED) if split == SHUFFLED else Tested(name)


def columns(config: RunConfig) -> dict[str, Changes]:
    """Column of the table -> arguments of its worlds, over those of the task."""
    own = config.task.size
    known = {column(split, own): {"split": split, "size": own} for split in ("train", "valid")}
    unseen = {column(UNSEEN, size): {"split": TEST, "size": size} for size in config.test_sizes}
    return known | unseen | {column(SHUFFLED, own): {"split": TEST}}


def play_both(config: RunConfig, policy: TeamPolicy, name: str, changes: Changes, is_greedy: bool = True) -> Episodes:
    """Test episodes of greedy play in a column, with the wins and the fights by item of sampled play."""
    way = WithWrongDocuments if name.startswith(SHUFFLED) else Evaluation
    episodes, sampled = (
        play(make_world(config.task, config.test_episodes, **changes), policy, way, greedy)
        for greedy in (is_greedy, False)
    )
    return episodes | {f"{name}_sampled": sampled[name] for name in Arena.metric_names}


def validate(config: RunConfig, policy: TeamPolicy) -> Episodes:
    """Metrics on training assignments, and win rates on those of validation, which are in no test.

    `unseen_win_rate` is with the right documents, `shuffled_win_rate` with another episode's.
    """

    def played(split: str, way: type[Evaluation] = Evaluation) -> Episodes:
        return play(make_world(config.task, config.valid_episodes, split=split), policy, way, seed=VALIDATION_SEED)

    seen, right, wrong = played("train"), played("valid"), played("valid", WithWrongDocuments)
    return seen | {"unseen_win_rate": right["win_rate"], "shuffled_win_rate": wrong["win_rate"]}


def play(
    world: World,
    policy: TeamPolicy,
    way: Callable[..., Evaluation] = Evaluation,
    is_greedy: bool = True,
    seed: int = TEST_SEED,
) -> Episodes:
    """The first episode of every world; `return` is the team's sum."""
    episodes = way(world, policy, is_greedy=is_greedy).run(seed)
    return episodes | {"return": episodes["return"].sum(1)}


class WithWrongDocuments(Evaluation):
    """An evaluation in which every episode has the first document of its neighbour."""

    def __init__(self, world: World, policy: TeamPolicy, **options: Any) -> None:
        super().__init__(world, policy, **options)
        self._documents, self._store = np.zeros((world.num_worlds, world.num_agents), np.int32), world.texts["document"]

    def _seen(self) -> dict[str, np.ndarray]:
        neighbours = np.roll(self._obs["document"], 1, axis=0)
        self._documents = np.where(self._is_first[:, None], neighbours, self._documents)
        return super()._seen() | {"document": self._documents}

    def _begin_texts(self) -> list[str]:
        """See `Collector`: the world drops unused documents, but those of the episodes are kept."""
        shown = self._store.look_up(self._documents)
        keys = super()._begin_texts()
        self._documents = self._store.add(shown.reshape(-1, shown.shape[-1])).reshape(self._documents.shape)
        return keys


@functools.lru_cache(maxsize=8)
def references(task: Task, size: int, count: int) -> dict[str, Episodes]:
    """Player -> episodes, or for computed optima the win probability in each of some layouts."""
    world = make_world(task, count, split=TEST, size=size)
    found = {RANDOM: play(world, uniform_team(world.num_agents, NUM_MOVES), is_greedy=False)}
    if isinstance(task, LettersTask):
        for name, reads in ((REFERENCES[1], False), (REFERENCES[2], True)):
            found[name] = {"win_rate": win_probabilities(size, reads, task.max_episode_steps)}
    return found
