"""Cost of training before it starts: env steps, and time on this machine."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from rl_models.policy import TeamPolicy
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import release_memory
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.tables import describe_range
from tune_experiments.run.doctor import sampling_and_learning

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
    """Seconds of this process per env step: for sampling and for learning.

    A policy whose updates are slow is timed on a few env steps of each environment.
    """
    length, policy = plan.workers.fragment_length, plan.new_policy()
    few = _timed_update(plan, policy, min(_FEW_STEPS, length), warm_ups=1)
    whole_update = sum(few) * _num_worlds(plan) * length
    return few if (1 + _WARM_UPS) * whole_update > _MAX_SECONDS else _timed_update(plan, policy, length, _WARM_UPS)


def _num_worlds(plan: TrialPlan) -> int:
    return min(plan.workers.worlds_per_runner, max(16, 320 // plan.workers.fragment_length))


def _timed_update(plan: TrialPlan, policy: TeamPolicy, steps: int, warm_ups: int) -> tuple[float, float]:
    """Seconds of sampling and learning per env step, in an update after untimed ones."""
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
