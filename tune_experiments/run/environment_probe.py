"""Probe of an environment by an episode of random play, with all checks, before a run starts and by `doctor`."""

import contextlib
import gc
import math
import os
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from rl_envs import World
from rl_envs.core.errors import CustomEnvError
from rl_envs.core.random_play import random_legal_actions
from rl_envs.core.spec import Actions, Array, Arrays, NumbersSpec
from rl_envs.core.world import StepResult
from rl_envs.testing.contract import EpisodeCheck, check_observations, require
from rl_envs.testing.recorder import Record, begin, difference, part, play, with_texts
from rl_envs.wrappers.custom.values import space_repr
from rl_envs.wrappers.custom.world import PettingZooWorld
from rl_models.team_world import MakeWorld

_COPIES, _BATCHED_COPIES = 2, 32
"""Numbers of copies: of environments of other packages, stepped one by one, and of batched worlds."""
_MAX_EPISODES, _MAX_EXTRA_ENV_STEPS = 16, 200
"""Limits of further play where one episode may mislead: episodes, and env steps after the first one."""
_REPEATED_ENV_STEPS = 20
"""Env steps that are played twice from one seed or snapshot; not in an environment that makes fewer in a second."""
_ROUNDING = 1e-6
"""Largest sum of rewards that counts as 0, as a share of the largest one, for rounding in float32."""
_IGNORED_SEED = "two episodes from reset(seed=0) differ, so no run can be repeated: seed all random numbers in reset"
_SHARED_STATE = (
    "copies share state, because one plays otherwise beside another than alone: let each have its own, not one of the "
    "class, of a default argument, of a module, or of np.random"
)
_NAME_WIDTH, _WIDTH = 14, 100
_MAX_NAMES = 8
_LEGAL, _ALIVE, _DECIDES = "legal", "alive", "decides"
_KEYS_WITH_OWN_LINES = ("agent", _LEGAL, _ALIVE, _DECIDES)


class Probe:
    """Results of random play in copies of an environment until the first one's episode ends, or `seconds` are over.

    Attributes:
        is_world: Whether it is a `World`, not an environment of another package.
        spaces, actions: Agent -> its space in words, observation spaces only where they differ; or its number of
            actions.
        limit_from: Attribute of the environment with the time limit, empty if it is assumed, None if it is set.
        legal_share: Share of legal actions; None without masks.
        ended: `terminated`, `truncated`, or empty if it was not played to its end.
        left: Agent -> env step after which it left before the others; 0 if it was absent from the start.
        waits: Whether an agent did not act at some env steps.
        lowest_reward, highest_reward: Of one agent at one env step.
        team_return: Sum of the rewards of the first copy.
        uses_seed: Whether two resets with one seed began equal episodes; None where that was not tried.
        shares_state: Whether a copy's episode was another beside a second copy than alone; False where not tried.
        env_steps_per_second, megabytes: Speed of one process, and memory of one copy, None where it is unknown.
    """

    def __init__(self, world: World, seconds: float) -> None:
        self.agents, self.copies, self.limit = tuple(world.agents), world.num_worlds, world.max_episode_steps
        self.is_world = not isinstance(world, PettingZooWorld)
        self.spaces, self.actions, self.limit_from = _spaces(world), _actions(world), _limit_from(world)
        self.seconds, self.ended, self.left, self.waits = seconds, "", dict[str, int](), False
        self.env_steps, self._episodes, self._is_paid, self._sums_to_0 = 0, 0, False, True
        self.megabytes: float | None = None
        self.uses_seed: bool | None = None
        self.shares_state = False
        self._ranges: dict[str, tuple[float, float]] = {}
        self._legal: list[float] = []
        rewards, played_seconds = self._play(world)
        self.observations, self.texts = tuple(_arrays(world, self._ranges)), tuple(_texts(world))
        self.legal_share = float(np.mean(self._legal)) if self._legal else None
        self.env_steps_per_second = len(rewards) * world.num_worlds / max(played_seconds, 1e-9)
        ends = (rewards.min(), rewards.max()) if rewards.size else (0.0, 0.0)
        self.lowest_reward, self.highest_reward = map(float, ends)
        self.team_return = float(rewards[: self.env_steps, 0].sum())

    @property
    def may_leave(self) -> bool:
        """Whether an agent left before the others, or may have done so in an episode that was not finished."""
        return bool(self.left) or (not self.ended and len(self.agents) > 1)

    @property
    def is_zero_sum(self) -> bool:
        """Whether agents got rewards that always summed to 0."""
        return len(self.agents) > 1 and self._is_paid and self._sums_to_0

    def _play(self, world: World) -> tuple[Array, float]:
        """Rewards, [T, B, N], and the seconds that the env steps took."""
        draws, began = np.random.default_rng(0), time.monotonic()
        played = _CheckedWorld(world) if self.is_world else world
        obs, stepping, length = played.reset(0), 0.0, np.zeros(world.num_worlds, int)
        rewards = [np.zeros((0, world.num_worlds, world.num_agents))]
        self._record_ranges(obs, world)
        self._note_leaving(obs, np.zeros(world.num_worlds, bool), {}, length)
        while (
            not self.ended or self._needs_more_episodes(obs, len(rewards))
        ) and time.monotonic() - began < self.seconds:
            actions, at = random_legal_actions(world, obs, draws), time.perf_counter()
            obs, reward, terminated, truncated, info = played.step(actions)
            stepping += time.perf_counter() - at
            rewards.append(reward[None])
            self._record_ranges(obs, world)
            over = terminated | truncated
            self._is_paid |= bool(reward.any())
            self._sums_to_0 &= bool((np.abs(reward.sum(-1)) <= _ROUNDING * np.abs(reward).max(-1)).all())
            self.env_steps += not self.ended
            self._episodes += int(over.sum())
            if over[0] and not self.ended:
                self.ended = "terminated" if terminated[0] else "truncated"
            length += 1
            self._note_leaving(obs, over, info, length)
            length[over] = 0
        return np.concatenate(rewards), stepping

    def _needs_more_episodes(self, obs: Arrays, played: int) -> bool:
        """Whether more episodes are needed to find agents that leave, or rewards whose sum is not 0."""
        if self._episodes >= _MAX_EPISODES or played > self.env_steps + _MAX_EXTRA_ENV_STEPS or len(self.agents) == 1:
            return False
        return (_ALIVE in obs and not self.left) or self.is_zero_sum

    def _record_ranges(self, obs: Arrays, world: World) -> None:
        for key, value in obs.items():
            if key in world.observation_spec and value.size:
                least, most = self._ranges.get(key, (np.inf, -np.inf))
                self._ranges[key] = min(least, float(value.min())), max(most, float(value.max()))
        self._legal += [float(obs[_LEGAL].mean())] if _LEGAL in obs else []
        self.waits |= _DECIDES in obs and not obs[_DECIDES].all()

    def _note_leaving(self, obs: Arrays, over: Array, info: dict[str, Any], length: Array) -> None:
        if _ALIVE not in obs:
            return
        alive = obs[_ALIVE].astype(bool)
        if over.any():
            final = info["final_obs"][_ALIVE].astype(bool)
            alive[info["done_worlds"]] = final | ~final.any(1, keepdims=True)
        for copy, agent in np.argwhere(~alive).tolist():
            self.left.setdefault(self.agents[agent], int(length[copy]))

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Name and content of each line of the table; a continuation line has no name."""
        spaces = [f"(of {name}: {space})" for name, space in [*self.spaces.items()][:_MAX_NAMES]]
        observations = [*self.observations, *self.texts, *spaces] or ["none"]
        total = "the team's sum is always 0" if self.is_zero_sum else f"team return {self.team_return:.3g}"
        nobody = "nobody" if self.ended else "nobody so far"
        memory = f"{self.megabytes:,.0f} MB" if (self.megabytes or 0) >= 1 else "less than 1 MB"
        limit_from = f"from {self.limit_from}" if self.limit_from else "assumed, because the environment declares none"
        return [
            ("agents", f"{len(self.agents)}: {_listed(self.agents)}"),
            *zip(["observations", *[""] * (len(observations) - 1)], observations, strict=True),
            ("actions", self._describe_actions()),
            ("leaving", _listed([*map(_leaving, self.left.items())]) or nobody),
            ("episode", f"{self.env_steps:,} env steps, {self.ended or f'cut after {self.seconds:.0f} s'}"),
            ("time limit", f"{self.limit:,} env steps, {'as configured' if self.limit_from is None else limit_from}"),
            ("rewards", f"{_number(self.lowest_reward)} to {_number(self.highest_reward)}, {total}"),
            ("speed", f"{self.env_steps_per_second:,.0f} env steps a second, {self.copies} copies in one process"),
            ("memory", "not known" if self.megabytes is None else f"{memory} a copy"),
            *[("seed", _IGNORED_SEED)] * (self.uses_seed is False),
            *[("copies", _SHARED_STATE)] * self.shares_state,
        ]

    def lines(self) -> list[str]:
        """The table, in lines of 100 characters."""
        pad = " " * (_NAME_WIDTH + 2)
        return [
            line
            for name, content in self.rows
            for line in textwrap.wrap(content, _WIDTH, initial_indent=f"  {name:{_NAME_WIDTH}}", subsequent_indent=pad)
        ]

    def _describe_actions(self) -> str:
        counts = set(self.actions.values())
        several = [
            f"{name}: {one}" if isinstance(one, str) else f"{one} ({name})" for name, one in self.actions.items()
        ]
        each = str(counts.pop()) if len(counts) == 1 else _listed(several)
        masks = "no masks" if self.legal_share is None else f"{self.legal_share:.0%} legal on average"
        return f"{each}, {masks}{', and agents that wait choose nothing' * self.waits}"


class _CheckedWorld:
    """A `World` that is reset and stepped with the checks of `rl_envs.testing`; custom environments have their own."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reset(self, seed: int) -> Arrays:
        """Observations, dict of [B, N, ...]; CustomEnvError if they are not as declared."""
        observations = self._world.reset(seed)
        with self._violating():
            check_observations(self._world, observations, self._world.num_worlds, "after reset")
            self._check, self._seen = EpisodeCheck(self._world, observations), observations
        return observations

    def step(self, actions: Actions) -> StepResult:
        """Result of a step; CustomEnvError if it breaks the contract."""
        before = {key: value.copy() for key, value in self._seen.items()}
        result = self._world.step(actions)
        with self._violating():
            self._check(self._world, actions, result)
            changed = [key for key, value in before.items() if not np.array_equal(value, self._seen[key])]
            require(not changed, f"a step changed the earlier observations {changed}, so return fresh arrays")
        self._seen = result[0]
        return result

    def check_restored(self, other: World) -> None:
        """Restore a snapshot into another world; CustomEnvError if the two do not play on alike, as resuming needs."""
        world, advice = self._world, "keep what the future depends on in `state`, and draw from `chance`"
        restored = other.restore(world.snapshot())
        if other.restarted is not None and other.restarted.any():
            return
        own, others = (
            [with_texts(one, {key: value.copy() for key, value in obs.items()}), *play(one, _REPEATED_ENV_STEPS)]
            for one, obs in ((world, world.observe()), (other, restored))
        )
        with self._violating():
            require(difference(own, others) is None, f"a restored game has another future: {advice}")

    @contextlib.contextmanager
    def _violating(self) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            name = type(self._world).__name__
            raise CustomEnvError(f"{name}: {error}; correct it (rl_envs.testing.check_world tests {name})") from error


def probe(make_world: MakeWorld, seconds: float = 10.0) -> Probe:
    """Play random legal actions until the first copy's episode ends, with all checks, or the time limit is reached.

    CustomEnvError if what the environment returns does not match its spaces. If agents could leave and none does, or
    all rewards sum to 0, more episodes are played.
    """
    with contextlib.ExitStack() as stack:

        def opened(copies: int) -> World:
            world = cast(World, make_world(num_worlds=copies, first_world=0))
            stack.enter_context(contextlib.closing(world))
            return world

        world = opened(_COPIES)
        if not isinstance(world, PettingZooWorld):
            world = opened(_BATCHED_COPIES)
        seen = Probe(world, seconds)
        before = _resident_megabytes()
        other = opened(seen.copies)
        other.reset(0)
        after = _resident_megabytes()
        seen.megabytes = None if before is None or after is None else max(0.0, after - before) / seen.copies
        if seen.is_world:
            _CheckedWorld(world).check_restored(other)
        elif seen.env_steps_per_second > _REPEATED_ENV_STEPS:
            played = _begin_and_play(world)
            seen.uses_seed = difference(played, _begin_and_play(other)) is None
            if seen.uses_seed:
                seen.shares_state = difference(part(played, slice(1)), _begin_and_play(opened(1))) is not None
        return seen


class _OwnDraws:
    """Random numbers of each world's own chance, the same in a batch of any size."""

    def __init__(self, world: World) -> None:
        self._chance, self._drawn = world.chance, 0

    def random(self, shape: Sequence[int]) -> Array:
        """Numbers in [0, 1), [B, ...]."""
        count = math.prod(shape[1:])
        self._drawn += count
        return np.asarray(self._chance.policy_uniforms(count, self._drawn)).reshape(shape)


def _begin_and_play(world: World) -> Record:
    first, draws = begin(world, 0), cast(np.random.Generator, _OwnDraws(world))
    return first + play(world, _REPEATED_ENV_STEPS, lambda one: random_legal_actions(one, one.observe(), draws))


def _arrays(world: World, ranges: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Each key of the observations: shape and type of one agent's array, its declared range and the observed one."""
    bounds = getattr(world, "bounds", {})
    for key, spec in world.observation_spec.items():
        if key not in _KEYS_WITH_OWN_LINES:
            low, high = (np.asarray(one) for one in bounds.get(key, (spec.low, spec.high)))
            shape = f"[{', '.join(map(str, spec.shape))}] " if spec.shape else ""
            declared = f"{_number(float(low.min()))} to {_number(float(high.max()))}"
            seen = " to ".join(map(_number, ranges.get(key, (0.0, 0.0))))
            yield f"{key} {shape}{spec.dtype}, declared {declared}, seen {seen}"


def _texts(world: World) -> Iterator[str]:
    for key, spec in world.text_spec.items():
        rows = f"{spec.rows[0]} texts" if spec.rows else "a text"
        seen = f"{len(world.texts[key].table):,} different ones seen"
        yield f"{key} {rows} of up to {spec.length} tokens, {seen}"
    for key, table in world.text_tables.items():
        yield f"{key}: ids of the {len(world.tables[table]):,} texts of the table {table}"


def _spaces(world: World) -> dict[str, str]:
    if not isinstance(world, PettingZooWorld):
        return {}
    spaces = [space_repr(space) for space in world.declaration.observation_spaces]
    return dict(zip(world.agents, spaces, strict=True)) if len(set(spaces)) > 1 else {}


def _actions(world: World) -> dict[str, int | str]:
    spec, declared = world.action_spec, None
    if isinstance(world, PettingZooWorld):
        layout = world.declaration.action_layout
        declared = layout.counts if layout.is_plain else map(space_repr, world.declaration.action_spaces)
    elif isinstance(spec, dict):
        return {name: describe_part(part) for name, part in spec.items()}
    return dict(zip(world.agents, declared or [spec] * world.num_agents, strict=True))  # type: ignore[list-item]


def describe_part(part: int | NumbersSpec) -> str:
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


def _leaving(agent: tuple[str, int]) -> str:
    name, step = agent
    return f"{name} after env step {step}" if step else f"{name} absent from the start"


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1e30 else ("inf" if value > 0 else "-inf")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
