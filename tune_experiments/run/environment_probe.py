"""An environment in one episode of random play: agents, spaces, ranges, masks, who leaves, limit, rewards, costs.

A run probes its environment before it starts, `doctor` afterwards. All values of a custom environment are checked.
"""

from __future__ import annotations

import contextlib
import gc
import os
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from rl_envs import World
from rl_envs.core.random_play import random_legal_actions
from rl_envs.core.spec import Array, Arrays, NumbersSpec
from rl_envs.wrappers.custom.values import space_in_words
from rl_envs.wrappers.custom.world import PettingZooWorld
from rl_models.team_world import MakeWorld

__all__ = ["Probe", "probe"]

_COPIES, _BATCHED_COPIES = 2, 32
"""Worlds that are played: environments of other packages one after the other, our own in one batch."""
_SECONDS = 10.0
_MOST_EPISODES, _MORE_ENV_STEPS = 16, 200
"""Where one episode may mislead, episodes that are played, and env steps beyond the first one."""
_NAME_WIDTH, _WIDTH = 14, 100
_MAX_NAMES = 8
_LEGAL, _ALIVE, _DECIDES = "legal", "alive", "decides"
_TOLD_ELSEWHERE = ("agent", _LEGAL, _ALIVE, _DECIDES)
"""Observation keys that have lines of their own."""


@dataclass(frozen=True)
class SeenArray:
    """One key of the observations.

    Attributes:
        key, shape, dtype: of one agent's array.
        low, high: what the environment declares.
        least, most: what was seen.
    """

    key: str
    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    least: float
    most: float

    def __str__(self) -> str:
        shape = f"[{', '.join(map(str, self.shape))}] " if self.shape else ""
        return (
            f"{self.key} {shape}{self.dtype}, declared {_number(self.low)} to {_number(self.high)}, "
            f"seen {_number(self.least)} to {_number(self.most)}"
        )


@dataclass(frozen=True)
class Probe:
    """What was seen.

    Attributes:
        agents: their names.
        observations: keys with arrays.
        texts: keys with texts, each as a phrase.
        spaces: agent -> its observation space in words, where they differ.
        actions: number of actions of each agent; of actions that are no such number, the space of each agent in words,
            or in a world of `rl_envs` that of each part.
        legal_share: share of the actions that were legal; None where there are no masks.
        env_steps: length of the first copy's episode; where it takes longer than 10 seconds, what was played of it.
        ended: how it ended, `terminated` or `truncated`; empty where it was not played to its end.
        left: agent -> env step after which it left before the others.
        waits: whether an agent did not act at some env steps.
        limit: env steps after which an episode is cut.
        limit_from: attribute of the environment that says so; empty where the limit is assumed; None where the world
            or the user sets it.
        lowest_reward, highest_reward: of one agent at one env step.
        team_return: sum of the rewards of the first copy.
        is_zero_sum: whether agents got rewards that always summed to 0.
        env_steps_per_second: env steps per second of one process.
        megabytes: memory of one copy; None where the system does not tell.
        copies: how many were played.
        is_own: it is a `World` and no environment of another package.
    """

    agents: tuple[str, ...]
    observations: tuple[SeenArray, ...]
    texts: tuple[str, ...]
    spaces: dict[str, str]
    actions: dict[str, int | str]
    legal_share: float | None
    env_steps: int
    ended: str
    left: dict[str, int]
    waits: bool
    limit: int
    limit_from: str | None
    lowest_reward: float
    highest_reward: float
    team_return: float
    is_zero_sum: bool
    env_steps_per_second: float
    megabytes: float | None
    copies: int
    is_own: bool

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Name and content of each line of the table; a continuation line has no name."""
        spaces = [f"(of {name}: {space})" for name, space in [*self.spaces.items()][:_MAX_NAMES]]
        observations = [*map(str, self.observations), *self.texts, *spaces] or ["none"]
        return [
            ("agents", f"{len(self.agents)}: {_listed(self.agents)}"),
            *zip(["observations", *[""] * (len(observations) - 1)], observations, strict=True),
            ("actions", self._actions()),
            ("leaving", _listed([f"{name} after env step {step}" for name, step in self.left.items()]) or "nobody"),
            ("episode", f"{self.env_steps:,} env steps, {self.ended or f'cut after {_SECONDS:.0f} s'}"),
            ("time limit", f"{self.limit:,} env steps, {self._limit_from()}"),
            ("rewards", f"{_number(self.lowest_reward)} to {_number(self.highest_reward)}, {self._sum()}"),
            ("speed", f"{self.env_steps_per_second:,.0f} env steps a second, {self.copies} copies in one process"),
            ("memory", "not known" if self.megabytes is None else f"{_megabytes(self.megabytes)} a copy"),
        ]

    def lines(self) -> list[str]:
        """The table, in lines of 100 characters."""
        pad = " " * (_NAME_WIDTH + 2)
        return [
            line
            for name, said in self.rows
            for line in textwrap.wrap(said, _WIDTH, initial_indent=f"  {name:{_NAME_WIDTH}}", subsequent_indent=pad)
        ]

    def _actions(self) -> str:
        counts = set(self.actions.values())
        several = [
            f"{name}: {one}" if isinstance(one, str) else f"{one} ({name})" for name, one in self.actions.items()
        ]
        each = str(counts.pop()) if len(counts) == 1 else _listed(several)
        masks = "no masks" if self.legal_share is None else f"{self.legal_share:.0%} legal on average"
        return f"{each}, {masks}{', and agents that wait choose nothing' * self.waits}"

    def _limit_from(self) -> str:
        if self.limit_from is None:
            return "as it is set"
        return f"from {self.limit_from}" if self.limit_from else "assumed, for the environment declares none"

    def _sum(self) -> str:
        return "the team's sum is always 0" if self.is_zero_sum else f"team return {self.team_return:.3g}"


def probe(make_world: MakeWorld, seconds: float = _SECONDS) -> Probe:
    """Play random legal actions until the first copy's episode ends, with all checks, or until the time is over.

    If agents could leave and nobody does, or all rewards add up to 0, it plays on for some episodes: an agent may leave
    seldom, and in a short game one wins by chance what another loses.

    Args:
        make_world: builds worlds, in this process.
        seconds: most time to play.

    Raises:
        CustomEnvError: what the environment gives does not fit.
    """
    with contextlib.ExitStack() as stack:

        def opened(copies: int) -> World:
            world = cast(World, make_world(num_worlds=copies, first_world=0))
            stack.enter_context(contextlib.closing(world))
            return world

        world, copies = opened(_COPIES), _COPIES
        if not isinstance(world, PettingZooWorld):
            copies = _BATCHED_COPIES
            world = opened(copies)
        seen = _Seen(world)
        seen.play(seconds)
        before = _resident_megabytes()
        opened(copies).reset(0)
        after = _resident_megabytes()
        return seen.probe(None if before is None or after is None else max(0.0, after - before) / copies)


@dataclass
class _Seen:
    """Random play in some worlds, and what it showed."""

    world: World
    least: dict[str, float] = field(default_factory=dict)
    most: dict[str, float] = field(default_factory=dict)
    rewards: list[Array] = field(default_factory=list)
    legal: list[float] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    waits: bool = False
    ended: str = ""
    first_env_steps: int = 0
    episodes: int = 0
    seconds: float = 0.0

    def play(self, seconds: float) -> None:
        """Play to the end of the first copy's episode, and on where that may mislead."""
        draws, began = np.random.default_rng(0), time.monotonic()
        obs, stepping, length = self.world.reset(0), 0.0, np.zeros(self.world.num_worlds, int)
        self._look(obs)
        while (not self.ended or self._may_mislead(obs)) and time.monotonic() - began < seconds:
            actions, at = random_legal_actions(self.world, obs, draws), time.perf_counter()
            obs, reward, terminated, truncated, info = self.world.step(actions)
            stepping += time.perf_counter() - at
            self.rewards.append(reward)
            self._look(obs)
            over = terminated | truncated
            self.first_env_steps += not self.ended
            if over[0]:
                self.ended = self.ended or ("terminated" if terminated[0] else "truncated")
            self.episodes += int(over.sum())
            length += 1
            self._leaving(obs, over, info, length)
            length[over] = 0
        self.seconds = stepping

    def _may_mislead(self, obs: Arrays) -> bool:
        """Whether more episodes may show an agent that leaves, or that the team's sum is not always 0."""
        more = len(self.rewards) - self.first_env_steps
        if self.episodes >= _MOST_EPISODES or more >= _MORE_ENV_STEPS or self.world.num_agents == 1:
            return False
        return (_ALIVE in obs and not self.left) or self._is_zero_sum()

    def _is_zero_sum(self) -> bool:
        rewards = np.array(self.rewards)
        is_paid = self.world.num_agents > 1 and np.abs(rewards).max(initial=0.0) > 0
        return bool(is_paid and np.abs(rewards.sum(-1)).max(initial=0.0) < 1e-9)

    def _look(self, obs: Arrays) -> None:
        for key, value in obs.items():
            if key in self.world.observation_spec and value.size:
                self.least[key] = min(self.least.get(key, np.inf), float(value.min()))
                self.most[key] = max(self.most.get(key, -np.inf), float(value.max()))
        self.legal += [float(obs[_LEGAL].mean())] if _LEGAL in obs else []
        self.waits |= _DECIDES in obs and not obs[_DECIDES].all()

    def _leaving(self, obs: Arrays, over: Array, info: dict[str, Any], length: Array) -> None:
        """Note who is not in the game while others are; at the last env step others must still have been in it."""
        if _ALIVE not in obs:
            return
        alive = obs[_ALIVE].astype(bool)
        if over.any():
            final = info["final_obs"][_ALIVE].astype(bool)
            alive[info["done_worlds"]] = final | ~final.any(1, keepdims=True)
        for copy, agent in np.argwhere(~alive).tolist():
            self.left.setdefault(self.world.agents[agent], int(length[copy]))

    def probe(self, megabytes: float | None) -> Probe:
        """The record."""
        world, rewards = self.world, np.array(self.rewards)
        return Probe(
            agents=tuple(world.agents),
            observations=tuple(self._arrays()),
            texts=tuple(self._texts()),
            spaces=self._spaces(),
            actions=self._actions(),
            legal_share=float(np.mean(self.legal)) if self.legal else None,
            env_steps=self.first_env_steps,
            ended=self.ended,
            left=self.left,
            waits=self.waits,
            limit=world.max_episode_steps,
            limit_from=_limit_from(world),
            lowest_reward=float(rewards.min()) if rewards.size else 0.0,
            highest_reward=float(rewards.max()) if rewards.size else 0.0,
            team_return=float(rewards[: self.first_env_steps, 0].sum()) if rewards.size else 0.0,
            is_zero_sum=self._is_zero_sum(),
            env_steps_per_second=len(self.rewards) * world.num_worlds / max(self.seconds, 1e-9),
            megabytes=megabytes,
            copies=world.num_worlds,
            is_own=not isinstance(world, PettingZooWorld),
        )

    def _arrays(self) -> Iterator[SeenArray]:
        bounds = getattr(self.world, "bounds", {})
        for key, spec in self.world.observation_spec.items():
            if key in _TOLD_ELSEWHERE:
                continue
            low, high = (np.asarray(one) for one in bounds.get(key, (spec.low, spec.high)))
            least, most = self.least.get(key, 0.0), self.most.get(key, 0.0)
            yield SeenArray(key, spec.shape, spec.dtype, float(low.min()), float(high.max()), least, most)

    def _texts(self) -> Iterator[str]:
        for key, spec in self.world.text_spec.items():
            rows = f"{spec.rows[0]} texts" if spec.rows else "a text"
            seen = f"{len(self.world.texts[key].table):,} different ones seen"
            yield f"{key} {rows} of up to {spec.length} tokens, {seen}"
        for key, table in self.world.text_tables.items():
            yield f"{key}: ids of the {len(self.world.tables[table]):,} texts of the table {table}"

    def _spaces(self) -> dict[str, str]:
        if not isinstance(self.world, PettingZooWorld):
            return {}
        said = [space_in_words(space) for space in self.world.declaration.observation_spaces]
        return dict(zip(self.world.agents, said, strict=True)) if len(set(said)) > 1 else {}

    def _actions(self) -> dict[str, int | str]:
        spec, declared = self.world.action_spec, None
        if isinstance(self.world, PettingZooWorld):
            layout = self.world.declaration.action_layout
            declared = layout.counts if layout.is_plain else map(layout.in_words, range(self.world.num_agents))
        elif isinstance(spec, dict):
            return {name: part_in_words(part) for name, part in spec.items()}
        return dict(zip(self.world.agents, declared or [spec] * self.world.num_agents, strict=True))  # type: ignore[list-item]


def part_in_words(part: int | NumbersSpec) -> str:
    """A part of an action: its number of choices, or its numbers and their bounds."""
    if isinstance(part, int):
        return f"{part} choices"
    low, high = _number(float(part.low.min())), _number(float(part.high.max()))
    return f"{part.low.shape[1]} numbers from {low} to {high}"


def _limit_from(world: World) -> str | None:
    if not isinstance(world, PettingZooWorld) or world.has_given_limit:
        return None
    return world.declaration.limit[0] if world.declaration.limit else ""


def _resident_megabytes() -> float | None:
    """Memory of this process; None where it is unknown."""
    gc.collect()
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return None


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1e30 else ("inf" if value > 0 else "-inf")


def _megabytes(size: float) -> str:
    return f"{size:,.0f} MB" if size >= 1 else "less than 1 MB"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
