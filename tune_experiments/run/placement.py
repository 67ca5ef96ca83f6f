"""GPUs of a trial's processes.

The trial's own process has a GPU wherever there is one, learners share with it, and runners have one if
`--workers.gpus-per-runner` says so. A fraction means that several processes use the same GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from rl_models.configuration import DeviceChoice
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import chosen_device
from tune_experiments.core.errors import UserError

_OWN_SHARE = 0.1
"""Share of a learner's GPU that the trial's own process gets, which acts and validates at the same time."""
_MAX_PARTS = 100
"""Maximum number of processes that learn on one GPU."""


@dataclass(frozen=True)
class Gpus:
    """GPUs of a trial's own process, of each learner and of each env runner."""

    own: float = 0.0
    learner: float = 0.0
    runner: float = 0.0


NO_GPUS = Gpus()


def assign_gpus(workers: Workers, has_gpus: float, trials: int) -> Gpus:
    """GPUs of each process of a trial; trials share all GPUs unless `workers` names a number."""
    if not has_gpus:
        return NO_GPUS
    share = workers.gpus_per_learner or max_gpu_share(workers, int(has_gpus), trials)
    if not workers.learners:
        return Gpus(own=share, runner=workers.gpus_per_runner)
    if share > 1:  # Ray then assigns whole GPUs
        return Gpus(learner=share, runner=workers.gpus_per_runner)
    return Gpus(own=_OWN_SHARE * share, learner=(1 - _OWN_SHARE) * share, runner=workers.gpus_per_runner)


def max_gpu_share(workers: Workers, has_gpus: int, trials: int) -> float:
    """Largest share of a GPU for each learning process, given the runners of a number of trials; 0 if there is none.

    Ray places a fraction on one GPU, so leftover fractions of several GPUs cannot be combined. Runners fill one GPU
    after another.
    """
    each, runners = workers.gpus_per_runner, trials * workers.runners
    taken: list[float] = []  # of the GPUs that runners use
    if each > 1:  # Ray then assigns whole GPUs
        taken = [1.0] * (runners * math.ceil(each))
    elif each:
        most = int(1 / each + 1e-6)
        full, rest = divmod(runners, most)
        taken = [each * most] * full + [each * rest] * (rest > 0)
    if len(taken) > has_gpus:
        return 0.0
    left = [1 - one for one in taken] + [1.0] * (has_gpus - len(taken))
    wanted = trials * max(workers.learners, 1)
    fitting = (parts for parts in range(1, _MAX_PARTS + 1) if sum(int(one * parts + 1e-6) for one in left) >= wanted)
    return 1 / next(fitting, math.inf)


def trials_that_fit(workers: Workers, has_gpus: float, most: int) -> int:
    """Number of trials, at most `most`, that the GPUs can hold at once."""
    if not has_gpus or workers.gpus_per_learner:
        return most
    return next((trials for trials in range(most, 0, -1) if max_gpu_share(workers, int(has_gpus), trials)), 0)


def min_gpus(workers: Workers, has_gpus: float) -> float:
    """Smallest number of GPUs that a trial needs; several learners cannot share one, which NCCL refuses."""
    if not has_gpus:
        return workers.gpus
    if workers.learners > 1 and 0 < workers.gpus_per_learner <= 1 / 2:
        raise UserError(
            f"--workers.gpus-per-learner {workers.gpus_per_learner:g} puts two learners of a trial on one GPU, which "
            f"NCCL refuses: write 1, or --workers.learners 1"
        )
    runners = workers.gpus_per_runner * workers.runners
    unnamed = 1.0 if workers.learners > 1 else bool(runners) / _MAX_PARTS
    return (workers.gpus_per_learner or unnamed) * max(workers.learners, 1) + runners


def checked_device(choice: DeviceChoice) -> torch.device:
    """Device of the networks of this process; UserError if a GPU is required and there is none."""
    try:
        return chosen_device(choice)
    except ValueError as error:
        raise UserError(str(error)) from error
