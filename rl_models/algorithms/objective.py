"""The protocol of what a learner minimises. PPO, IMPALA and QMIX implement it, one file each.

Everything that differs between algorithms is a member of this protocol: learners (`training/loop.py`) and RLlib's
configuration (`rllib/config.py`) never check an objective's type. So a custom algorithm is one class with these
members.
"""

from collections.abc import Iterator
from typing import Protocol

from torch import Tensor

from rl_models.algorithms.replay import Replay
from rl_models.batch import ALONE, WHOLE, Batch, Learners, Share
from rl_models.losses.extra_loss import ExtraLoss, Statistics
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.schedule import Progress

APPROXIMATE_KL = "policy/approximate_kl"
"""Statistic of a loss that `target_kl` is compared with."""
RATIO_ERROR = "policy/ratio_error"
"""Statistic: largest |ratio - 1| of a minibatch."""
CLIP_FRACTION = "policy/clip_fraction"
"""Statistic: share of the ratios that PPO clips."""
KL_ENTRIES = "policy/approximate_kl_entries"
"""Statistic of a loss, not logged: number of entries (decisions of an agent, or of the team) that `APPROXIMATE_KL` and
`CLIP_FRACTION` are averaged over."""


class Objective(Protocol):
    """Interface of a training objective: loss, minibatches, epochs and early stopping."""

    @property
    def takes_turns(self) -> bool:
        """Whether sampling waits for learning, as in RLlib's PPO; if not, both go on at the same time, as in IMPALA.

        If not, aggregator actors may join fragments into batches.
        """

    @property
    def needs_values(self) -> bool:
        """Whether the values that were computed while acting are recorded with the fragments."""

    @property
    def gradient_accumulation_steps(self) -> int:
        """Number of parts of a minibatch whose gradients are summed before a step."""

    @property
    def target_kl(self) -> float:
        """An update ends at the first minibatch whose mean `APPROXIMATE_KL` exceeds this; 0 sets no limit."""

    @property
    def extra_losses(self) -> tuple[ExtraLoss, ...]:
        """Declared additions to the loss."""

    def new_replay(self) -> Replay | None:
        """An empty replay buffer for a learner, or None for on-policy algorithms."""

    def prepare(self, batch: Batch, learners: Learners = ALONE) -> Batch:
        """Add to a batch of `to_batch` what all epochs share, such as advantages."""

    def minibatches(
        self, batch: Batch, seed: int, replay: Replay | None = None, learners: Learners = ALONE
    ) -> Iterator[Batch]:
        """All minibatches of an update, each for one optimiser step; each learner gets its own rows of every one."""

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a minibatch, or on a part that holds this share of it, and numbers to log.

        The output is that at every observation of the batch. Numbers are of the part alone; `training/loop.py` joins
        those of all parts.
        """

    def after_step(self, policy: TeamPolicy, progress: Progress) -> None:
        """Do what must follow an optimiser step, such as an update of target networks."""
