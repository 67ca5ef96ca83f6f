"""Training loop without Ray: collect, compute the loss, step; alone or as one of several learners.

Tests and benchmarks use it, and RLlib's learners pass their batches to its `Learner`. A minibatch may come in parts
whose gradients are summed before a step; a part is weighted by its share of the steps (`batch.Share`). An update ends
early if the policy has moved too far from the sampling policy.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from rl_models.algorithms.objective import APPROXIMATE_KL, CLIP_FRACTION, KL_ENTRIES, RATIO_ERROR, Objective
from rl_models.algorithms.optimiser import (
    OptimiserSettings,
    clip_gradients,
    load_optimiser,
    make_optimiser,
    optimiser_tensors,
    set_learning_rate,
    step_if_finite,
)
from rl_models.batch import (
    ALONE,
    Batch,
    Fragment,
    Learners,
    OverLearners,
    Share,
    alone,
    compute_share,
    count_steps,
    forward,
    select_worlds,
    to_batch,
)
from rl_models.losses.extra_loss import Statistics
from rl_models.policy import TeamPolicy
from rl_models.runtime import device as devices
from rl_models.runtime.cuda_graph import Graphed, Inputs, Outputs, is_capturing
from rl_models.runtime.texts import TEXTS
from rl_models.schedule import Progress
from rl_models.training.algorithm import SKIPPED_UPDATES, Tensors, replay_group
from rl_models.training.collector import Collector
from rl_models.training.grouped_collector import GroupedCollector

FIRST_RATIO_ERROR = "policy/first_ratio_error"
"""Largest |ratio - 1| of an update's first minibatch: difference between acting and learning."""
SKIPPED = "learner/skipped_updates"
"""Statistic: share of the last `WINDOW` optimiser steps that were skipped; steps still to come count as made."""
WINDOW = 20
_WHOLE = "whole"
_SHARES = ("share/steps", "share/decisions", "share/values")


@dataclass
class Learner:
    """Updates a policy from fragments, with the progress and weights of all learners of the group.

    Attributes:
        policy: policy that is trained.
        objective: training objective.
        settings: optimiser settings.
        progress: counts of training, with the work of all learners; `counted_progress` adds skipped updates.
        seed: seed of the shuffles of minibatches.
        learners: group of learners that make each update together; each has a policy of its own with equal weights.
    """

    policy: TeamPolicy
    objective: Objective
    settings: OptimiserSettings
    progress: Progress = field(default_factory=Progress)
    seed: int = 0
    learners: Learners = ALONE

    def __post_init__(self) -> None:
        """Build the optimiser and an empty replay."""
        self.policy.precision = self.settings.precision
        self.optimiser = make_optimiser(self.settings, self.policy.parameters(), self.policy.value_head.parameters())
        self.divergence = Divergence(self.objective)
        self.replay = self.objective.new_replay()
        self.skipped = SkippedUpdates(self.device)
        self._trainable = [weight for weight in self.policy.parameters() if weight.requires_grad]
        self.graphed: Graphed | None = None  # until the device can capture CUDA graphs

    @property
    def device(self) -> torch.device:
        """Device on which the policy learns."""
        return next(self.policy.parameters()).device

    def update(self, fragments: list[Fragment]) -> Statistics:
        """Run all epochs over the fragments; returns the statistics of the last minibatch."""
        return self.learn(to_batch(Fragment.join(fragments), self.device))

    def learn(self, batch: Batch) -> Statistics:
        """Run all epochs over this learner's worlds, perhaps none; statistics of its last minibatch (`to_batch`)."""
        return joined_statistics([self.learn_part(batch)])

    def learn_part(self, batch: Batch) -> tuple[Statistics, Share]:
        """`learn` as one of several learners: statistics and what it held of the minibatch, for `joined_statistics`."""
        if devices.can_capture(self.device):
            self.graphed = self.graphed or Graphed(self.policy, leaves_gradients=True)
            self.graphed.refresh_weights(self.device)
        batch = self.objective.prepare(pad_text_tables(batch), self.learners)
        count_progress(self.progress, batch, self.learners.sum)
        statistics: Statistics = {}
        first: Statistics = {}
        share = Share(0.0, 0.0, 0.0)
        seed = shuffle_seed(self.seed, self.progress.env_steps)
        for number, minibatch in enumerate(self.objective.minibatches(batch, seed, self.replay, self.learners)):
            found, share = self._minibatch(minibatch)
            if number == 0 and RATIO_ERROR in found:
                first = {FIRST_RATIO_ERROR: found[RATIO_ERROR]}
            # A learner without a row of this minibatch has no numbers of it, and those of an earlier one do not count.
            statistics = (statistics if len(minibatch["is_first"]) else {}) | found
            if self.divergence.is_too_large:
                break
        return (statistics | first | {SKIPPED: self.skipped.share()} if statistics else {}), share

    def counted_progress(self) -> Progress:
        """A copy of the progress in which the skipped updates are counted; synchronises with the device."""
        return replace(self.progress, skipped_updates=self.progress.skipped_updates + self.skipped.count())

    def checkpoint(self, with_weights: bool = True) -> tuple[Tensors, Progress]:
        """Copies of weights and optimiser (both equal in all learners) and of this learner's replay; the progress."""
        tensors: Tensors = {}
        if with_weights:
            weights = self.policy.state_dict()
            tensors["weights"] = {name: value.detach().to("cpu", copy=True) for name, value in weights.items()}
            tensors["optimizer"] = optimiser_tensors(self.optimiser)
            if skipped := self.skipped.tensors():
                tensors[SKIPPED_UPDATES] = skipped
        if self.replay is not None:
            tensors[replay_group(self.learners.rank)] = self.replay.tensors()
        return tensors, self.counted_progress()

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Continue exactly where `checkpoint` was taken, or begin a stage with the weights of the stage before."""
        self.policy.load_state_dict(tensors["weights"])
        load_optimiser(self.optimiser, tensors["optimizer"])
        if self.replay is not None:
            self.replay.load(tensors.get(replay_group(self.learners.rank), {}))
        self.progress = replace(progress)
        self.skipped.load(tensors.get(SKIPPED_UPDATES, {}))

    def _minibatch(self, minibatch: Batch) -> tuple[Statistics, Share]:
        """Sum the gradients of all parts, also those of other learners, and step; what this learner has of it."""
        self.optimiser.zero_grad(set_to_none=True)
        self.divergence.begin(self.device)
        whole = self.learners.sum(count_steps(minibatch))
        gathered: list[tuple[Statistics, Share]] = []
        pieces = parts(self.objective, minibatch)
        for part in pieces:
            inputs = part | {_WHOLE: whole}
            # A replayed graph overwrites the gradients of an earlier part.
            if self.graphed is not None and len(pieces) == 1:
                found = self.graphed(self._compute_part, inputs, self.progress)
            else:
                found = self._compute_part(inputs)
            share = Share(*(found.pop(name) for name in _SHARES))
            self.divergence.add(found)
            gathered.append((found, share))
        self.divergence.sum_over_learners(self.learners)
        statistics, share = _as_one_part(gathered)
        statistics |= self.divergence.statistics()
        return (statistics if self.divergence.is_too_large else statistics | self._step()), share

    def _compute_part(self, inputs: Inputs) -> Outputs:
        """Add the gradients of a part of a minibatch; its statistics and `Share`. May be captured as a CUDA graph."""
        part = {name: value for name, value in inputs.items() if name != _WHOLE}
        share = compute_share(part, inputs[_WHOLE])
        progress = self.progress.observed() if self.graphed is not None and is_capturing() else self.progress
        loss, statistics = self.objective.loss(forward(self.policy, part), part, progress, share)
        loss.backward()
        return statistics | dict(zip(_SHARES, (share.steps, share.decisions, share.values), strict=True))

    def _step(self) -> Statistics:
        self.learners.sum_gradients(self._trainable)
        rate = set_learning_rate(self.optimiser, self.settings, self.progress)
        gradients = [weight.grad for weight in self._trainable if weight.grad is not None]
        norm, is_finite = clip_gradients(self.settings, gradients)
        step_if_finite(self.optimiser, is_finite)
        self.skipped.add(is_finite)
        self.progress.updates += 1
        self.objective.after_step(self.policy, self.progress)
        return {"learner/gradient_norm": norm, "schedule/learning_rate": rate}


def pad_text_tables(batch: Batch) -> Batch:
    """A batch whose tables of texts have few different numbers of rows on an accelerator; on the CPU as it is.

    Nearly every fragment has another number of texts, and a CUDA graph is replayed only for equal shapes. So a table is
    padded with empty texts up to the next eighth of a power of two.
    """
    if batch["is_first"].device.type == "cpu":
        return batch
    return {key: _filled_up(value) if key.startswith(TEXTS) else value for key, value in batch.items()}


def _filled_up(table: Tensor) -> Tensor:
    eighth = max(8, 2 ** (len(table).bit_length() - 4))
    return torch.nn.functional.pad(table, (0, 0, 0, -len(table) % eighth))


def count_progress(progress: Progress, batch: Batch, over_learners: OverLearners = alone) -> None:
    """Add the env steps and episodes of all learners' batches to the progress."""
    ended = batch["terminated"] | batch["truncated"]
    counts = torch.stack([torch.full((), ended.numel(), device=ended.device), ended.sum()])
    env_steps, episodes = over_learners(counts).tolist()
    progress.env_steps += env_steps
    progress.episodes += episodes


def shuffle_seed(seed: int, env_steps: int) -> int:
    """Seed of an update's shuffles: different for each trial and update, equal in a continued run.

    It counts env steps, since an update that `target_kl` ends at its first minibatch makes no optimiser step.
    """
    return int(np.random.SeedSequence((seed % 2**32, env_steps)).generate_state(1)[0])


def train(collector: Collector | GroupedCollector, learner: Learner, budget_env_steps: int) -> Statistics:
    """Collect and learn in turns until the budget is spent; the last statistics."""
    statistics: Statistics = {}
    while learner.progress.env_steps < budget_env_steps:
        statistics = learner.update([collector.collect()])
        collector.version = learner.progress.updates
    return statistics


def parts(objective: Objective, minibatch: Batch) -> list[Batch]:
    """The minibatch in `gradient_accumulation_steps` parts, or in one for each sequence if there are fewer."""
    sequences = len(minibatch["is_first"])
    if sequences == 0:
        return []
    count = min(objective.gradient_accumulation_steps, sequences)
    if count == 1:
        return [minibatch]
    rows = torch.arange(sequences, device=minibatch["is_first"].device)
    return [select_worlds(minibatch, some) for some in rows.tensor_split(count)]


class Divergence:
    """Mean approximate KL of the policy at the present minibatch to the sampling policy, over all parts and learners.

    Each part reports its mean and its number of entries. Both are summed and divided once, so the mean does not depend
    on how the minibatch is cut. `is_too_large` says that the update ends without this step.
    """

    def __init__(self, objective: Objective) -> None:
        """Read the KL limit of the objective."""
        self._limit = objective.target_kl
        self._sums = torch.zeros(2, dtype=torch.float64)
        self.is_too_large = False

    def begin(self, device: torch.device) -> None:
        """Reset for the next minibatch."""
        self._sums = torch.zeros(2, dtype=torch.float64, device=device)
        self.is_too_large = False

    def add(self, statistics: Statistics) -> None:
        """Add the divergence of a part of the minibatch."""
        if self.has_limit:
            mean, number = (torch.as_tensor(statistics[name]) for name in (APPROXIMATE_KL, KL_ENTRIES))
            self._sums = self._sums + torch.stack([mean.double() * number, number.double()])

    def sum_over_learners(self, learners: Learners) -> None:
        """Sum over the learners, so that all continue or stop together; synchronises with the host once."""
        if self.has_limit:
            self._sums = learners.sum(self._sums)
            self.is_too_large = float(self.mean) > self._limit

    @property
    def mean(self) -> Tensor:
        """Mean in nats, a scalar; 0 where no agent decided."""
        total, number = self._sums
        return total / number.clamp(min=1)

    @property
    def has_limit(self) -> bool:
        """Whether an update can stop early."""
        return self._limit > 0

    def statistics(self) -> Statistics:
        """Numbers to log once a minibatch is complete; none without a limit."""
        return {APPROXIMATE_KL: self.mean, "learner/stopped": float(self.is_too_large)} if self.has_limit else {}


_MEANS_OF_ENTRIES = (APPROXIMATE_KL, CLIP_FRACTION)
_MEANS_OF_DECISIONS = ("loss/policy", "policy/entropy")


def joined_statistics(parts: list[tuple[Statistics, Share]]) -> Statistics:
    """Statistics of a minibatch from those of its parts or learners, without `KL_ENTRIES`; sums stay on the device.

    Constants of schedules and what all learners say alike are those of the last part, and the largest ratio error is
    that of all parts. All other numbers are means, weighted as the loss weighs them: by entries, decisions, values or
    else steps of the parts.
    """
    statistics, _ = _as_one_part(parts)
    return {name: value for name, value in statistics.items() if name != KL_ENTRIES}


def _as_one_part(parts: list[tuple[Statistics, Share]]) -> tuple[Statistics, Share]:
    """Statistics of several parts with the sum of their `KL_ENTRIES`, and their share of the minibatch."""
    names = dict.fromkeys(name for statistics, _ in parts for name in statistics)
    held = (sum(getattr(share, kind) for _, share in parts) for kind in ("steps", "decisions", "values"))
    return {name: _joined(name, parts) for name in names}, Share(*held)


def _joined(name: str, parts: list[tuple[Statistics, Share]]) -> Tensor | float:
    found = [(part[0][name], _weight(name, *part)) for part in parts if name in part[0]]
    if len(found) == 1 or name.startswith(("schedule/", "learner/")):
        return found[-1][0]
    if name == KL_ENTRIES:
        return sum(value for value, _ in found)
    if name in (RATIO_ERROR, FIRST_RATIO_ERROR):
        return torch.stack([torch.as_tensor(value) for value, _ in found]).max()
    return sum(value * weight for value, weight in found) / (sum(weight for _, weight in found) + 1e-12)


def _weight(name: str, statistics: Statistics, share: Share) -> Tensor | float:
    if name in _MEANS_OF_ENTRIES:
        return statistics.get(KL_ENTRIES, share.decisions)
    if name in _MEANS_OF_DECISIONS:
        return share.decisions
    return share.values if name == "loss/value" else share.steps


class SkippedUpdates:
    """Counts of optimiser steps skipped because a gradient was not finite; they stay on the device until they are read.

    All learners skip the same steps: each decides by the norm of the gradients that all of them have summed.
    """

    def __init__(self, device: torch.device) -> None:
        """Start at zero; `device` is that of the gradients."""
        self._device = device
        self._total = torch.zeros((), dtype=torch.int64, device=device)
        self._recent: deque[Tensor] = deque(maxlen=WINDOW)

    def add(self, is_finite: Tensor) -> None:
        """Count a step: [] bool, whether its gradients were finite."""
        skipped = ~is_finite
        self._recent.append(skipped)
        self._total = self._total + skipped

    def share(self) -> Tensor:
        """The statistic `SKIPPED`, [] float32 on the device."""
        if not self._recent:
            return torch.zeros((), device=self._device)
        return torch.stack(list(self._recent)).sum() / WINDOW

    def count(self) -> int:
        """Number of skipped steps since the start or `load`; synchronises with the device."""
        return int(self._total)

    def tensors(self) -> dict[str, Tensor]:
        """The last steps for a checkpoint: `recent` [K] bool, K up to `WINDOW`; {} if none of them was skipped."""
        recent = torch.stack(list(self._recent)).cpu() if self._recent else torch.zeros(0, dtype=torch.bool)
        return {"recent": recent} if recent.any() else {}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the last steps from a checkpoint (`recent` [K] bool of `tensors`, or {}), and count from 0 again."""
        self._total = torch.zeros_like(self._total)
        self._recent.clear()
        if tensors:
            self._recent.extend(torch.as_tensor(tensors["recent"]).to(self._device).unbind())
