"""The whole of training in one process without Ray: collect, loss, step.

Unit tests, benchmarks and GPU measurements use it; RLlib's runners and learners are made of the same pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from rl_models.algorithms.accumulation import Divergence, parts
from rl_models.algorithms.objective import Objective, Ppo
from rl_models.algorithms.optimiser import OptimiserSettings, clip_gradients, make_optimiser, set_learning_rate
from rl_models.algorithms.qmix import Qmix
from rl_models.algorithms.replay import Replay
from rl_models.batch import Batch, steps_of_decisions, take, think, to_batch
from rl_models.fragment import Fragment
from rl_models.losses.extra_loss import Statistics
from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress
from rl_models.training.collector import Collector


@dataclass
class Learner:
    """Updates a policy from fragments.

    Attributes:
        policy: what is trained.
        objective: what is minimised.
        settings: with which optimiser.
        progress: how far training has come.
    """

    policy: TeamPolicy
    objective: Objective
    settings: OptimiserSettings
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        """Build the optimiser, and bring the objective's tables to where the policy is."""
        self.optimiser = make_optimiser(self.settings, self.policy.parameters(), self.policy.value_head.parameters())
        self.divergence = Divergence(self.objective)
        self.replay = self.objective.new_replay()
        for extra in self.objective.extra_losses:
            extra.to(self.device)

    @property
    def device(self) -> torch.device:
        """Where the policy learns."""
        return next(self.policy.parameters()).device

    def update(self, fragments: list[Fragment]) -> Statistics:
        """All epochs over the fragments; the statistics of the last minibatch."""
        joined = Fragment.join(fragments)
        batch = self.objective.prepare(to_batch(joined, self.device))
        count_progress(self.progress, batch)
        statistics: Statistics = {}
        for minibatch in minibatches(self.objective, batch, self.progress.updates, self.replay):
            statistics = self._minibatch(minibatch)
            if self.divergence.is_too_large:
                break
        return statistics

    def _minibatch(self, minibatch: Batch) -> Statistics:
        self.optimiser.zero_grad(set_to_none=True)
        for part in parts(self.objective, minibatch):
            loss, statistics = self.objective.loss(think(self.policy, part.batch), part.batch, self.progress)
            self.divergence.add(part, statistics)
            (loss * part.share).backward()
        statistics |= self.divergence.told()
        return statistics if self.divergence.is_too_large else statistics | self._step()

    def _step(self) -> Statistics:
        rate = set_learning_rate(self.optimiser, self.settings, self.progress)
        norm, is_finite = clip_gradients(self.settings, gradients_of(self.policy))
        if is_finite:
            self.optimiser.step()
        self.progress.updates += 1
        self.objective.after_step(self.policy, self.progress)
        skipped = 0.0 if is_finite else 1.0
        return {"learner/gradient_norm": norm, "schedule/learning_rate": rate, "learner/skipped_update": skipped}


def gradients_of(module: nn.Module) -> list[torch.Tensor]:
    """Gradients of a module's parameters, in order."""
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


def count_progress(progress: Progress, batch: Batch, learners: int = 1) -> None:
    """Count what this learner is about to learn from, times the learners that share the work."""
    ended = batch["terminated"] | batch["truncated"]
    progress.env_steps += ended.numel() * learners
    progress.episodes += int(ended.sum()) * learners


def minibatches(objective: Objective, batch: Batch, seed: int, replay: Replay | None = None) -> Iterator[Batch]:
    """All epochs' minibatches: whole sequences, shuffled anew each epoch by a generator of this seed alone.

    Q-learning adds the batch to its replay and draws from there; PPO by decisions shuffles these instead of sequences.

    There are as many as the objective says, of sizes that differ by one at most, unless there are fewer worlds: several
    learners wait for each other at every minibatch, and their shares of the worlds may differ by one.
    """
    if isinstance(objective, Qmix):
        yield from _replayed(objective, batch, seed, objective.new_replay() if replay is None else replay)
        return
    if isinstance(objective, Ppo) and objective.by_decisions:
        batch = steps_of_decisions(batch)
    worlds = len(batch["is_first"])
    generator = torch.Generator().manual_seed(seed)
    for _ in range(objective.epochs):
        if objective.minibatches == 1:
            yield batch
            continue
        for part in torch.randperm(worlds, generator=generator).tensor_split(min(objective.minibatches, worlds)):
            yield take(batch, part.to(batch["is_first"].device))


def _replayed(objective: Qmix, batch: Batch, seed: int, replay: Replay) -> Iterator[Batch]:
    replay.add(batch)
    for drawn in replay.draws(objective.updates, objective.fragments, seed):
        yield {key: value.to(batch["is_first"].device) for key, value in drawn.items()}


def train(collector: Collector, learner: Learner, budget_env_steps: int) -> Statistics:
    """Collect and learn in turns until the budget is spent; the last statistics."""
    statistics: Statistics = {}
    while learner.progress.env_steps < budget_env_steps:
        statistics = learner.update([collector.collect()])
        collector.version = learner.progress.updates
    return statistics
