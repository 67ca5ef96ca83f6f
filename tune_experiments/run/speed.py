"""Speed of a trial: its cost before it starts, and from its log where its time goes and which processes to try.

With PPO the times of sampling and learning add up; with IMPALA the slower one decides.
"""

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers.custom.world import PettingZooWorld
from rl_models.policy import TeamPolicy
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import release_memory
from rl_models.team_world import MakeWorld
from rl_models.training.checkpoint import CheckpointError, load_state
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tune_experiments.core.config_json import config_from_json
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.finding import find_stored
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.tables import describe_range
from tune_experiments.results.trial_log import SPEED
from tune_experiments.run.environment_probe import probe

RUNNER_SPEED = "speed/env_steps_per_second_of_a_runner"
BUSY = "speed/learner_busy_share"
LAG, QUEUE = "learner/policy_lag_updates", "learner/queue_length"
_ROWS = 50
_MIN_WORLDS = 16
"""Smallest number of environments per runner; with fewer, Python takes more time than the networks."""
_MIN_SPEEDUP = 1.15
"""Factor below which no change of processes is proposed."""


@dataclass(frozen=True)
class Diagnosis:
    """Breakdown of a trial's time, per 1,000 env steps: seconds of all runners, in parallel, and of the learner.

    `lag` is the number of updates between the weights that sampled and those that learn, `queue` that of batches that
    wait.
    """

    speed: float
    sampling: float
    learning: float
    takes_turns: bool
    lag: float
    queue: float

    @property
    def total(self) -> float:
        """Seconds for 1,000 env steps."""
        return 1000 / self.speed

    @property
    def other(self) -> float:
        """Seconds for 1,000 env steps in other work: validation, checkpoints, transfer of weights."""
        return max(0.0, self.total - sampling_and_learning(self.sampling, self.learning, self.takes_turns))

    @property
    def bottleneck(self) -> str:
        """The largest of the three parts."""
        parts = {"sampling": self.sampling, "learning": self.learning, "other": self.other}
        return max(parts, key=lambda name: parts[name])

    def expected(self, runners: float, learners: float) -> float:
        """Env steps per second with multiples of the runners and learners, if each has its own core."""
        used = sampling_and_learning(self.sampling / runners, self.learning / learners, self.takes_turns)
        return 1000 / (used + self.other)


def sampling_and_learning(sampling: float, learning: float, takes_turns: bool) -> float:
    """Seconds of both together: their sum if they take turns, else the longer of the two."""
    return sampling + learning if takes_turns else max(sampling, learning)


def diagnose(rows: Sequence[Mapping[str, float]], workers: Workers, takes_turns: bool) -> Diagnosis:
    """Diagnosis from the newest rows of a trial's log; UserError if it lacks these numbers."""

    def has_speeds(row: Mapping[str, float]) -> bool:
        speeds = [row.get(name, 0.0) for name in (SPEED, RUNNER_SPEED)]
        return all(math.isfinite(speed) and speed > 0 for speed in speeds) and math.isfinite(row.get(BUSY, math.nan))

    measured = [row for row in rows if has_speeds(row)][-_ROWS:]
    if not measured:
        raise UserError(
            f"no row of this trial's metrics.jsonl has {SPEED}, {RUNNER_SPEED} and {BUSY}: let it train for a few "
            f"updates with this version (a trial without RLlib has none of these)"
        )

    def median(name: str) -> float:
        return float(np.median([row[name] for row in measured if name in row] or [0.0]))

    speed, runners = median(SPEED), max(1, workers.runners)
    return Diagnosis(
        speed=speed,
        sampling=1000 / (median(RUNNER_SPEED) * runners),
        learning=1000 * median(BUSY) / speed,
        takes_turns=takes_turns,
        lag=median(LAG),
        queue=median(QUEUE),
    )


def proposals(found: Diagnosis, workers: Workers) -> list[str]:
    """Proposals of flags with the expected speed, the best first; the number of environments stays the same."""
    worlds = max(1, workers.runners) * workers.worlds_per_runner
    max_runners = max(1, worlds // _MIN_WORLDS)
    proposed: list[tuple[float, str]] = []
    factor = found.sampling / max(0.25 * found.learning if found.takes_turns else found.learning, 1e-9)
    runners = min(max_runners, max(1, math.ceil(factor * max(1, workers.runners))))
    if runners > max(1, workers.runners):
        share = math.ceil(worlds / runners)
        speed = found.expected(runners / max(1, workers.runners), 1)
        flags = f"--workers.runners {runners} --workers.worlds-per-runner {share}"
        proposed.append((speed, f"{flags}, on a machine with {replace(workers, runners=runners).cpus} CPUs"))
    learners = 2 * max(1, workers.learners)
    if found.learning > found.sampling:
        flags = f"--workers.learners {learners}"
        proposed.append(
            (found.expected(1, 2), f"{flags}, on a machine with {replace(workers, learners=learners).cpus} CPUs")
        )
        if not workers.gpus_per_learner:
            flags = "--workers.gpus-per-learner 1, on a machine with a GPU"
            proposed.append((found.expected(1, 1e9), f"{flags}, if learning took no time there"))
    ranked = sorted((each for each in proposed if each[0] > _MIN_SPEEDUP * found.speed), reverse=True)
    return [f"{text}: at most {speed:,.0f} env steps/s, {speed / found.speed:.1f} times" for speed, text in ranked]


def report(found: Diagnosis, workers: Workers) -> list[str]:
    """Lines of the report: where the time goes, the bottleneck, and what to try."""
    shape = f"{workers.runners} runners x {workers.worlds_per_runner} environments, {workers.learners} learners"
    if not workers.runners and not workers.learners:
        shape = f"one process samples ({workers.worlds_per_runner} environments) and learns"
    shape += f" x {workers.aggregators} aggregators" if workers.aggregators else ""
    how = "in turns" if found.takes_turns else "side by side"
    lines = [
        f"{shape}: {found.speed:,.0f} env steps/s, {found.total:.2f} s for 1,000",
        f"sampling {found.sampling:.2f} s, learning {found.learning:.2f} s ({how}), other {found.other:.2f} s",
        f"policy lag {found.lag:.1f} updates, {found.queue:.1f} batches wait for the learner",
        f"bottleneck: {_MEANINGS[found.bottleneck]}",
    ]
    proposed = proposals(found, workers)
    if found.bottleneck == "other" and not found.takes_turns and workers.learners and not workers.aggregators:
        proposed.append(
            f"--workers.aggregators 1, on a machine with {replace(workers, aggregators=1).cpus} CPUs: {_AGGREGATORS}"
        )
    return lines + ([f"try {text}" for text in proposed] if proposed else [_NOTHING])


def examine(checkpoint: Path, rows: Sequence[Mapping[str, float]], allow: Sequence[str]) -> list[str]:
    """Lines on a trial: where its time goes, what to try, and the values of its custom environment in random play.

    An environment whose module is not in `allow` is not played. A log without speeds, as of a trial without RLlib, is
    only an error if there is nothing to report on an environment.
    """
    try:
        state = load_state(checkpoint)
    except CheckpointError as error:
        raise UserError(str(error)) from error
    stored = state.get("config", {})
    try:
        experiment, config = find_stored(state.get("experiment"), stored, allow, checkpoint)
        plan = experiment.plan(config, state["method"], int(state["seed"]), checkpoint.parent.parent)
        environment = environment_report(plan.stages[-1].plan.make_world)
    except (UserError, KeyError, TypeError, ValueError) as error:
        environment = [f"environment: not checked: {error}"]
    try:
        workers, takes_turns = _processes(checkpoint, stored)
        return [*report(diagnose(rows, workers, takes_turns), workers), *environment]
    except UserError as error:
        if not environment:
            raise
        return [f"speed: {error}", *environment]


def _processes(checkpoint: Path, config: Mapping[str, Any]) -> tuple[Workers, bool]:
    """Processes of a stored configuration, and whether they sample and learn in turns; nothing is imported."""
    stored, learner = config.get("workers"), config.get("learner")
    if not isinstance(stored, dict):
        raise UserError(f"{checkpoint} does not contain the number of processes of its trial: name another trial")
    algorithm = learner.get("algorithm") if isinstance(learner, dict) else None
    return config_from_json(Workers, stored, f"{checkpoint}: workers"), algorithm != "impala"


def environment_report(make_world: MakeWorld) -> list[str]:
    """Lines on a custom environment in random play with all checks; none for environments of this package."""
    try:
        with contextlib.closing(make_world(num_worlds=1, first_world=0)) as world:
            if not isinstance(world, PettingZooWorld):
                return []
        seen = probe(make_world)
    except CustomEnvError as error:
        return [f"environment: {error}"]
    summary = f"environment: all values in {seen.env_steps:,} env steps of random play match its spaces"
    return [summary, *seen.lines()]


_MEANINGS = {
    "sampling": "sampling; more runners help",
    "learning": "learning; a GPU, more learners, fewer epochs or a smaller network help, runners do not",
    "other": "other work: validation, checkpoints, transfer of weights, other processes on the machine",
}
_AGGREGATORS = "separate processes then assemble the batches; the log does not show how much that gains"
_NOTHING = "more or fewer runners or learners would change little: use the CPUs for more trials (--seeds, --methods)"


# ---- cost of training before it starts: env steps, and time on this machine ------------------------------------------

_WARM_UPS = 2
"""Number of untimed updates: the first includes start-up, the second the capture of CUDA graphs."""
_FEW_STEPS, _MAX_SECONDS = 2, 60.0


def cost(
    plans: Sequence[Plan],
    concurrent: int,
    print_fn: Callable[[str], None] = lambda _: None,
    trained: Sequence[int] = (),
) -> str:
    """Sentence on the cost of training, from one timed update in the last stage of the longest trial.

    The last stage is usually the most expensive. Ray's start, validation, tests and figures are not included. `trained`
    has the env steps that each trial has been trained for.
    """
    unfinished = [
        (plan.budget_env_steps - done, plan)
        for plan, done in zip(plans, trained or [0] * len(plans), strict=True)
        if any(stage.plan.learns for stage in plan.stages) and plan.budget_env_steps > done
    ]
    if not unfinished:
        return f"cost: {len(plans)} trial{'s' * (len(plans) > 1)} without training, {concurrent} at a time"
    left, plans = zip(*unfinished, strict=True)
    concurrent, longest = min(concurrent, len(plans)), plans[left.index(max(left))]
    last = longest.stages[-1].plan
    print_fn("measuring this machine's speed")
    seconds = seconds_per_env_step(*measured_seconds(last), last.workers, last.objective.takes_turns)
    release_memory()
    minutes = seconds * makespan_env_steps(left, concurrent) / 60
    budget = f"{describe_range([plan.budget_env_steps for plan in plans])} env steps"
    if (stages := max(len(plan.stages) for plan in plans)) > 1:
        budget = f"at most {budget} in up to {stages} stages"
    took = f"{minutes:.0f} minutes" if minutes >= 2 else f"{60 * minutes:.0f} seconds"
    return (
        f"cost: {len(plans)} trial{'s' * (len(plans) > 1)} of {budget}, "
        f"{concurrent} at a time: training takes about {took} "
        f"at {1 / seconds:,.{int(seconds > 1)}f} env steps a second per trial on this machine"
    )


def seconds_per_env_step(sampling: float, learning: float, workers: Workers, takes_turns: bool) -> float:
    """Seconds of a trial per env step, from the sampling and learning seconds of single processes."""
    sampling, learning = sampling / max(1, workers.runners), learning / max(1, workers.learners)
    return sampling_and_learning(sampling, learning, takes_turns or not workers.runners)


def makespan_env_steps(budgets: Sequence[int], concurrent: int) -> int:
    """Env steps until all trials end, if each starts as soon as a slot is free."""
    lanes = [0] * concurrent
    for budget in budgets:
        lanes[lanes.index(min(lanes))] += budget
    return max(lanes)


def measured_seconds(plan: TrialPlan) -> tuple[float, float]:
    """Seconds of this process per env step, for sampling and for learning; slow updates are timed on few env steps."""
    length, policy = plan.workers.fragment_length, plan.new_policy()
    few = _timed_update(plan, policy, min(_FEW_STEPS, length), warm_ups=1)
    whole_update = sum(few) * _num_worlds(plan) * length
    return few if (1 + _WARM_UPS) * whole_update > _MAX_SECONDS else _timed_update(plan, policy, length, _WARM_UPS)


def _num_worlds(plan: TrialPlan) -> int:
    return min(plan.workers.worlds_per_runner, max(16, 320 // plan.workers.fragment_length))


def _timed_update(plan: TrialPlan, policy: TeamPolicy, steps: int, warm_ups: int) -> tuple[float, float]:
    with contextlib.closing(plan.make_world(num_worlds=_num_worlds(plan), first_world=0)) as world:
        collector = Collector(world, policy, steps)
        learner = Learner(policy, plan.objective, plan.optimiser)
        collector.reset(plan.seed)
        for _ in range(warm_ups):
            learner.update([collector.collect()])
        start = time.perf_counter()
        fragment = collector.collect()
        played = time.perf_counter()
        learner.update([fragment])
        return (played - start) / fragment.env_steps(), (time.perf_counter() - played) / fragment.env_steps()
