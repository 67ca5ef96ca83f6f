"""Training in the trial's own process without Ray, with the interface of RLlib's algorithm.

For environments that are so small that starting RLlib takes longer than training, and for those that need the policy
before each fragment, such as one with an adversary.
"""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

from rl_models.losses.extra_loss import Statistics
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.team_world import TeamWorld
from rl_models.training.algorithm import RESTARTED, Tensors
from rl_models.training.collector import Collector
from rl_models.training.grouped_collector import GroupedCollector
from rl_models.training.loop import Learner
from rl_models.training.resharding import in_order, replays_of, reshard_snapshots

BeforeCollect: TypeAlias = Callable[[TeamWorld, TeamPolicy, Progress], None]
"""Called with the world, the present policy and the progress before each fragment."""


class LocalAlgorithm:
    """One collector and one learner that share a policy."""

    def __init__(
        self,
        collector: Collector | GroupedCollector,
        learner: Learner,
        seed: int,
        before_collect: BeforeCollect | None = None,
        updates_per_train: int = 1,
    ) -> None:
        """Start the first episodes; the collector's policy is the learner's.

        `before_collect` is called before each fragment, with each group of worlds; one `train` collects and learns from
        `updates_per_train` fragments.
        """
        self._collector, self.learner = collector, learner
        self._before_collect = before_collect
        self._updates_per_train = updates_per_train
        self._restarted = 0
        learner.seed = seed
        collector.reset(seed)

    def train(self) -> dict[str, float]:
        """Collect and update; the last update's statistics and the means of the episodes that ended, name -> number."""
        statistics: Statistics = {}
        for _ in range(self._updates_per_train):
            if self._before_collect is not None:
                for world in self._collector.worlds:
                    self._before_collect(world, self.learner.policy, self.learner.progress)
            statistics = self.learner.update([self._collector.collect()])
            self._collector.version = self.learner.progress.updates
        episodes = self._collector.pop_episodes()
        means = {f"episode/{name}": float(values.sum() / len(values)) for name, values in episodes.items()}
        if self._restarted:
            means[RESTARTED], self._restarted = float(self._restarted), 0
        return means | {name: float(value) for name, value in statistics.items()}

    def progress(self) -> Progress:
        """Progress of training."""
        return self.learner.counted_progress()

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team that learns, or a copy of it with the weights of a checkpoint, name -> tensor."""
        if weights is None:
            return self.learner.policy
        policy = copy.deepcopy(self.learner.policy)
        policy.load_state_dict(weights)
        return policy

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """State of a checkpoint (weights, optimiser, replay, worlds and recurrent state), and its progress.

        All are copies.
        """
        tensors, progress = self.learner.checkpoint()
        return tensors | {"runner_0": self._collector.snapshot()}, progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Continue from a checkpoint, also one of several runners, groups or learners.

        Where the number of worlds differs, or `reshard_snapshots` cannot redistribute them, worlds start episodes that
        they have not played.
        """
        replay = self.learner.replay
        self.learner.restore(tensors | ({} if replay is None else replays_of(tensors, 1, replay.capacity)), progress)
        worlds = self._collector.worlds
        snapshots = reshard_snapshots(in_order(tensors, "runner"), [[world.num_worlds for world in worlds]])
        if snapshots is None:
            if progress.updates:
                self._collector.reset(self.learner.seed + progress.updates)
            return
        self._collector.restore(snapshots[0])
        self._restarted = sum(int(world.restarted.sum()) for world in worlds if world.restarted is not None)

    def close(self) -> None:
        """Close the worlds."""
        for world in self._collector.worlds:
            world.close()
