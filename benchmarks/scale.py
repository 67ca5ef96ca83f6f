"""Several processes: speed-up by a second env runner and by a second learner, for FurnMove's laptop team and PPO.

Ray is given more CPUs than a trial occupies, because the trial's own process only waits. The machine needs two free
cores and no other load. Every runner has the same number of worlds, so two runners collect twice the samples; two
learners share one batch. Unlike the other parts, this one measures wall time.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

from benchmarks.harness.clock import median, median_ratio
from benchmarks.harness.measurements import RATIO, Measurement
from rl_models.rllib.workers import Workers
from tune_experiments.cordial_sync import trials
from tune_experiments.cordial_sync.config import Config, MethodName
from tune_experiments.run.ray_cluster import ray_cluster

METHOD: MethodName = "sync_13_cordial"
RUNNER_WORLDS, LEARNER_WORLDS, LENGTH = 64, 256, 20
SAMPLING_TURNS, LEARNING_TURNS, WARM_UP = 15, 5, 1
PER_SECOND = "env steps/s"
CLOCK = "wall time"
"""The clock of this part, which `python -m benchmarks` prints; other parts measure CPU time."""


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that Ray starts
    with ray_cluster(num_cpus=8):
        runners = Workers(worlds_per_runner=RUNNER_WORLDS, fragment_length=LENGTH)
        one, two = replace(runners, runners=1), replace(runners, runners=2)
        yield from _measurements("runners", "sampling", one, two, _sample, SAMPLING_TURNS)
        learners = Workers(worlds_per_runner=LEARNER_WORLDS, fragment_length=LENGTH)
        one, two = replace(learners, learners=1), replace(learners, learners=2)
        yield from _measurements("learners", "loop", one, two, _train, LEARNING_TURNS)


def _measurements(name: str, what: str, one: Workers, two: Workers, work: Any, turns: int) -> Iterator[Measurement]:
    """Speed with one and with two processes, in turns, and the ratio."""
    with _algorithm(one) as single, _algorithm(two) as double:
        for _ in range(WARM_UP):
            work(single), work(double)
        speeds = [(work(single), work(double)) for _ in range(turns)]
    slow, fast = zip(*speeds, strict=True)
    yield Measurement(f"scale.{name}_2.speedup", median_ratio(fast, slow), RATIO)
    yield Measurement(f"scale.{name}_1.{what}", median(slow), PER_SECOND)
    yield Measurement(f"scale.{name}_2.{what}", median(fast), PER_SECOND)


@contextlib.contextmanager
def _algorithm(workers: Workers) -> Iterator[Any]:
    """RLlib's algorithm object for FurnMove on these processes."""
    from rl_models.rllib.team_algorithm import TeamAlgorithm  # after Ray's environment is set

    plan = trials.plan(Config(methods=(METHOD,), workers=workers), METHOD, seed=0)
    with contextlib.closing(TeamAlgorithm(plan)) as algorithm:
        yield algorithm.algorithm


def _sample(algorithm: Any) -> float:
    """Env steps a second of all runners in parallel; fragments are transferred as for an update."""
    start = perf_counter()
    fragments = algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.sample(), local_env_runner=False)
    return len(fragments) * RUNNER_WORLDS * LENGTH / (perf_counter() - start)


def _train(algorithm: Any) -> float:
    """Env steps a second of a training step, which is nearly all learners' time."""
    start = perf_counter()
    algorithm.train()
    return LEARNER_WORLDS * LENGTH / (perf_counter() - start)
