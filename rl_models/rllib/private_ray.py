"""All uses of Ray's private names, which may change between releases, in one file.

Mixins give the private methods that RLlib calls, and the private attributes that it sets, public names of ours. A mixin
precedes RLlib's class in the list of bases. `PRIVATE_NAMES` lists all of them, and a test looks for each in the
installed Ray. Importing this file does not import Ray.
"""

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from queue import Queue
from typing import Any

from rl_models.runtime.device import chosen_device

PRIVATE_NAMES: dict[str, tuple[str, ...]] = {
    "ray.rllib.core.learner.torch.torch_learner:TorchLearner": (
        "_convert_batch_type",
        "_create_iterator_if_necessary",
        "_device",
        "_make_batch_if_necessary",
        "_make_modules_ddp_if_necessary",
        "_update",
        "_weights_seq_no",
    ),
    "ray.rllib.algorithms.impala.impala_learner:IMPALALearner": (
        "_agg_event",
        "_gpu_loader_threads",
        "_learner_thread",
        "_learner_thread_in_queue",
    ),
    "ray.rllib.algorithms.impala.impala_learner:_GPULoaderThread": ("_to_device_safe",),
    "ray.rllib.algorithms.impala.impala_learner:_LearnerThread": ("_update_method",),
    "ray.rllib.env.single_agent_env_runner:SingleAgentEnvRunner": (
        "_device",
        "_increase_sampled_metrics",
        "_needs_initial_reset",
        "_sample",
        "_weights_seq_no",
    ),
    "ray.rllib.core.rl_module.torch.torch_rl_module:TorchRLModule": ("_forward",),
    "ray.rllib.core.distribution.torch.torch_distribution:TorchDistribution": ("_get_torch_distribution",),
    "ray.tune.schedulers.pbt:PopulationBasedTraining": ("_next_perturbation_sync",),
    "ray.job_config:JobConfig": ("_client_job", "_py_driver_sys_path"),
    "ray._private.node:Node": ("dead_processes",),
    "ray._private.parameter:RayParams": ("update_if_absent",),
    "ray._private:ray_constants": ("ENABLE_RAY_CLUSTER",),
}
"""`module:Class`, or `package:module` -> names that it defines or sets on itself."""


class PrivateDevice:
    """Base of an RLlib process whose networks run on the device that `rl_models.runtime.device` names.

    RLlib would put a runner in the trial's own process on the CPU, and a learner there by a number of GPUs that Ray
    knows of.
    """

    @property
    def _device(self) -> Any:
        return chosen_device()

    @_device.setter
    def _device(self, device: Any) -> None:
        """Ignores RLlib's choice."""


class PrivateLearner(PrivateDevice):
    """Base of a `TorchLearner`: RLlib's update calls `learn`."""

    _weights_seq_no: int

    @abstractmethod
    def broadcast_weights(self) -> None:
        """Give all learners the same weights, once, before the first update."""

    @abstractmethod
    def whole_update(self, batch: Any) -> Iterator[Any]:
        """Yield the batch that RLlib's loop is to update with, and finish the update when resumed."""

    @abstractmethod
    def learn(self, batch: Any) -> dict[str, Any]:
        """Update with a batch; module id -> loss."""

    @property
    def weights_number(self) -> int:
        """RLlib's `weights_seq_no`."""
        return self._weights_seq_no

    def count_weights(self) -> None:
        """Increment RLlib's `weights_seq_no`."""
        self._weights_seq_no += 1

    def _make_modules_ddp_if_necessary(self) -> None:
        self.broadcast_weights()

    def _create_iterator_if_necessary(self, *, training_data: Any, **kwargs: Any) -> Iterator[Any]:
        make_batch: Callable[[Any], Any] = self._make_batch_if_necessary  # type: ignore[attr-defined]
        yield from self.whole_update(make_batch(training_data))

    def _convert_batch_type(self, batch: Any, **kwargs: Any) -> Any:
        # RLlib would copy one tensor after another to the device; `learn` copies them together.
        return super()._convert_batch_type(batch, to_device=False)  # type: ignore[misc]

    def _update(self, batch: Any, **kwargs: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        return None, self.learn(batch), {}


class PrivateImpalaLearner:
    """Base of an `IMPALALearner`, with the threads that it starts in `build`."""

    _learner_thread: Any
    _learner_thread_in_queue: Queue[Any]
    _agg_event: threading.Event

    @property
    def threads(self) -> list[threading.Thread]:
        """The learner thread and the GPU loader threads."""
        return [self._learner_thread, *getattr(self, "_gpu_loader_threads", [])]

    @property
    def waiting_batches(self) -> int:
        """Batches that wait for the learner thread."""
        return int(self._learner_thread_in_queue.qsize())

    def replace_update(self, update: Callable[..., None]) -> None:
        """Let the learner thread call this with each batch."""
        self._learner_thread._update_method = update

    def keep_batches_on_cpu(self) -> None:
        """Let the GPU loader threads pass batches on unchanged."""
        for thread in getattr(self, "_gpu_loader_threads", []):
            thread._to_device_safe = lambda batch: batch

    def replace_updates_done(self, event: threading.Event) -> None:
        """Let RLlib set and wait for this event after updates."""
        self._agg_event = event


class PrivateEnvRunner(PrivateDevice):
    """Base of a `SingleAgentEnvRunner`: RLlib's sampling calls `sample_fragments`."""

    _needs_initial_reset: bool
    _weights_seq_no: int

    @abstractmethod
    def sample_fragments(self, force_reset: bool) -> list[Any]:
        """Sample in every world, with new episodes if `needs_reset`."""

    @property
    def needs_reset(self) -> bool:
        """Whether worlds begin new episodes before they are stepped."""
        return self._needs_initial_reset

    @needs_reset.setter
    def needs_reset(self, needs: bool) -> None:
        self._needs_initial_reset = needs

    @property
    def weights_number(self) -> int:
        """RLlib's `weights_seq_no` of the current weights."""
        return self._weights_seq_no

    def count_samples(self, env_steps: int, episodes: int) -> None:
        """Add to RLlib's own counters."""
        self._increase_sampled_metrics(env_steps, episodes)  # type: ignore[attr-defined]

    def _sample(self, **arguments: Any) -> list[Any]:
        return self.sample_fragments(bool(arguments.get("force_reset")))


class PrivateModule:
    """Base of a `TorchRLModule`: RLlib's forward pass calls `forward_columns`."""

    @abstractmethod
    def forward_columns(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Columns of RLlib for a batch of RLlib."""

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self.forward_columns(batch)


class PrivateDistribution:
    """Base of a `TorchDistribution` that wraps none of torch's own."""

    def _get_torch_distribution(self, *args: Any, **kwargs: Any) -> None:
        return None


class PrivatePopulation:
    """Base of a `PopulationBasedTraining` whose members wait for one another at the end of a generation."""

    _next_perturbation_sync: int

    @property
    def awaited_generation(self) -> int:
        """Generation at which members wait; Tune resumes those before it alone."""
        return self._next_perturbation_sync

    @awaited_generation.setter
    def awaited_generation(self, generation: int) -> None:
        self._next_perturbation_sync = generation


def make_job_config(path: Sequence[str]) -> Any:
    """Ray's `JobConfig` of a job whose workers look for modules in these places first, in this order.

    By itself Ray puts the current folder first, where a file `random.py` or `torch.py` would hide the module.
    """
    from ray.job_config import JobConfig

    # Workers put one place after another first; of a client's job Ray adds no current folder.
    return JobConfig(_client_job=True, _py_driver_sys_path=list(reversed(path)))


def bind_to_loopback() -> None:
    """Let clusters that an imported Ray starts bind to 127.0.0.1; before, RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 does."""
    from ray._private import ray_constants

    ray_constants.ENABLE_RAY_CLUSTER = False


def start_node(**parameters: Any) -> Any:
    """Join a cluster with a raylet that ends with this process; `parameters` are those of Ray's `RayParams`."""
    from ray._private.node import Node
    from ray._private.parameter import RayParams

    return Node(RayParams(**parameters), head=False, shutdown_at_exit=True, spawn_reaper=True, connect_only=False)
