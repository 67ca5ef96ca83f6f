"""Regularisers of ROMA (Wang et al., ICML 2020, section 3): identifiable and specialised roles.

`identifiability` pulls an agent's role towards what its memory implies. `specialisation` asks of each pair of agents
that they have similar roles or behave differently. Both follow the release, where they deviate from the paper: entropy
is added to the divergence and so minimised, a softplus is around their sum, and differences are of role samples.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.extra_loss import Statistics
from rl_models.networks.role_q_network import DISSIMILARITY, INFERRED_MEAN, INFERRED_VARIANCE, MEAN, SAMPLE, VARIANCE
from rl_models.networks.role_team_config import RoleLossConfig
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

_MAX_VALUE = 2000.0
_LOG_BOUND = 13.9
"""The log density of one entry of a role is raised by this number, and then at least its negative."""
_SMALL = 1e-12


def entropy(variance: Tensor) -> Tensor:
    """Entropy of normal distributions in nats: variances [..., d] -> [...] float32."""
    return 0.5 * (math.log(2 * math.pi * math.e) + variance.log()).sum(-1)


def divergence(mean: Tensor, variance: Tensor, other_mean: Tensor, other_variance: Tensor) -> Tensor:
    """KL divergence [...] float32 in nats of normal distributions from others.

    From mean [..., d] and variance [..., d] of the ones, and mean [..., d] and variance [..., d] of the others.
    """
    ratio = variance / other_variance
    return 0.5 * (ratio - 1 - ratio.log() + (mean - other_mean).square() / other_variance).sum(-1)


def identifiability(
    role: tuple[Tensor, Tensor], inferred: tuple[Tensor, Tensor], entropy_coef: float, divergence_coef: float
) -> Tensor:
    """Loss of roles that memories do not predict: mean over steps of the softplus of the mean over worlds and agents.

    `role` and `inferred` (from memory) are mean [B, T, N, d] and variance [B, T, N, d], float32; the coefficients weigh
    the roles' entropy and their divergence from what the memory implies. Returns a scalar, [].
    """
    by_agent = entropy_coef * entropy(role[1]) + divergence_coef * divergence(*role, *inferred)
    return torch.nn.functional.softplus(by_agent.mean((0, 2)).clamp(max=_MAX_VALUE)).mean()


def specialisation(mean: Tensor, variance: Tensor, sample: Tensor, dissimilarity: Tensor) -> Tensor:
    """Loss of agents with different roles and similar behaviour, a scalar: the mean over steps of L_D with weight 1.

    All ordered pairs count, an agent with itself too, and both measures of pairs are scaled to [0, 1] over the pairs of
    a world at a step. Mean, variance and sample of the roles are [B, T, N, d] float32, dissimilarities [B, T, N, N]
    float32, not negative.
    """
    agents = sample.shape[-2]
    offset = sample.unsqueeze(-3) - mean.unsqueeze(-2)
    own = variance.unsqueeze(-2)
    log_density = -0.5 * (offset.square() / own + (2 * math.pi * own).log())
    similar = _scaled((log_density + _LOG_BOUND).clamp_min(-_LOG_BOUND).mean(-1))
    different = _scaled(dissimilarity)
    pairs = different.sum((-1, -2)) - (similar + different).clamp(max=1).sum((-1, -2))
    return pairs.mean() / agents**2


def _scaled(pairs: Tensor) -> Tensor:
    """Each world's pairs at a step between 0 and 1: [..., N, N] -> the same."""
    lowest, highest = pairs.amin((-1, -2), keepdim=True), pairs.amax((-1, -2), keepdim=True)
    return (pairs - lowest) / (highest - lowest + _SMALL)


@dataclass(frozen=True)
class RoleLoss:
    """Both regularisers, with the weights in `config`, as an addition to QMIX's loss."""

    config: RoleLossConfig = field(default_factory=RoleLossConfig)

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network is a `RoleQNetwork`."""
        config, extras = self.config, output.extras
        role = extras[MEAN], extras[VARIANCE]
        logged: Statistics = {
            "role/spread": extras[MEAN].detach().std(-2, correction=0).mean(),
            "role/standard_deviation": extras[VARIANCE].detach().sqrt().mean(),
        }
        if not config.has_regularisers:
            return extras[MEAN].new_zeros(()), logged
        inferred = extras[INFERRED_MEAN], extras[INFERRED_VARIANCE]
        clear = identifiability(role, inferred, config.role_entropy_coef, config.role_divergence_coef)
        apart = config.specialisation_coef * specialisation(*role, extras[SAMPLE], extras[DISSIMILARITY])
        return clear + apart, logged | {"loss/identifiability": clear.detach(), "loss/specialisation": apart.detach()}
