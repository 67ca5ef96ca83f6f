"""Overcooked (Carroll et al., NeurIPS 2019; SAMA's experiments): two chefs make onion soup, by the older rules.

The chefs put three onions into a pot, let them cook for 20 steps, take the soup with a dish and serve it at the hatch.
The team serves as many soups as it can in 400 steps. A chef's nose shows where it looks, and what it holds lies on it.

| | |
|---|---|
| agents | `agent_0`, `agent_1`, interacting in this order within a step |
| actions | 6: north, south, east, west, stay, interact; with `actions` "adjacent" or "any" H * W actions, the cell to go to (`relocation.py`); with a kind for each chef, both have H * W, of which the first six are those of a chef with "primitive" |
| observation `lossless` | [26, H, W] uint8, the planes of `observation.PLANES`; with `observations` including `lossless` |
| observation `symbols` | [3, H, W] uint8, place, thing and chef in each cell as numbers of `symbols.SYMBOLS`; with `observations` including `symbols` |
| observation `legal`, `decides` | [H * W] bool and [] bool, only with relocation: what the chef can choose, and whether it chooses now |
| rewards | to both chefs: 20 for each served soup; to each chef, times `shaping`: 3 for an onion into a pot, 3 for a useful dish from the store, 5 for a soup from a pot |
| episode end | truncated: `max_episode_steps` (400) is reached, so a learner bootstraps the value; with `bootstrap_at_limit=False` the limit is a termination. Nothing else ends an episode |
| arguments | `layout` (cramped_room; a name of `layouts.LAYOUTS`, or rows), `actions` (primitive; or two, one for each chef), `observations` (lossless), `shaping` (0), `shaping_steps` (None: constant; else env steps of a world, over all its episodes, in which shaping falls to 0), `max_relocation_steps` (20), `max_episode_steps` (400), `bootstrap_at_limit` (True), `arrays` (numpy; or torch, which computes the same on its `device`), `device` (cpu; or cuda) |
| recorded draws | none: the game is deterministic |
| state for `restore` | cells as row * W + column: `agent_cells` [2], `headings` [2] (0 to 3, as the actions), `held` [2] (0 nothing, 1 onion, 2 dish, 3 soup), `contents` [H * W] (`words.py`: counters hold a thing, pots 8 + onions, or 11 + steps cooked); optional: `soups`, `shaped` [2] (points so far), `episode_length`; with relocation `targets` [2] (-1: none), `since` [2]. As text: `text.py` |
| metrics | `soups`, number of served soups; `shaped_return`, shaped points of both chefs, unweighted |
| version history | v0: first version; rules and planes replay the original engine without a mismatch |
"""  # noqa: E501 (a table row is one line)

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from rl_envs.core.arguments import MOST_STEPS, finite, flags, steps, whole
from rl_envs.core.array_library import get_array_library
from rl_envs.core.metrics import COUNT
from rl_envs.core.spec import Array, Arrays, ArraySpec
from rl_envs.core.world import World, module_story
from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.observation import Lossless, SymbolGrid
from rl_envs.overcooked.relocation import NO_TARGET, REACHES, Relocation
from rl_envs.overcooked.rules import Outcome, Rules
from rl_envs.overcooked.text import describe
from rl_envs.overcooked.words import ACTIONS, CHEF_COLOURS, FULL, LEGEND, NOTHING, POT, READY, SOUP, STAY, THINGS

SOUP_REWARD = 20
MAX_EPISODE_STEPS = 400
PRIMITIVE = "primitive"
ACTION_KINDS = (PRIMITIVE, *REACHES)
OBSERVATIONS = ("lossless", "symbols")


class Overcooked(World):
    """B kitchens of the layout `kitchen` with two chefs each; the table above documents them."""

    story = module_story(__name__)
    agents = ("agent_0", "agent_1")
    colours = CHEF_COLOURS
    legend = LEGEND
    metric_names: tuple[str, ...] = ("soups", "shaped_return")
    metric_ranges = MappingProxyType(dict.fromkeys(metric_names, COUNT))
    array_libraries: tuple[str, ...] = ("numpy", "torch")
    starts_alike = True

    def __init__(
        self,
        num_worlds: int = 1,
        first_world: int = 0,
        *,
        layout: str | Sequence[str] = "cramped_room",
        actions: str | Sequence[str] = "primitive",
        observations: Sequence[str] = ("lossless",),
        shaping: float = 0.0,
        shaping_steps: int | None = None,
        max_relocation_steps: int = 20,
        max_episode_steps: int = MAX_EPISODE_STEPS,
        bootstrap_at_limit: bool = True,
        arrays: str = "numpy",
        device: str = "cpu",
    ) -> None:
        """Build B worlds; the table above documents the arguments."""
        kinds = tuple(actions) if isinstance(actions, Sequence) and not isinstance(actions, str) else (actions, actions)
        _check(kinds, observations)
        if shaping_steps is not None:
            whole("shaping_steps", shaping_steps, 1, MOST_STEPS)
        whole("max_relocation_steps", max_relocation_steps, 1, MOST_STEPS)
        max_episode_steps = steps(max_episode_steps)
        finite(shaping=shaping)
        flags(bootstrap_at_limit=bootstrap_at_limit)
        kitchen = self.kitchen = Kitchen(layout)
        self.max_episode_steps = max_episode_steps
        num_worlds = whole("num_worlds", num_worlds, 1)
        super().__init__(num_worlds, first_world, get_array_library(arrays, device))
        xp = self.xp
        self._shaping = shaping
        # An array, because a GPU multiplies by the reciprocal of a number, which rounds differently.
        self._shaping_steps = None if shaping_steps is None else xp.asarray([float(shaping_steps)])
        self._bootstrap_at_limit = bootstrap_at_limit
        self._rules = Rules(self.kitchen, num_worlds, xp)
        self._lossless = Lossless(kitchen, num_worlds, max_episode_steps, xp) if "lossless" in observations else None
        self._symbols = SymbolGrid(kitchen, xp) if "symbols" in observations else None
        self._first_cells, self._first_contents = xp.asarray(self.kitchen.starts), xp.asarray(self.kitchen.contents)
        observers = {"lossless": self._lossless, "symbols": self._symbols}
        self.observation_spec = {key: each.spec for key, each in observers.items() if each is not None}
        self._relocation: Relocation | None = None
        self.action_names: tuple[str, ...] = ACTIONS
        self._primitive = [chef for chef, kind in enumerate(kinds) if kind == PRIMITIVE]
        if len(self._primitive) < len(kinds):
            (reach,) = set(kinds) - {PRIMITIVE}
            self._relocation = Relocation(self.kitchen, reach, max_relocation_steps, xp)
            cells = ["row {}, column {}".format(*self.kitchen.place(c)) for c in range(self.kitchen.size)]
            if self._primitive:  # the first six have two meanings
                cells[: len(ACTIONS)] = [f"{name} / {cell}" for name, cell in zip(ACTIONS, cells, strict=False)]
            self.action_names = tuple(cells)
            legal = ArraySpec((self.kitchen.size,), "bool", 0, 1, "what the chef can choose")
            self.observation_spec |= {
                "legal": legal,
                "decides": ArraySpec((), "bool", 0, 1, "whether the chef chooses now"),
            }
        self.action_spec = len(self.action_names)

    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        state, xp = self.state, self.xp
        outcome = self._play(actions)
        state["soups"] += outcome.served
        state["shaped"] += outcome.shaped
        reward = xp.empty(actions.shape, dtype=xp.float64)
        reward[...] = (SOUP_REWARD * outcome.served)[:, None]
        if self._shaping:
            reward += self._shaping_now()[:, None] * outcome.shaped
        return reward, *self._endings(xp.zeros(self.num_worlds, dtype=bool), self._bootstrap_at_limit)

    def _play(self, actions: Array) -> Outcome:
        if self._relocation is None:
            return self._rules.play(self.state, actions)
        keys, before = self._relocation.actions(self.state, actions), self.state["agent_cells"] + 0
        for chef in self._primitive:  # a cell that cannot be chosen is to stay
            keys[:, chef] = self.xp.where(actions[:, chef] < len(ACTIONS), actions[:, chef], STAY)
        outcome = self._rules.play(self.state, keys)
        self._relocation.settle(self.state, keys, before)
        for chef in self._primitive:
            self.state["targets"][:, chef] = NO_TARGET
        return outcome

    def _shaping_now(self) -> Array:
        """[B] float64, weight of shaped points in this step."""
        if self._shaping_steps is None:
            return self.xp.zeros(self.num_worlds, dtype=self.xp.float64) + self._shaping
        lived = self.chance.episode * self.max_episode_steps + self.chance.step - 1
        return self._shaping * (1 - self.xp.astype(lived, self.xp.float64) / self._shaping_steps).clip(0.0)

    def _duration(self) -> Array:
        return super()._duration() if self._relocation is None else self.state["since"] + 0

    def _observe(self, rows: Array) -> Arrays:
        state = (
            self.state if len(rows) == self.num_worlds else {name: array[rows] for name, array in self.state.items()}
        )
        observations = {}
        if self._lossless is not None:
            observations["lossless"] = self._lossless.observe(state)
        if self._symbols is not None:
            cells = state["agent_cells"] if self._relocation is None else self._relocation.appearance(state)
            observations["symbols"] = self._symbols.observe(state, cells)
        if self._relocation is not None:
            legal = observations["legal"] = self._relocation.legal[state["agent_cells"]]
            for chef in self._primitive:
                legal[:, chef] = self.xp.arange(self.kitchen.size) < len(ACTIONS)
            observations["decides"] = self._relocation.decides(state)
        return observations

    def describe(self, index: int = 0) -> str:
        """State of world `index` as text; `text.read_states` reads it back."""
        return describe(self.kitchen, self._world_state(index), 0)

    def render(self, index: int = 0) -> Array:
        """Image of world `index`, [H, W, 3] uint8."""
        from rl_envs.overcooked import render  # only rendering needs Pillow

        return render.draw(self.kitchen, {name: value[0] for name, value in self._world_state(index).items()})

    def _world_state(self, index: int) -> Arrays:
        """State of a single world, [1, ...], in NumPy."""
        return {name: self.xp.to_numpy(value[index, None]) for name, value in self.state.items()}

    def _begin(self, rows: Array) -> None:
        self.state["agent_cells"][rows] = self._first_cells
        self.state["contents"][rows] = self._first_contents

    def _blank_state(self, num_worlds: int) -> Arrays:
        xp, chefs = self.xp, (num_worlds, self.num_agents)
        own: Arrays = {name: xp.zeros(chefs, dtype=xp.int64) for name in ("agent_cells", "headings", "held", "shaped")}
        own |= {
            "contents": xp.zeros((num_worlds, self.kitchen.size), dtype=xp.uint8),
            "soups": xp.zeros(num_worlds, dtype=xp.int64),
        }
        relocating = {} if self._relocation is None else self._relocation.blank(chefs)
        return super()._blank_state(num_worlds) | own | relocating

    def _needed_state(self) -> set[str]:
        return {"agent_cells", "headings", "held", "contents"}

    def _episode_metrics(self, rows: Array) -> Arrays:
        return {
            "soups": self.xp.astype(self.state["soups"][rows], self.xp.float64),
            "shaped_return": self.xp.astype(self.state["shaped"][rows].sum(1), self.xp.float64),
        }

    def _state_bounds(self) -> dict[str, tuple[int, int]]:
        return {
            "agent_cells": (0, self.kitchen.size - 1),
            "headings": (0, STAY - 1),
            "held": (0, len(THINGS) - 1),
            "contents": (0, READY),
            "targets": (NO_TARGET, self.kitchen.size - 1),
            **dict.fromkeys(("since", "soups", "shaped"), (0, MOST_STEPS)),
        }

    def _check_state(self, state: Arrays) -> None:
        """Refuse positions and contents that are impossible in this kitchen."""
        kitchen, cells = self.kitchen, state["agent_cells"]
        if not kitchen.is_floor[cells].all() or (cells[..., 0] == cells[..., -1]).any():
            raise ValueError("restore: agent_cells must be two different floor cells")
        contents, own = state["contents"], kitchen.contents
        fits = np.select([own == NOTHING, own == POT], [contents <= SOUP, contents >= POT], contents == own)
        if not fits.all():
            row, column = kitchen.place(np.argwhere(~fits)[0][-1])
            raise ValueError(
                f"restore: contents at row {row}, column {column} do not belong there in {kitchen.name}: counters hold "
                f"0 .. {SOUP}, pots {POT} .. {READY} ({FULL} and more are full), everything else is as in the kitchen"
            )


def _check(kinds: Sequence[str], observations: Sequence[str]) -> None:
    relocating = [kind for kind in kinds if kind != PRIMITIVE]
    if len(kinds) != 2 or any(kind not in ACTION_KINDS for kind in kinds) or relocating[1:] not in ([], relocating[:1]):
        given = kinds[0] if len(kinds) == 2 and kinds[0] == kinds[1] else tuple(kinds)
        raise ValueError(
            f"actions must be one of {', '.join(ACTION_KINDS)}, or one for each of the two chefs, who cannot relocate "
            f"in different ways; got {given!r}"
        )
    if not observations or set(observations) - set(OBSERVATIONS):
        raise ValueError(f"observations must be some of {', '.join(OBSERVATIONS)}, got {observations!r}")
