"""Regularisers of LDSA (Yang et al., NeurIPS 2022): distinct sub-tasks, and lasting choices of sub-tasks.

The paper's second term is a KL divergence; the cross entropy here, as in the release, has the same gradient, because
its first argument has none. Unlike the release, neither counts steps across the end of an episode.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.policy_gradient import masked_mean
from rl_models.networks.role_team_config import SubtaskLossConfig
from rl_models.networks.subtask_q_network import LOGITS, TABLE
from rl_models.policy import TeamOutput
from rl_models.runtime.device import count_rows
from rl_models.schedule import Progress

_EPSILON = 1e-8


def mean_squared_distance(table: Tensor) -> Tensor:
    """Mean over all ordered pairs of sub-tasks [k, e], a scalar; of each pair only the first vector has a gradient."""
    count = len(table)
    squared = (table[:, None] - table[None].detach()).square().sum(-1)
    return squared.sum() / (count * (count - 1))


def change_of_choice(logits: Tensor, is_first: Tensor) -> Tensor:
    """Mean cross entropy in nats of the next step's choice under this step's, a scalar; 0 without such pairs of steps.

    Logits are [B, T, N, k] float32, and `is_first` [B, T] bool says where an episode begins.
    """
    now, following = logits[:, :-1].softmax(-1).detach(), logits[:, 1:].softmax(-1)
    crossed = -(now * (following + _EPSILON).log()).sum(-1).mean(-1)
    return masked_mean(crossed, ~is_first[:, 1:])


def usage_entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of how often each sub-task is the most probable: [..., k] -> a scalar, 0 if it is always one."""
    counts = count_rows(logits.argmax(-1).flatten(), logits.shape[-1])
    shares = counts / counts.sum()
    return -torch.xlogy(shares, shares).sum()


@dataclass(frozen=True)
class SubtaskLoss:
    """Both regularisers, with the weights in `config`, as an addition to QMIX's loss."""

    config: SubtaskLossConfig = field(default_factory=SubtaskLossConfig)

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network is a `SubtaskQNetwork`, and the batch has `is_first` [B, T + 1] bool."""
        logits = output.extras[LOGITS]
        distance = mean_squared_distance(output.extras[TABLE][0, 0])
        change = change_of_choice(logits, batch["is_first"])
        loss = self.config.change_coef * change - self.config.distance_coef * distance
        return loss, {
            "subtask/squared_distance": distance.detach(),
            "subtask/change": change.detach(),
            "subtask/usage_entropy": usage_entropy(logits.detach()),
        }
