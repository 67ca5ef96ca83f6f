"""CPU time of a training loop, compared with the bare arithmetic of its network.

The bare time is that of the network alone on the batches that the loop collected: the acting forward passes, and the
learner's forward and backward passes with a sum in place of the losses. It includes no world, sampling, batching, loss
or optimiser. `overhead` is the loop's CPU time divided by the bare time. The learner's passes are the objective's own,
so for IMPALA both sides see all T + 1 observations of a fragment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from benchmarks.harness.clock import median, median_ratio, timed
from benchmarks.harness.measurements import RATIO, Measurement
from benchmarks.harness.tensors import tensors_in
from benchmarks.harness.world_steps import spread_episodes
from rl_envs.core.world import World
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.batch import Batch, Fragment, forward, to_batch
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.runtime.texts import TEXTS, TextEncodings
from rl_models.team_world import Array
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner


@dataclass
class LoopTimes:
    """CPU seconds of each turn."""

    agent_steps: int  # agent steps in one turn
    collect: list[float] = field(default_factory=list)  # sampling (acting, the world, writing fragments)
    update: list[float] = field(default_factory=list)  # learning
    bare_acting: list[float] = field(default_factory=list)  # passes of the network alone, as below
    bare_learning: list[float] = field(default_factory=list)

    @property
    def loop(self) -> list[float]:
        """Sampling and learning together."""
        return [one + other for one, other in zip(self.collect, self.update, strict=True)]

    @property
    def bare(self) -> list[float]:
        """The network alone, acting and learning together."""
        return [one + other for one, other in zip(self.bare_acting, self.bare_learning, strict=True)]

    @property
    def overhead(self) -> float:
        """CPU time of the loop divided by the bare CPU time."""
        return median_ratio(self.loop, self.bare)

    def per_second(self, seconds: list[float]) -> float:
        """Agent steps per CPU-second."""
        return self.agent_steps / median(seconds)


def loop_measurements(name: str, times: LoopTimes) -> Iterator[Measurement]:
    """Overhead, throughput and parts of a training loop."""
    unit = "agent steps per CPU-second"
    yield Measurement(f"{name}.overhead", times.overhead, RATIO)
    yield Measurement(f"{name}.agent_steps_per_cpu_second", times.per_second(times.loop), unit)
    yield Measurement(f"{name}.bare_agent_steps_per_cpu_second", times.per_second(times.bare), unit)
    yield Measurement(f"{name}.sampling_agent_steps_per_cpu_second", times.per_second(times.collect), unit)
    for part in ("collect", "update", "bare_acting", "bare_learning"):
        cost = median(getattr(times, part)) / times.agent_steps * 1e6
        yield Measurement(f"{name}.part.{part}_us_per_agent_step", cost, "us")


def time_loop(
    collect: Callable[[], Fragment],
    update: Callable[[Fragment], Any],
    policy: TeamPolicy,
    objective: Objective,
    turns: int,
    extras: tuple[str, ...] = (),
) -> LoopTimes:
    """Time collecting, learning and bare passes in turns, after a turn that warms up.

    `policy` and `objective` are of the bare passes; `extras`: outputs in the backward pass, beside policy and values.
    """
    times = LoopTimes(0)
    for turn in range(turns + 1):
        fragment, collecting = timed(collect)
        _, updating = timed(update, fragment)
        acting, learning = bare_seconds(policy, objective, fragment, extras)
        if turn == 0:
            times.agent_steps = fragment.agent_steps()
            continue
        times.collect.append(collecting)
        times.update.append(updating)
        times.bare_acting.append(acting)
        times.bare_learning.append(learning)
    return times


def make_loop(
    world: World, policy: TeamPolicy, objective: Objective, settings: OptimiserSettings, length: int, spreads: bool
) -> tuple[Collector, Learner]:
    """A collector of fragments of `length` env steps and a learner; episodes are spread over their length if asked."""
    policy.precision = settings.precision
    collector = Collector(world, policy, length, objective.needs_values)
    collector.reset(0)
    if spreads:
        spread_episodes(world)
    return collector, Learner(policy, objective, settings)


def time_collect_and_update(
    collector: Collector, learner: Learner, turns: int, extras: tuple[str, ...] = ()
) -> LoopTimes:
    """Time a loop without Ray, with a collector that has been reset."""

    def update(fragment: Fragment) -> None:
        learner.update([fragment])

    return time_loop(collector.collect, update, learner.policy, learner.objective, turns, extras)


def bare_seconds(
    policy: TeamPolicy, objective: Objective, fragment: Fragment, extras: tuple[str, ...] = ()
) -> tuple[float, float]:
    """CPU seconds of the network's acting passes and of its learning passes over one fragment."""
    batch = to_batch(fragment)
    prepared = objective.prepare(batch)
    _, acting = timed(_act, policy, batch, prepared["reward"].shape[1])
    parts = list(objective.minibatches(prepared, 0))
    _, learning = timed(learn_bare, policy, parts, extras)
    policy.zero_grad(set_to_none=True)
    return acting, learning


@dataclass(frozen=True)
class _Recorded:
    """A token table as a fragment holds it."""

    table: Array

    def look_up(self, rows: Array) -> Array:
        """Tokens of these rows, [..., L]."""
        return self.table[rows]


@torch.inference_mode()
def _act(policy: TeamPolicy, batch: Batch, steps: int) -> None:
    """Forward passes step by step; a text is encoded when it first appears, as a collector does it."""
    state = {key.removeprefix("state/"): value for key, value in batch.items() if key.startswith("state/")}
    tables = {
        key.removeprefix(TEXTS): _Recorded(value.numpy()) for key, value in batch.items() if key.startswith(TEXTS)
    }
    encodings = TextEncodings(policy.network, tables)
    for step in range(steps):
        obs = encodings.inputs(
            {key.removeprefix("obs/"): value[:, step].numpy() for key, value in batch.items() if key.startswith("obs/")}
        )
        state = policy(obs, state, batch["is_first"][:, step : step + 1]).state


def learn_bare(policy: TeamPolicy, parts: list[Batch], extras: tuple[str, ...]) -> None:
    """Forward and backward passes over the parts, without losses."""
    for part in parts:
        policy.zero_grad(set_to_none=True)
        _any_scalar(forward(policy, part), extras).backward()


def _any_scalar(output: TeamOutput, extras: tuple[str, ...]) -> Tensor:
    """A scalar that costs almost nothing and depends on every parameter."""
    more = [output.extras[name] for name in extras]
    return torch.stack([tensor.sum() for tensor in (*tensors_in((output.policy, output.values)), *more)]).sum()
