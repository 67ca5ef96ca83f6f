"""RLlib learners that minimise an `Objective`: the losses, optimisers and minibatches of `training/`, nothing more.

PPO's learner runs in RLlib's synchronous update, IMPALA's in its learner thread. Stock losses are not called: the
stock V-trace of Ray 2.60 drops the bootstrap value at every fragment end.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import torch
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.learner.learner import Learner
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from rl_models.algorithms.accumulation import Divergence, Part, parts
from rl_models.algorithms.objective import Objective
from rl_models.algorithms.optimiser import OptimiserSettings, clip_gradients, make_optimiser, set_learning_rate
from rl_models.losses.extra_loss import Statistics
from rl_models.policy import TeamPolicy
from rl_models.rllib.module import TEAM
from rl_models.rllib.rendezvous import keep_to_nodes_address
from rl_models.schedule import Progress
from rl_models.training.checkpoint_state import load_optimiser, optimiser_tensors
from rl_models.training.loop import count_progress, minibatches

logger = logging.getLogger(__name__)

STATISTICS = "statistics"
"""Where learners' results hold what objectives and extra losses tell, apart from RLlib's own numbers."""
POLICY_LAG, BUSY_SHARE, QUEUE_LENGTH = "policy_lag_updates", "busy_share", "queue_length"
"""Of a learner: updates since the weights that acted; its share of the time that it learned; batches that wait."""
_LOOKS_AFTER_SECONDS = 1.0


class TeamLearner(TorchLearner):
    """What PPO's and IMPALA's team learners share."""

    objective: Objective
    settings: OptimiserSettings
    _part: Part

    def __init__(self, **arguments: Any) -> None:
        """A learner process is made before it meets the others."""
        super().__init__(**arguments)
        if self.config.num_learners:
            keep_to_nodes_address()

    def build(self) -> None:
        """Read objective and optimiser from `learner_config_dict`, then build as RLlib does."""
        self.objective = self.config.learner_config_dict["objective"]
        self.settings = self.config.learner_config_dict["optimiser"]
        self.progress = Progress()
        self.replay = self.objective.new_replay()
        self.divergence = Divergence(self.objective)
        # IMPALA updates in a thread of its own; whoever reads the training state waits for whole updates.
        self._updating = threading.Lock()
        self._rests_since = time.perf_counter()
        super().build()
        for extra in self.objective.extra_losses:
            extra.to(self._device)

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register our optimiser; its rate is set by our schedule before every step."""
        parameters = self.get_parameters(self._module[module_id])
        optimiser = make_optimiser(self.settings, parameters, self._policy.value_head.parameters())
        rate = self.settings.learning_rate.at(self.progress)
        self.register_optimizer(
            module_id=module_id, optimizer=optimiser, params=parameters, lr_or_lr_schedule=max(rate, 1e-12)
        )

    def _create_iterator_if_necessary(self, *, training_data: Any, **kwargs: Any) -> Iterator[MultiAgentBatch]:
        """Prepare the batch once and yield every epoch's minibatches of whole sequences."""
        begins = time.perf_counter()
        module_batch = self._make_batch_if_necessary(training_data).policy_batches[DEFAULT_MODULE_ID]
        on_device = {key: value.to(self._device) for key, value in module_batch.items()}
        batch = self.objective.prepare(on_device, self._mean_over_learners)
        with self._updating:
            count_progress(self.progress, batch, max(1, self.config.num_learners))
            self.metrics.log_value(POLICY_LAG, self._policy_lag(batch), window=1)
            for minibatch in minibatches(self.objective, batch, self.progress.updates, self.replay):
                # RLlib's update of what is yielded runs before the generator goes on.
                for part in parts(self.objective, minibatch):
                    self._part = part
                    yield _of_rllib(part.batch)
                if self.divergence.is_too_large:
                    break
        self._log_load(begins)

    def _log_load(self, begins: float) -> None:
        """How much of the time since the last update went into this one, and how many batches wait meanwhile."""
        ends = time.perf_counter()
        self.metrics.log_value(BUSY_SHARE, (ends - begins) / max(ends - self._rests_since, 1e-9), window=1)
        self.metrics.log_value(QUEUE_LENGTH, self._queue_length(), window=1)
        self._rests_since = ends

    def _queue_length(self) -> int:
        """Batches that wait for this learner: none where playing and learning take turns."""
        return 0

    def compute_loss_for_module(self, *, module_id: str, config: Any, batch: Any, fwd_out: Any) -> torch.Tensor:
        """The objective's loss."""
        loss, statistics = self.objective.loss(fwd_out[TEAM], dict(batch), self.progress)
        self.divergence.add(self._part, statistics)
        self._log_statistics(module_id, statistics)
        return loss * self._part.share

    def compute_gradients(self, loss_per_module: Any, **kwargs: Any) -> Any:
        """RLlib's, added to those of the minibatch's parts before."""
        before = {} if self._part.is_first else {name: weight.grad for name, weight in self._params.items()}
        gradients = super().compute_gradients(loss_per_module, **kwargs)
        for name, gradient in before.items():
            if gradient is not None:
                weight = self._params[name]
                weight.grad = gradient if weight.grad is None else weight.grad.add_(gradient)
                gradients[name] = weight.grad
        return gradients

    def postprocess_gradients(self, gradients_dict: Any) -> Any:
        """Clip all gradients together once they are complete; a non-finite one cancels the whole step."""
        if not self._part.is_last:
            return gradients_dict
        self._agree_on_divergence()
        if self.divergence.is_too_large:
            return gradients_dict
        present = [gradient for gradient in gradients_dict.values() if gradient is not None]
        norm, self._is_finite = clip_gradients(self.settings, present)
        self._log_statistics(DEFAULT_MODULE_ID, {"learner/gradient_norm": norm})
        return gradients_dict

    def apply_gradients(self, gradients_dict: Any) -> None:
        """Set the scheduled rate and step, unless a gradient was not finite or the policy has moved too far."""
        if not self._part.is_last or self.divergence.is_too_large:
            return
        optimiser = self.get_optimizer(DEFAULT_MODULE_ID)
        rate = set_learning_rate(optimiser, self.settings, self.progress)
        if self._is_finite:
            optimiser.step()
        self.progress.updates += 1
        self.objective.after_step(self._policy, self.progress)
        skipped = 0.0 if self._is_finite else 1.0
        self._log_statistics(DEFAULT_MODULE_ID, {"schedule/learning_rate": rate, "learner/skipped_update": skipped})

    def _agree_on_divergence(self) -> None:
        """All learners go on or stop together: each takes the mean of all, as of their gradients."""
        if not self.divergence.has_limit:
            return
        self.divergence.mean = self._mean_over_learners(self.divergence.mean)
        self._log_statistics(DEFAULT_MODULE_ID, self.divergence.told())

    def _mean_over_learners(self, mean: torch.Tensor) -> torch.Tensor:
        """`OverLearners`: all learners ask at the same moments of an update, and wait for each other."""
        if self.config.num_learners <= 1:
            return mean
        summed = mean.clone()
        torch.distributed.all_reduce(summed)
        return summed / self.config.num_learners

    def after_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """Nothing of RLlib's: coefficients and rates follow our own progress."""

    def training_state(self) -> tuple[dict[str, dict[str, torch.Tensor]], Progress]:
        """Copies of weights, optimiser and replay, and how far training has come, between two updates."""
        with self._updating:
            tensors = {
                "weights": self._policy.state_dict(),
                "optimizer": optimiser_tensors(self.get_optimizer(DEFAULT_MODULE_ID)),
            }
            if self.replay is not None:
                tensors["replay"] = self.replay.tensors()
            copies = {
                group: {name: value.detach().cpu().clone() for name, value in named.items()}
                for group, named in tensors.items()
            }
            return copies, Progress(**vars(self.progress))

    def restore_training_state(self, tensors: dict[str, dict[str, torch.Tensor]], progress: Progress) -> None:
        """Continue exactly where `training_state` was taken."""
        self._policy.load_state_dict(tensors["weights"])
        load_optimiser(self.get_optimizer(DEFAULT_MODULE_ID), tensors["optimizer"])
        if self.replay is not None:
            self.replay.load(tensors.get("replay", {}))
        self.progress = Progress(**vars(progress))  # a copy: the caller's must not move with every update
        # A runner takes weights only if they are newer than its own, which an algorithm that has trained would not be.
        self._weights_seq_no += 1

    @property
    def _policy(self) -> TeamPolicy:
        """The team; several learners wrap its module to average their gradients."""
        module: Any = self.module
        policy: TeamPolicy = module[DEFAULT_MODULE_ID].unwrapped().policy
        return policy

    def _log_statistics(self, module_id: str, statistics: Statistics) -> None:
        for name, value in statistics.items():
            self.metrics.log_value((module_id, STATISTICS, *name.split("/")), value, window=1)

    def _policy_lag(self, batch: dict[str, torch.Tensor]) -> float:
        return float(self._weights_seq_no - 1 - batch["versions"].double().mean())


class TeamPpoLearner(TeamLearner, PPOTorchLearner):
    """PPO over fragments."""


class TeamImpalaLearner(TeamLearner, IMPALATorchLearner):
    """IMPALA over fragments with our V-trace."""

    def build(self) -> None:
        """Build as RLlib does, then watch the threads that it started."""
        super().build()
        self._learner_thread._update_method = _update_or_say_why
        threads = [self._learner_thread, *getattr(self, "_gpu_loader_threads", [])]
        self._agg_event = self.updates_done = _UpdatesDone(threads)

    def before_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """Nothing of RLlib's: coefficients follow our own progress."""

    def _queue_length(self) -> int:
        return int(self._learner_thread_in_queue.qsize())


class _UpdatesDone(threading.Event):
    """RLlib's sign that the learner thread has done its updates, for which it would wait for ever on a dead thread."""

    def __init__(self, threads: list[threading.Thread]) -> None:
        super().__init__()
        self._threads = threads
        self.failure = "its log says why"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait without a limit, but only for threads that live."""
        while not super().wait(_LOOKS_AFTER_SECONDS):
            dead = [thread.name for thread in self._threads if not thread.is_alive()]
            if dead:
                raise RuntimeError(f"the learner stopped, {dead[0]} has died: {self.failure}")
        return True


def _update_or_say_why(self: TeamImpalaLearner, **arguments: Any) -> None:
    """What the learner thread does with a batch."""
    try:
        Learner.update(self, **arguments)
    except Exception as error:
        self.updates_done.failure = f"{type(error).__name__}: {error}"
        raise


def _of_rllib(batch: dict[str, torch.Tensor]) -> MultiAgentBatch:
    """A batch as RLlib's learners take it. A step's rows are worlds times steps; RLlib only counts them."""
    return MultiAgentBatch({DEFAULT_MODULE_ID: _Rows(batch)}, env_steps=batch["terminated"].numel())


class _Rows(SampleBatch):
    """A minibatch of sequences under its flat names; token tables have no rows of their own."""

    def __init__(self, batch: dict[str, torch.Tensor]) -> None:
        super().__init__({key: value for key, value in batch.items() if not key.startswith("texts/")})
        for key in batch.keys() - self.keys():
            dict.__setitem__(self, key, batch[key])
