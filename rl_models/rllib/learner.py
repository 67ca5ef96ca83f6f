"""RLlib learners that pass every batch to the `Learner` of `training/loop.py`.

PPO's learner runs in RLlib's synchronous update, IMPALA's in its learner thread. Stock losses are not called: the
stock V-trace of Ray 2.60 drops the bootstrap value at every fragment end. Nor are gradients averaged by torch's
`DistributedDataParallel`, which hangs if one learner has more backward passes than another, and which gives a learner
with three worlds the weight of one with four: `batch.Learners` sums them, weighed by what they hold.

Learners connect at the address under which Ray knows their node, never at all of its addresses. torch's store of keys
and values, through which learners find each other, listens on every address of the machine without authentication. On a
cluster that is bound to 127.0.0.1 it would be the only port that is open to the network.
"""

import importlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import ray
import torch
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.policy.sample_batch import MultiAgentBatch
from torch.distributed import TCPStore

from rl_models.batch import ALONE, Learners, Share
from rl_models.policy import TeamPolicy
from rl_models.rllib.private_ray import PrivateImpalaLearner, PrivateLearner
from rl_models.runtime.device import building_for, chosen_device, forbid_gpu, move, to_host
from rl_models.runtime.host_memory import keep_freed_memory
from rl_models.schedule import Progress
from rl_models.training import loop
from rl_models.training.algorithm import Tensors

STATISTICS = "statistics"
"""Key of learners' results: statistics and `Share` of each learner's last minibatch, apart from RLlib's own."""
POLICY_LAG, BUSY_SHARE, QUEUE_LENGTH = "policy_lag_updates", "busy_share", "queue_length"
"""Number of updates since the weights that acted; share of time spent in updates; number of waiting batches."""
CPU_SECONDS = "cpu_seconds"
"""CPU-seconds of learners that are processes of their own, since the last log, summed over them."""
_POLL_SECONDS = 1.0


class TeamLearner(PrivateLearner, TorchLearner):
    """Base class of PPO's and IMPALA's team learners."""

    core: loop.Learner
    _cpu_seconds_logged = 0.0

    def __init__(self, **arguments: Any) -> None:
        """Create a learner, before it joins the process group."""
        super().__init__(**arguments)
        if self.config.num_learners:
            keep_freed_memory()
            bind_to_node_address()

    def build(self) -> None:
        """Build as RLlib does."""
        # IMPALA updates in a thread of its own.
        self._updating = threading.Lock()
        self._rests_since = time.perf_counter()
        if self.config.num_learners and not self.config.num_gpus_per_learner:
            forbid_gpu()  # Ray shows GPUs also to a process that was assigned none
        with building_for(chosen_device()):
            super().build()

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Build the core from `learner_config_dict` and register its optimiser, whose rate its schedule sets."""
        chosen, learners = self.config.learner_config_dict, ALONE
        if self.distributed:
            group = torch.distributed
            learners = Learners(group.get_rank(), group.get_world_size(), _sum_over_processes)
        self.core = loop.Learner(
            self._policy,
            chosen["objective"],
            chosen["optimiser"],
            seed=int(self.config.seed or 0),
            learners=learners,
        )
        rate = self.core.settings.learning_rate.at(self.progress)
        self.register_optimizer(
            module_id=module_id,
            optimizer=self.core.optimiser,
            params=self.get_parameters(self.module[module_id]),
            lr_or_lr_schedule=max(rate, 1e-12),
        )

    def broadcast_weights(self) -> None:
        """Begin with the first learner's weights; the core sums gradients itself."""
        if self.distributed:
            for value in self._policy.state_dict().values():
                torch.distributed.broadcast(value, src=0)

    def whole_update(self, batch: MultiAgentBatch) -> Iterator[MultiAgentBatch]:
        """Yield the batch once: the core makes epochs and minibatches from it."""
        begins = time.perf_counter()
        if versions := batch[DEFAULT_MODULE_ID]["versions"].tolist():
            lag = self.weights_number - 1 - sum(versions) / len(versions)
            self.metrics.log_value(POLICY_LAG, lag, window=1)
        # RLlib updates on the yielded batch before the generator resumes.
        yield batch
        self._log_load(begins)

    def learn(self, batch: Any) -> dict[str, Any]:
        """The core's update."""
        with self._updating:
            statistics, share = self.core.learn_part(move(batch[DEFAULT_MODULE_ID], self.device))
        # RLlib's mean over learners would weigh them alike, and its sum would leave out NaN.
        part = numbers_of(statistics), Share(**numbers_of(vars(share)))
        self.metrics.log_value((DEFAULT_MODULE_ID, STATISTICS), part, reduce="item_series", window=1)
        return {DEFAULT_MODULE_ID: part[0].get("loss/total", 0.0)}

    def _log_load(self, begins: float) -> None:
        """Log the share of the time since the last update that this one took, and the number of waiting batches."""
        ends = time.perf_counter()
        self.metrics.log_value(BUSY_SHARE, (ends - begins) / max(ends - self._rests_since, 1e-9), window=1)
        self.metrics.log_value(QUEUE_LENGTH, self._queue_length(), window=1)
        if self.config.num_learners:
            logged, self._cpu_seconds_logged = self._cpu_seconds_logged, time.process_time()
            self.metrics.log_value(CPU_SECONDS, self._cpu_seconds_logged - logged, reduce="sum")
        self._rests_since = ends

    def _queue_length(self) -> int:
        """Number of batches that wait for this learner: 0 if sampling and learning alternate."""
        return 0

    def after_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """No-op: coefficients and learning rates follow the objective's own progress."""

    def training_state(self, with_weights: bool = True) -> tuple[Tensors, Progress]:
        """See `loop.Learner.checkpoint`; waits for the end of an update."""
        with self._updating:
            return self.core.checkpoint(with_weights)

    def restore_training_state(self, tensors: Tensors, progress: Progress) -> None:
        """Continue exactly where `training_state` was taken."""
        self.core.restore(tensors, progress)
        # A runner takes weights only if they are newer than its own, which an algorithm that has trained would not be.
        self.count_weights()

    @property
    def progress(self) -> Progress:
        """Progress of training."""
        return self.core.progress

    @property
    def _policy(self) -> TeamPolicy:
        module: Any = self.module
        policy: TeamPolicy = module[DEFAULT_MODULE_ID].policy
        return policy


class TeamPpoLearner(TeamLearner, PPOTorchLearner):
    """PPO over fragments."""


class TeamImpalaLearner(PrivateImpalaLearner, TeamLearner, IMPALATorchLearner):
    """IMPALA over fragments with our V-trace."""

    def build(self) -> None:
        """Build as RLlib does, then watch the threads that it started."""
        super().build()
        self.replace_update(_update_or_record_failure)
        self.keep_batches_on_cpu()  # `learn` copies each batch at once
        self.updates_done = _UpdatesDone(self.threads)
        self.replace_updates_done(self.updates_done)

    def before_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """No-op: coefficients follow the objective's own progress."""

    def _queue_length(self) -> int:
        return self.waiting_batches


class _UpdatesDone(threading.Event):
    """Event that RLlib waits for after updates; does not block when the learner thread is dead."""

    def __init__(self, threads: list[threading.Thread]) -> None:
        super().__init__()
        self._threads = threads
        self.failure = "its log says why"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait without a timeout, but fail if a thread has died."""
        while not super().wait(_POLL_SECONDS):
            dead = [thread.name for thread in self._threads if not thread.is_alive()]
            if dead:
                raise RuntimeError(f"the learner stopped, {dead[0]} has died: {self.failure}")
        return True


def _update_or_record_failure(self: TeamImpalaLearner, **arguments: Any) -> None:
    """Update on a batch in the learner thread, and record the failure if it raises."""
    try:
        Learner.update(self, **arguments)
    except Exception as error:
        self.updates_done.failure = f"{type(error).__name__}: {error}"
        raise


def numbers_of(values: dict[str, Any]) -> dict[str, float]:
    """Numbers and scalars of any device as numbers, in one copy."""
    scalars = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    return {name: float(value) for name, value in (values | to_host(scalars)).items()}


def _sum_over_processes(x: torch.Tensor) -> torch.Tensor:
    summed = x.clone()
    torch.distributed.all_reduce(summed)
    return summed


def bind_to_node_address() -> None:
    """Bind torch's store, gloo and NCCL of this process to the node's own address, before it joins a process group."""
    # What `init_process_group` makes its store with; `torch.distributed.rendezvous` is a function of that module.
    importlib.import_module("torch.distributed.rendezvous").__dict__["TCPStore"] = _store
    if ray.util.get_node_ip_address() in ("127.0.0.1", "::1"):
        for backend in ("GLOO", "NCCL"):
            os.environ.setdefault(f"{backend}_SOCKET_IFNAME", loopback())


def _store(host_name: str, port: int, *, is_master: bool = False, **named: Any) -> TCPStore:
    """Torch's store; where it is the one that listens, on an address that we bind."""
    if is_master:
        family = socket.AF_INET6 if ":" in host_name else socket.AF_INET
        named["master_listen_fd"] = socket.create_server((host_name, port), family=family).detach()
    return TCPStore(host_name, port, is_master=is_master, **named)


def loopback() -> str:
    """Name of the loopback interface: `lo` on Linux, `lo0` on macOS."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
