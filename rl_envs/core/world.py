"""The contract of every world: B games stepped at once, in NumPy or, where a world offers it, in torch.

There is one implementation of a world, and B = 1 is the scalar game. A subclass fills in five hooks (`_begin`,
`_advance`, `_observe`, `_derive`, `_episode_metrics`) and keeps everything that its future depends on in `self.state`;
resets, random numbers, snapshots, restoring, auto-reset and checks of the actions live here.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from rl_envs.core.actions import check_recorded, checked_actions
from rl_envs.core.arguments import MOST_STEPS, whole
from rl_envs.core.array_library import NUMPY, ArrayLibrary
from rl_envs.core.chance import Chance
from rl_envs.core.errors import ArraysError
from rl_envs.core.metrics import MetricRange
from rl_envs.core.restoring import TEXTS, check_bounds, given_arrays, given_texts
from rl_envs.core.spec import (
    Actions,
    ActionSpec,
    Array,
    Arrays,
    ArraySpec,
    EntitySpec,
    TextSpec,
)
from rl_envs.core.texts import TextStore

Info: TypeAlias = dict[str, Any]
StepResult: TypeAlias = tuple[Arrays, Array, Array, Array, Info]

_CHANCE = "chance_"
_CLOCK = ("chance_key", "chance_episode", "chance_step")
_COUNTS = {"chance_episode": (0, 2**62), "chance_step": (0, 2**62), "episode_length": (0, MOST_STEPS)}
"""Lowest and highest value of the counters of every world."""


class World(ABC):
    """B independent games of N agents each.

    Attributes:
        agents: names of the N agents, in the order of every `N` axis.
        observation_spec: key -> what one agent sees; observations are dicts of `[B, N, ...]` arrays.
        text_spec: further keys, which hold rows of a token table instead of values.
        action_spec: number of actions, or for factored actions each part's number of choices or its bounds.
        recorded_draws: names that `step(..., chance=...)` accepts, with shapes in the world's header.
        metric_names: keys of `info["episode"]` besides `return` and `length`.
        metric_ranges: metric -> its range, for metrics that have one.
        tables: constant arrays that ids in observations index; read-only, because worlds share them.
        text_tables: observation key -> name of the table [D, L] of tokens that its ids index; 0 is padding.
        entity_spec: keys of the entities that agents see; None if there are none, or if they are not distinguished.
        state: name -> `[B, ...]` array; with the clock, everything that the future depends on.
        texts: observation key -> the texts to which its row numbers refer.
        colours: the agents' colours in images, red, green and blue from 0 to 255.
        legend: object -> its colour in images; empty for images with their own labels.
        story: what the agents must do and how they win, in a few sentences.
        array_libraries: values of the argument `arrays`. A world with "torch" takes it, and `device`, too; it raises
            `ArraysError` for other arguments that torch does not offer, and training then steps it in NumPy, as it
            does a subclass that does not declare "torch" itself.
        starts_alike: whether all episodes begin with the same state and observations, which saves time in torch.
        auto_resets: whether an ended world begins its next episode within the same step, or at `next_episode`.
        restarted: [B] bool, worlds in which the last `restore` had to begin a new episode; None if it is exact.
    """

    agents: tuple[str, ...]
    observation_spec: dict[str, ArraySpec]
    text_spec: Mapping[str, TextSpec] = MappingProxyType({})
    text_tables: Mapping[str, str] = MappingProxyType({})
    entity_spec: EntitySpec | None = None
    action_spec: ActionSpec
    recorded_draws: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    metric_ranges: Mapping[str, MetricRange] = MappingProxyType({})
    colours: Sequence[tuple[int, int, int]] = ()
    legend: Mapping[str, tuple[int, int, int]] = MappingProxyType({})
    story: str = ""
    max_episode_steps: int
    array_libraries: tuple[str, ...] = ("numpy",)
    starts_alike: bool = False
    auto_resets: bool = True
    restarted: Array | None = None

    def __init__(self, num_worlds: int = 1, first_world: int = 0, xp: ArrayLibrary = NUMPY) -> None:
        """Prepare B worlds; `reset` or `restore` must come before the first step.

        Args:
            num_worlds: B.
            first_world: number of the first of them in the run. So two runners play exactly the worlds of a single one.
            xp: array library of state, actions and results, one of `array_libraries`.
        """
        if xp.name not in self.array_libraries:
            raise ArraysError(f"arrays={xp.name!r} is not offered by {type(self).__name__}: leave it out")
        self.xp = xp
        self.num_worlds = whole("num_worlds", num_worlds, 1)
        self.first_world = whole("first_world", first_world, 0, 2**62)
        self.chance = Chance(0, self.first_world, self.num_worlds, xp)
        self._all_rows: Array = xp.arange(self.num_worlds)
        self._first: tuple[Arrays, Arrays] | None = None
        self.state: Arrays = {}
        self.tables = {}
        self.texts = {key: TextStore(spec) for key, spec in self.text_spec.items()}
        self._is_running = False

    @property
    def tables(self) -> Arrays:
        """Name -> constant array [...], read-only."""
        return self._tables

    @tables.setter
    def tables(self, tables: Arrays) -> None:
        self._tables = {name: table.view() for name, table in tables.items()}
        for table in self._tables.values():
            table.flags.writeable = False

    @property
    def num_agents(self) -> int:
        """N."""
        return len(self.agents)

    @property
    def gives_tensors(self) -> bool:
        """Whether arrays are torch's tensors, and the info of a step has the form for these."""
        return self.xp.has_fixed_shapes

    def reset(self, seed: int) -> Arrays:
        """Begin the first episode of every world.

        Args:
            seed: with `first_world` and the world's arguments it determines every random outcome.

        Returns:
            observations, dict of `[B, N, ...]`.

        Raises:
            ValueError: the seed is no whole number.
        """
        self.chance = Chance(whole("seed", seed), self.first_world, self.num_worlds, self.xp)
        self._is_running = True
        self._start(self._all_rows)
        return self.observe()

    def next_episode(self, worlds: Array | None = None) -> Arrays:
        """End the present episode and begin the next one, with the random numbers of that episode.

        Args:
            worlds: [K] indices of the worlds; all by default.

        Returns:
            observations of all worlds, dict of `[B, N, ...]`.

        Raises:
            RuntimeError: before `reset` or `restore`.
            ValueError: `worlds` is a mask, or has an index that does not exist.
        """
        self._require_game()
        rows = self._all_rows
        if worlds is not None:
            for row in worlds:
                whole("an index in worlds", row, 0, self.num_worlds - 1)
            rows = self.xp.asarray(worlds)
        self.chance.next_episode(rows)
        self._start(rows)
        return self.observe()

    def step(self, actions: Actions, chance: Arrays | None = None) -> StepResult:
        """Advance every world by one env step; worlds that end begin their next episode at once (`auto_resets`).

        Args:
            actions: [B, N] int, or a dict of such arrays where `action_spec` is a dict. Entries of agents that do
                not act at this step, or have left the game, are ignored and may be any number.
            chance: recorded outcomes of the draws that the world would make in this step (`recorded_draws`).

        Returns:
            observations: dict of `[B, N, ...]`; in a world that ended, already those of its next episode.
            reward: [B, N] float64.
            terminated: [B] bool, the game is over.
            truncated: [B] bool, the time limit stopped the game; the final state still has a value.
            info: `duration` [B, N] int32, env steps since the agent's last decision; `done_worlds` [K] worlds that
                ended; and for those `final_obs` (dict of `[K, N, ...]`), `final_state` and `episode` (`return` [K, N],
                `length` [K] and the world's own metrics, [K] float64 each). In torch, where no shape depends on
                values: `duration`, `ended` [B] bool, and `final_obs` and `episode` of all worlds, [B, ...], which
                count where `ended` holds.

        Raises:
            RuntimeError: before `reset` or `restore`.
            ValueError: actions or recorded draws of the wrong shape, name or range; the world is as it was before.
        """
        self._require_game()
        self._check_recorded(chance or {})
        checked = self._checked(actions)
        self.chance.next_step()
        reward, terminated, truncated = self._advance(checked, chance or {})
        self.state["episode_return"] += reward
        self.state["episode_length"] += 1
        observations = self.observe()
        if self.xp.has_fixed_shapes:
            return self._with_restarts(observations, reward, terminated, truncated)
        done = np.flatnonzero(terminated | truncated)
        info: Info = {"duration": self._duration(), "done_worlds": done}
        if done.size:
            info["final_obs"] = {key: value[done] for key, value in observations.items()}
            info["final_state"] = {name: value[done] for name, value in self.state.items()}
            info["episode"] = self._ended(done)
        if done.size and self.auto_resets:
            self.chance.next_episode(done)
            self._start(done)
            for key, value in self._observe(done).items():
                observations[key][done] = value
        return observations, reward, terminated, truncated, info

    def _with_restarts(self, observations: Arrays, reward: Array, terminated: Array, truncated: Array) -> StepResult:
        """The result of a step with fixed shapes: every world begins an episode, which is kept where one ended."""
        ended = terminated | truncated
        info: Info = {"duration": self._duration(), "ended": ended}
        info |= {"final_obs": observations, "episode": self._ended(self._all_rows)}
        if self.auto_resets:
            self.chance.next_episode_where(ended)
            state, seen = first = self._first or self._starts_of_all()
            if self.starts_alike and not self.xp.is_capturing():  # what a capture computes is there at a replay only
                self._first = first
            for name, value in self.state.items():
                self.xp.copyto(value, state[name], where=_like(ended, value))
            if self.starts_alike:
                observations = {k: self.xp.where(_like(ended, one), seen[k], one) for k, one in observations.items()}
            else:
                self._derive(self._all_rows, frozenset(self.state))
                observations = self.observe()
        return observations, reward, terminated, truncated, info

    def _starts_of_all(self) -> tuple[Arrays, Arrays]:
        """State of all worlds if each began an episode now, name -> [B, ...]; if alike [1, ...], and observations."""
        kept, self.state = self.state, self._blank_state(self.num_worlds)
        self._begin(self._all_rows)
        seen = self.observe() if self.starts_alike else {}
        state, self.state, first = self.state, kept, slice(1 if self.starts_alike else None)
        return {name: value[first] for name, value in state.items()}, {key: value[first] for key, value in seen.items()}

    def observe(self) -> Arrays:
        """The present observations, dict of fresh `[B, N, ...]` arrays."""
        return self._observe(self._all_rows)

    def compact_texts(self) -> None:
        """Remove the texts that are no longer needed. Row numbers change, also in `state`: call `observe` again."""
        for key, store in self.texts.items():
            kept = self.state.get(key, np.empty(0, np.int32))
            renumbered = store.compact(kept)
            if key in self.state:
                self.state[key] = renumbered.astype(kept.dtype)

    def snapshot(self) -> Arrays:
        """Everything the future depends on: name -> `[B, ...]` NumPy copy. `restore` of it is exact.

        It is the same in any array library. Worlds with composed text add their token tables, `texts/KEY` -> `[D, L]`.
        """
        present = _clock(self.chance) | self.state
        copies = {name: np.array(self.xp.to_numpy(value)) for name, value in present.items()}
        copies[_CLOCK[0]] = copies[_CLOCK[0]].view(np.uint64)
        return copies | {f"{TEXTS}{key}": store.table.copy() for key, store in self.texts.items()}

    def restore(self, state: Arrays) -> Arrays:
        """Put all B worlds into a given state.

        Args:
            state: the names that the world's header documents, each `[B, ...]`, and token tables as `snapshot` gives
                them. Clock, running returns and anything else left out start afresh.

        Returns:
            observations, dict of `[B, N, ...]`.

        Raises:
            ValueError: unknown name, missing name, wrong shape, a number that the name's type does not hold as it is
                (0.7 where integers are kept, or NaN), a state that this world cannot be in, or rows of texts without
                their table; the world is as it was before.
        """
        blank = self._blank_state(self.num_worlds)
        if self.xp is not NUMPY:  # it is checked and completed on the host
            blank = {name: self.xp.to_numpy(value) for name, value in blank.items()}
        unknown = sorted(set(state) - set(blank) - set(_CLOCK) - {f"{TEXTS}{key}" for key in self.texts})
        missing = sorted(self._needed_state() - set(state))
        if unknown or missing:
            known = sorted(blank)
            raise ValueError(f"{type(self).__name__}.restore: unknown {unknown}, missing {missing}; known {known}")
        clock = _clock(Chance(0, self.first_world, self.num_worlds))
        given = given_arrays(state, clock | blank)
        check_bounds(given, {**_COUNTS, **self._state_bounds()})
        self._check_state(given)
        texts = given_texts(state, given, self.texts)
        for name, value in given.items():
            (clock | blank)[name][...] = value
        before, stores = (self.chance, self.state, self._is_running), {k: one.copy() for k, one in self.texts.items()}
        try:
            self._put(blank, clock, texts, frozenset(state))
            return self._within_bounds(self.observe())
        except Exception:
            self.chance, self.state, self._is_running = before
            for key, store in stores.items():
                self.texts[key].take(store)
            if self._is_running:
                self._derive(self._all_rows, frozenset(self.state))
            raise

    def _put(self, state: Arrays, clock: Arrays, texts: Arrays, given: frozenset[str]) -> None:
        """Go to a checked state [B, ...] of the host, with its clock and the token tables of some texts [D, L]."""
        if self.xp is not NUMPY:
            state = {name: self.xp.asarray(value) for name, value in state.items()}
        for key, table in texts.items():
            self.texts[key].load(table)
        self.chance = Chance(0, self.first_world, self.num_worlds, self.xp)
        for name, value in clock.items():
            setattr(self.chance, name.removeprefix(_CHANCE), self.xp.asarray(value))
        self.state, self._is_running = state, True
        self._derive(self._all_rows, given)

    def _within_bounds(self, observations: Arrays) -> Arrays:
        """The same observations [B, N, ...]; ValueError if they show that a restored state is impossible."""
        specs, on_host = self.observation_spec.items(), self.xp.to_numpy
        if wrong := sorted(key for key, spec in specs if not spec.contains(on_host(observations[key]))):
            raise ValueError(f"restore: agents would observe {wrong} beyond its bounds: no game is in this state")
        return observations

    def prepare(self, steps: int) -> None:  # noqa: B027 (most worlds need nothing)
        """Prepare on the host what the next env steps need of it, in torch, where a captured step cannot ask for it.

        A captured step is valid until `reset` or `restore`; capture it anew after these.

        Args:
            steps: number of replays until the next call, the largest before the capture. A step that is not captured
                calls this itself if necessary, also between replays.
        """

    def render(self, index: int = 0) -> Array:
        """Image of world `index`, [H, W, 3] uint8; NotImplementedError where a world does not render."""
        raise NotImplementedError("this environment draws no images")

    def picture(self, index: int = 0) -> Array:
        """Image [H, W, 3] uint8 of a world for a page that shows its texts beside it; by default that of `render`."""
        return self.render(index)

    def agent_colours(self) -> Sequence[tuple[int, int, int]]:
        """The agents' colours in the images of `render`: N times red, green and blue from 0 to 255, or none."""
        return self.colours[: self.num_agents]

    def action_starts(self, agent: int) -> Mapping[str, int]:
        """Number by which the environment calls an agent's first choice, for each part of an action that it has.

        A world counts from 0, and a custom environment from where its spaces begin. An action without parts is
        `action`.
        """
        return dict.fromkeys(self.action_spec if isinstance(self.action_spec, dict) else ["action"], 0)

    def close(self) -> None:  # noqa: B027 (most worlds hold nothing)
        """Release resources such as processes; the world is not stepped again."""

    @abstractmethod
    def _begin(self, rows: Array) -> None:
        """Write the start of a new episode into `self.state[...][rows]`, using `self.chance`."""

    @abstractmethod
    def _advance(self, actions: Any, recorded: Arrays) -> tuple[Array, Array, Array]:
        """Play one env step in every world, by int64 actions: reward [B, N] float64, terminated [B], truncated [B]."""

    @abstractmethod
    def _observe(self, rows: Array) -> Arrays:
        """Observations of the given worlds as fresh arrays, dict of `[K, N, ...]`."""

    @abstractmethod
    def _blank_state(self, num_worlds: int) -> Arrays:
        """Zeroed state arrays with their final types; call `super()._blank_state` and add to it."""
        return {
            "episode_return": self.xp.zeros((num_worlds, self.num_agents), dtype=self.xp.float64),
            "episode_length": self.xp.zeros(num_worlds, dtype=self.xp.int32),
        }

    def _needed_state(self) -> set[str]:
        """Names of the state arrays that `restore` requires."""
        return set()

    def _state_bounds(self) -> Mapping[str, tuple[int, int]]:
        """State name -> lowest and highest value that `restore` accepts."""
        return {}

    def _draw_bounds(self) -> Mapping[str, tuple[tuple[int, ...], int, int]]:
        """Name of a draw -> its shape, lowest and highest value (of bools 0 and 1), which are checked before a step."""
        return {}

    def _check_state(self, state: Arrays) -> None:  # noqa: B027 (optional hook)
        """Raise ValueError for an impossible state; `state` holds the given arrays, with the right shapes and types."""

    def _derive(self, rows: Array, given: frozenset[str]) -> None:  # noqa: B027 (optional hook)
        """Recompute derived state after a restore, or restarts with fixed shapes; `given` names what was supplied."""

    def _episode_metrics(self, rows: Array) -> Arrays:
        """Metrics of the episodes that just ended in these worlds, [K] float64 each (`metric_names`)."""
        return {}

    def _duration(self) -> Array:
        """[B, N] int32, env steps since each agent's last decision; 1 where every agent decides at every step."""
        return self.xp.ones((self.num_worlds, self.num_agents), dtype=self.xp.int32)

    def _endings(self, is_over: Array, bootstrap_at_limit: bool) -> tuple[Array, Array]:
        """Which worlds this step ends, in `_advance`: terminated [B] bool and truncated [B] bool."""
        stopped = (self.state["episode_length"] + 1 >= self.max_episode_steps) & ~is_over
        return (is_over, stopped) if bootstrap_at_limit else (is_over | stopped, self.xp.zeros_like(stopped))

    def _start(self, rows: Array) -> None:
        if not self.state:
            self.state = self._blank_state(self.num_worlds)
        for name, blank in self._blank_state(len(rows)).items():
            self.state[name][rows] = blank
        self._begin(rows)

    def _ended(self, rows: Array) -> Arrays:
        metrics = {
            "return": self.state["episode_return"][rows],
            "length": self.xp.astype(self.state["episode_length"][rows], self.xp.float64),
        }
        return metrics | self._episode_metrics(rows)

    def _checked(self, actions: Actions) -> Actions:
        shape = (self.num_worlds, self.num_agents)
        return checked_actions(actions, self.action_spec, shape, self.xp, self.observe)

    def _require_game(self) -> None:
        if not self._is_running:
            raise RuntimeError("this world has no game yet: call reset(seed) or restore(state) before step")

    def _check_recorded(self, recorded: Arrays) -> None:
        check_recorded(type(self).__name__, recorded, self.recorded_draws, self._draw_bounds)


def _like(mask: Array, array: Array) -> Array:
    """A mask [B] with as many axes as an array [B, ...]."""
    return mask.reshape(-1, *[1] * (array.ndim - 1))


def _clock(chance: Chance) -> Arrays:
    return dict(zip(_CLOCK, (chance.key, chance.episode, chance.step), strict=True))


def module_story(module: str) -> str:
    """The second paragraph of a module's docstring in one line, for `World.story`; empty without one."""
    paragraphs = (sys.modules[module].__doc__ or "").split("\n\n")
    return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""
