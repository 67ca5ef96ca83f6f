"""RTFM's protocol: greedy play on training assignments, on unseen ones, in other rooms, and with wrong documents.

Unseen assignments are in two parts: `valid` for choosing settings, and `eval`, the test, on which nothing is tuned.
Every win rate is beside those of random play and of the best play without reading. With shuffled documents the team
gets another episode's document: the win rate of a team that reads falls to that of play without reading.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rl_envs import World
from rl_envs.rtfm.arena import Arena
from rl_envs.rtfm.grid import NUM_MOVES, WALKS, make_grid
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
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

LAYOUTS = 40
"""Starts over which the probability is averaged."""
_ITEMS = 3
_SEED = 85
_ENOUGH = 1e-5
Bag = tuple[int, tuple[bool, ...]]
"""Item that is held (-1: none), and for each item whether it is still on the floor."""


@dataclass(frozen=True)
class Layout:
    """Starts of K episodes, in cells of `Grid.inside`: `agent` [K], `dragon` [K], `items` [K, 3], the right one first.

    The last item has the dragon's letter.
    """

    agent: np.ndarray
    dragon: np.ndarray
    items: np.ndarray


def win_probabilities(size: int, reads: bool, max_episode_steps: int) -> np.ndarray:
    """Win probabilities of the best player of rock-paper-scissors in each of some random layouts, [K] float64.

    A reader knows which item beats the dragon, which moves first. Without reading, an agent can only exclude the item
    with the dragon's own letter; exchanging the other two does not change its chances, so its optimum is half of the
    largest probability of meeting the dragon with one of them.
    """
    layout = random_layouts(size, LAYOUTS)
    values, _ = solve(size, layout.items, 1 if reads else 2, max_episode_steps)
    start = values[np.arange(LAYOUTS), 0, layout.agent, layout.dragon]
    return start if reads else start / 2


def random_layouts(size: int, count: int) -> Layout:
    """Agent, dragon and items in different cells, uniformly."""
    generator = np.random.default_rng(_SEED)
    cells = generator.random((count, len(make_grid(size).inside))).argsort(1)
    return Layout(cells[:, 0], cells[:, 1], cells[:, 2:5])


def solve(size: int, items: np.ndarray, winning: int, max_episode_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Probability of meeting the dragon with one of the first `winning` items, and the moves that reach it.

    `items` [K, 3] are cells of the items at the start. Returns [K, bags, C, C] by bag (0 is the start's), agent's and
    dragon's place; float64, and int64 moves.
    """
    target, walks = _target(size), _walks(size)
    bags = all_bags()
    wins = np.array([0 <= held < winning for held, _ in bags], float)
    places = np.arange(len(target))
    layouts, after = np.arange(len(items))[:, None, None], bags_after(bags, items, len(target))
    is_caught = target.T[:, None, :] == places[None, :, None]  # [moves, agent, dragon]
    values = np.zeros((len(items), len(bags), len(target), len(target)))
    for _ in range(max_episode_steps):
        met = values.copy()
        met[:, :, places, places] = wins[None, :, None]
        arrived = met[layouts, after, places]  # [K, bags, agent's new place, dragon's new place]
        choices = np.zeros((NUM_MOVES, *values.shape))
        for dragon_move in range(NUM_MOVES):
            chance, caught = walks[..., dragon_move], is_caught[dragon_move]
            for move in range(NUM_MOVES):
                fought = arrived[:, :, target[:, move]][..., target[:, dragon_move]]
                choices[move] += chance * np.where(caught, wins[None, :, None, None], fought)
        before, values = values, choices.max(0)
        if abs(values - before).max() < _ENOUGH:
            break
    return values, choices.argmax(0)


def all_bags() -> list[Bag]:
    """All combinations of held item and items on the floor; the start's first."""
    floors = [tuple(bool(number >> item & 1) for item in range(_ITEMS)) for number in range(2**_ITEMS)]
    held = [(item, floor) for item in range(_ITEMS) for floor in floors if not floor[item]]
    return [(-1, (True,) * _ITEMS), *held]


def bags_after(bags: list[Bag], items: np.ndarray, places: int) -> np.ndarray:
    """The bag after a step onto a cell, [K, bags, places] int64: a second item destroys the first.

    `items` [K, items] int are the cells of the items.
    """
    after = np.tile(np.arange(len(bags))[None, :, None], (len(items), 1, places))
    for number, (_, floor) in enumerate(bags):
        for item in range(_ITEMS):
            if floor[item]:
                left = (*floor[:item], False, *floor[item + 1 :])
                after[np.arange(len(items)), number, items[:, item]] = bags.index((item, left))
    return after


def _target(size: int) -> np.ndarray:
    """[C, 5] int64, cells that moves lead to, in cells of `Grid.inside`."""
    grid = make_grid(size)
    return np.searchsorted(grid.inside, grid.target[grid.inside])


def _walks(size: int) -> np.ndarray:
    """[agent, dragon, 5], probability of each move of the dragon."""
    grid = make_grid(size)
    agent, dragon, draws = np.meshgrid(grid.inside, grid.inside, np.arange(WALKS), indexing="ij")
    cells = grid.walk(dragon, agent, draws)
    leads = grid.target[grid.inside][None, :, None] == cells[..., None]
    return (leads & grid.is_legal[grid.inside][None, :, None]).mean(2)


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
