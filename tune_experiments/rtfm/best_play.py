"""Largest win probability of rock-paper-scissors, with and without reading, by value iteration over its rules.

A reader knows which item beats the dragon. Without reading, an agent can only exclude the item with the dragon's own
letter; exchanging the other two does not change its chances, so it wins half of the episodes in which it meets the
dragon with one of them. Its optimum is half of the largest probability of that.

The dragon moves first. `reads=False` is half of the same problem with two winning items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rl_envs.rtfm.grid import NUM_MOVES, WALKS, make_grid

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
    """Win probabilities of the best player in each of some random layouts, [K] float64."""
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
    """[K, bags, places] int64, the bag after a step onto a cell: a second item destroys the first."""
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
