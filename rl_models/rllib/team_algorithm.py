"""RLlib's algorithm of one trial, with the interface of `training/algorithm.py`."""

import logging
import math
import warnings
from typing import Any

from rl_models.policy import TeamPolicy
from rl_models.rllib.config import rllib_config
from rl_models.rllib.env_runner import SAMPLING, episode_means, items, sampling_speed
from rl_models.rllib.learner import BUSY_SHARE, CPU_SECONDS, POLICY_LAG, QUEUE_LENGTH, STATISTICS
from rl_models.rllib.workers import TrainingPlan
from rl_models.schedule import Progress
from rl_models.training.algorithm import OTHERS_CPU_SECONDS, RESTARTED, SKIPPED_UPDATES, Tensors
from rl_models.training.loop import joined_statistics
from rl_models.training.resharding import group_sizes, in_order, replays_of, reshard_snapshots


class TeamAlgorithm:
    """PPO or IMPALA of RLlib with our runner, module and learner."""

    def __init__(self, plan: TrainingPlan) -> None:
        """Build everything; remote runners and learners start here."""
        logging.getLogger("ray.rllib").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        self.plan = plan
        self.algorithm = rllib_config(plan).build_algo()
        self._policy: TeamPolicy | None = None
        self._restarted = 0

    def train(self) -> dict[str, float]:
        """One training step of RLlib; its metrics, name -> number."""
        results = self.algorithm.train()
        row = episode_means(results.get("env_runners", {}))
        learners = results.get("learners", {})
        parts = items(learners.get("default_policy", {}).get(STATISTICS, []))
        row |= {name: float(value) for name, value in joined_statistics(parts).items()}
        others = (results.get("env_runners", {}).get(SAMPLING, {}).get(CPU_SECONDS), learners.get(CPU_SECONDS))
        if spent := [float(seconds) for seconds in others if _was_logged(seconds)]:
            row[OTHERS_CPU_SECONDS] = sum(spent)
        timers = results.get("timers", {})
        metrics = {
            f"speed/{name}_seconds": timers.get(f"{name}_timer") for name in ("env_runner_sampling", "learner_update")
        }
        metrics |= {f"learner/{name}": learners.get(name) for name in (POLICY_LAG, QUEUE_LENGTH)}
        metrics["speed/learner_busy_share"] = learners.get(BUSY_SHARE)
        metrics["learner/healthy_runners"] = results.get("fault_tolerance", {}).get("num_healthy_workers")
        metrics["speed/env_steps_per_second_of_a_runner"] = sampling_speed(results.get("env_runners", {}))
        if self._restarted:
            row[RESTARTED], self._restarted = float(self._restarted), 0
        return row | {name: float(value) for name, value in metrics.items() if _was_logged(value)}

    def progress(self) -> Progress:
        """Progress of training."""
        progress: Progress = self.each_learner(lambda learner: learner.core.counted_progress())[0]
        return progress

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team in this process, for evaluation, with the weights of a checkpoint or its present ones."""
        # The last one is kept, because it holds the base of a language model, which would be read from disk again.
        policy = self._policy = self.plan.new_policy().eval()
        policy.load_state_dict(self.checkpoint()[0]["weights"] if weights is None else weights)
        return policy

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """State of a checkpoint, and the progress of training.

        The tensors are weights, optimiser, each learner's replay if it has one, and each runner's worlds and recurrent
        state.
        """
        (tensors, progress), *others = self.each_learner(
            lambda learner: learner.training_state(with_weights=learner.core.learners.rank == 0)
        )
        for replay, _ in others:
            tensors |= replay
        runners = self.algorithm.env_runner_group.foreach_env_runner(
            lambda runner: (_place(runner), runner.snapshot()), local_env_runner=self._samples_here
        )
        return tensors | {f"runner_{index}": snapshot for index, snapshot in runners if snapshot}, progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Continue from a checkpoint, also one of other runners, groups or learners.

        Worlds and recurrent states are redistributed over the present runners. Where the number of worlds differs, or
        `reshard_snapshots` cannot redistribute them, worlds start new episodes.
        """
        workers = self.plan.workers
        training = {name: tensors[name] for name in ("weights", "optimizer", *({SKIPPED_UPDATES} & tensors.keys()))}
        if (empty := self.plan.objective.new_replay()) is not None:
            training |= replays_of(tensors, max(1, workers.learners), empty.capacity)
        self.each_learner(lambda learner: learner.restore_training_state(training, progress))
        group = self.algorithm.env_runner_group
        # Wait, because RLlib drops weights for a runner that is still loading earlier ones.
        group.sync_weights(
            from_worker_or_learner_group=self.algorithm.learner_group,
            inference_only=True,
            timeout_seconds=self.algorithm.config.sample_timeout_s,
        )
        sizes = [group_sizes(workers.worlds_per_runner, workers.world_groups)] * max(1, workers.runners)
        snapshots = reshard_snapshots(in_order(tensors, "runner"), sizes)
        restarted = group.foreach_env_runner(
            lambda runner: runner.restore_snapshot(
                {} if snapshots is None else snapshots[_place(runner)], seed_offset=progress.updates
            ),
            local_env_runner=self._samples_here,
        )
        self._restarted = sum(restarted)

    def close(self) -> None:
        """Stop runners and learners."""
        self.algorithm.stop()

    @property
    def _samples_here(self) -> bool:
        return self.plan.workers.runners == 0

    def each_learner(self, function: Any) -> list[Any]:
        """Results of a function of each learner."""
        results = self.algorithm.learner_group.foreach_learner(function)
        return [getattr(result, "get", lambda result=result: result)() for result in results]


def _was_logged(value: Any) -> bool:
    """Whether a metric was logged since the last call: else RLlib gives NaN, which a sum would keep."""
    return value is not None and not math.isnan(value)


def _place(runner: Any) -> int:
    """Number of a runner from 0: RLlib counts remote ones from 1, and calls a local one 0."""
    return max(int(runner.worker_index) - 1, 0)
