"""Joining the cluster in RAY_ADDRESS, or starting one on this machine; trials that do not fit are refused.

A cluster started here binds to loopback and has an access token, both for the lifetime of this process.
"""

import functools
import logging
import math
import os
import secrets
import socket
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from rl_models.configuration import DeviceChoice
from rl_models.errors import first_line
from rl_models.rllib.private_ray import bind_to_loopback, make_job_config
from rl_models.rllib.workers import Workers
from rl_models.runtime.device import NO_GPU, chosen_device
from tune_experiments.core.errors import UserError

_CONNECT_SECONDS = 5.0
_SUBMITTED = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Environment variable that Ray sets in a submitted job."""


@contextmanager
def ray_cluster(num_cpus: int | None = None) -> Iterator[Any]:
    """The `ray` module, connected, and disconnected afterwards unless the caller had connected it.

    UserError if RAY_ADDRESS names a cluster that cannot be joined, or none can start here, with by default all CPUs.
    """
    if "ray" in sys.modules and sys.modules["ray"].is_initialized():
        yield sys.modules["ray"]
        return
    address = _address()
    if not address:
        _bind_to_loopback()
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import ray  # after the environment is set: Ray reads it when it is imported

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if _SUBMITTED not in os.environ and not address.startswith("ray://"):  # a job's path is set by Ray
        quiet["job_config"] = make_job_config([place or os.getcwd() for place in sys.path])
    if address:
        _join(ray, address, quiet)
    else:
        _start(ray, num_cpus or os.cpu_count(), quiet)
    try:
        yield ray
    finally:
        ray.shutdown()


def import_tune() -> Any:
    """The module `ray.tune`, imported before there is a cluster."""
    if "ray" not in sys.modules and not _address():
        _bind_to_loopback()
    from ray import tune

    return tune


def _address() -> str:
    """RAY_ADDRESS, or an empty text for a new local cluster."""
    address = os.environ.get("RAY_ADDRESS", "").strip()
    return "" if address == "local" else address


@functools.cache  # Ray reads it at import and again later
def _bind_to_loopback() -> None:
    # Ray 2.60 rewrites 127.0.0.1 to the outer address unless multi-node clusters are switched off.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ["RAY_AUTH_MODE"] = "token"
    if "ray" in sys.modules:  # imported by a custom environment, it has read both and reads no mode that is set
        bind_to_loopback()
        del os.environ["RAY_AUTH_MODE"]  # ray.init sets it to token
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray raises the niceness of its workers by 15, which starves a trial on a busy machine; keep the user's `nice`.
    os.environ.setdefault("RAY_worker_niceness", "0")


def _start(ray: Any, num_cpus: int | None, quiet: dict[str, Any]) -> None:
    try:
        ray.init(include_dashboard=False, num_cpus=num_cpus, **quiet)
    except Exception as error:
        raise UserError(
            f"Ray did not start on this machine ({_first_sentence(error)}); "
            f"run the command again when the machine is less busy, or set RAY_ADDRESS to a cluster that runs"
        ) from error


def _join(ray: Any, address: str, quiet: dict[str, Any]) -> None:
    cure = "start that cluster, correct RAY_ADDRESS, or unset it to run here"
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit() and not _answers(host.strip("[]") or "127.0.0.1", int(port)):
        raise UserError(f"no Ray cluster answers at RAY_ADDRESS={address}; {cure}")
    try:
        ray.init(address=address, **quiet)
    except Exception as error:
        raise UserError(
            f"cannot join the Ray cluster at RAY_ADDRESS={address} ({_first_sentence(error)}); {cure}"
        ) from error


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_CONNECT_SECONDS):
            return True
    except (OSError, OverflowError, UnicodeError):  # the last two: no port, no host name
        return False


def _first_sentence(error: Exception) -> str:
    return first_line(error).split(". ")[0].rstrip(".")


def _check_cpus(cpus: int, has_cpus: int, place: str) -> None:
    if cpus > has_cpus:
        raise UserError(
            f"a trial needs {cpus} CPUs (its own process, env runners and learners) and {place} has {has_cpus}; "
            f"lower --workers.runners (and raise --workers.worlds-per-runner) or "
            f"--workers.learners, which may change when a run is continued, or join a larger cluster with RAY_ADDRESS"
        )


def check_this_machine(cpus: int) -> None:
    """Raise UserError, before Ray starts, where a cluster on this machine could not run one trial.

    It checks nothing if RAY_ADDRESS names another one.
    """
    if not _address():
        _check_cpus(cpus, os.cpu_count() or 1, "this machine")


def check_device(device: DeviceChoice, is_local: bool) -> None:
    """Raise UserError where this machine must have a GPU and has none; RAY_ADDRESS may name a cluster that has one."""
    if is_local or not _address():
        checked_device(device)


def usable_gpus(ray: Any, device: DeviceChoice) -> float:
    """Number of GPUs of the cluster that may be used; UserError if one is required and there is none."""
    has_gpus = float(ray.cluster_resources().get("GPU", 0))
    if device == "cuda" and not has_gpus:
        raise UserError(f"this cluster has no GPU: {NO_GPU}")
    return 0.0 if device == "cpu" else has_gpus


def trials_at_once(ray: Any, workers: Sequence[Workers], device: DeviceChoice = "auto") -> int:
    """Number of trials that the cluster can run at once, whichever they are; UserError if not even one fits."""
    has_cpus, has_gpus = int(ray.cluster_resources().get("CPU", 0)), int(usable_gpus(ray, device))
    cpus = max(one.cpus for one in workers)
    _check_cpus(cpus, has_cpus, "this cluster")
    at_once = has_cpus // cpus
    for one in workers if device != "cpu" else ():
        if has_gpus and one.learners > 1 and 0 < one.gpus_per_learner <= 1 / 2:
            raise UserError(
                f"--workers.gpus-per-learner {one.gpus_per_learner:g} puts two learners of a trial on one GPU, which "
                f"NCCL refuses: write 1, or --workers.learners 1"
            )
        if has_gpus or one.gpus:
            at_once = next((trials for trials in range(at_once, 0, -1) if gpu_share(one, has_gpus, trials)), 0)
    if not at_once:
        raise UserError(
            f"the processes of a trial do not fit on this cluster, which has {has_gpus} GPUs: lower "
            f"--workers.gpus-per-learner, --workers.gpus-per-runner or --workers.learners, or write --device cpu"
        )
    return at_once


# ---- GPUs of a trial's processes -------------------------------------------------------------------------------------
# The trial's own process has a GPU wherever there is one, learners share with it, and runners have one if
# `--workers.gpus-per-runner` says so. A fraction means that several processes use the same GPU.

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
    share, runner = gpu_share(workers, int(has_gpus), trials), workers.gpus_per_runner
    if not workers.learners:
        return Gpus(own=share, runner=runner)
    own = _OWN_SHARE if share <= 1 else 0.0  # Ray assigns whole GPUs above 1
    return Gpus(own=own * share, learner=(1 - own) * share, runner=runner)


def gpu_share(workers: Workers, has_gpus: int, trials: int) -> float:
    """GPUs for each learning process of a number of trials: the number in `workers`, else the largest share that fits.

    0 if the processes do not fit. Several learners of a trial have a GPU each, because NCCL refuses to share one.
    """
    learners = max(workers.learners, 1)
    parts = range(1, 2 if learners > 1 else _MAX_PARTS + 1)
    runners = [workers.gpus_per_runner] * workers.runners * trials
    for share in [workers.gpus_per_learner] if workers.gpus_per_learner else [1 / each for each in parts]:
        if _fit([*runners, *[share] * learners * trials], has_gpus):
            return share
    return 0.0


def _fit(amounts: Sequence[float], has_gpus: int) -> bool:
    """Whether Ray can place these amounts: it places a fraction on one GPU, and more than 1 on whole GPUs."""
    if sum(amounts) > has_gpus + 1e-3:
        return False
    free = [1.0] * has_gpus
    for amount in sorted(filter(None, amounts), reverse=True):  # as small ones fit into what large ones leave
        places = [place for place, left in enumerate(free) if left > min(amount, 1) - 1e-6][: math.ceil(amount)]
        if len(places) < math.ceil(amount):
            return False
        for place in places:
            free[place] -= min(amount, 1)
    return True


def checked_device(choice: DeviceChoice) -> torch.device:
    """Device of the networks of this process; UserError if a GPU is required and there is none."""
    try:
        return chosen_device(choice)
    except ValueError as error:
        raise UserError(str(error)) from error
