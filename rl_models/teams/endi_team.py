"""Losses of each variant of EnDi (2023), and the team of its baseline SILG over entities.

`reader_team.py` and `emma_team.py` build teams with an entity divider around the paper's backbones, txt2π and EMMA, and
around our mention-matching reader; `parts_team.py` around the networks of any environment.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rl_models.losses.division import AgentModellingLoss, DivisionLoss, Regulariser
from rl_models.losses.extra_loss import ExtraLoss, MeanLoss
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider import DividesEntities
from rl_models.networks.network_config import SilgConfig
from rl_models.networks.silg_entities import SilgEntities
from rl_models.policy import TeamPolicy
from rl_models.teams.reader_team import build_team


@dataclass(frozen=True)
class DivisionLosses:
    """Losses of a divided team beside the algorithm's loss; the paper gives no weights, the released code has 1."""

    regulariser: Regulariser = "dis"
    regulariser_coef: float = 1.0
    deviation: float = 0.5
    """Standard deviation of the target of the regulariser `kl`, in entities."""
    modelling_coef: float = 1.0
    """Weight of agent modelling. With 0, build the network without heads for it (`models_others=False`)."""
    are_means: bool = False
    """Whether they stay means over steps where the algorithm sums its loss over the steps of a fragment, T: with the
    same weights, 1 / T of what they are if they are summed like it."""

    def extra_losses(self) -> tuple[ExtraLoss, ...]:
        """The losses for an objective. All variants log the metrics of the division."""
        division = DivisionLoss(self.regulariser, self.regulariser_coef, self.deviation)
        modelling = (AgentModellingLoss(self.modelling_coef),) if self.modelling_coef else ()
        losses: tuple[ExtraLoss, ...] = (division, *modelling)
        return tuple(MeanLoss(loss) for loss in losses) if self.are_means else losses


Texts: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""All sentences that can be shown, and the training sentences, whose words are learned."""

VARIANTS = {
    "endi_num": DivisionLosses("num"),
    "endi_dis": DivisionLosses("dis"),
    "endi_sup": DivisionLosses("dis", modelling_coef=0.0),
    "endi_reg": DivisionLosses("none"),
    "endi_dis_balance": DivisionLosses("dis_balance"),
    "endi_kl": DivisionLosses("kl"),
    "endi_dis_weak_modelling": DivisionLosses("dis", modelling_coef=0.1),
}
"""The paper's variants: two regularisers, EnDi(dis) without agent modelling, and EnDi without a regulariser. Then three
more: `dis` of the released code, the divergence of section 4.1, and EnDi(dis) with a tenth of agent modelling."""


def silg_entities_team(
    config: SilgConfig, sizes: EmmaSizes, num_actions: int, texts: Texts, shares_network: bool = False, seed: int = 0
) -> TeamPolicy:
    """Build a team of SILG's model over entities and a manual."""
    members = 1 if shares_network else sizes.num_agents
    return build_team(
        functools.partial(SilgEntities, config, sizes, *texts),
        members,
        num_actions,
        0,
        only_legal_moves=False,
        seed=seed,
    )


def divides(policy: TeamPolicy) -> bool:
    """Whether the networks of a team divide entities."""
    return any(isinstance(part, DividesEntities) for part in policy.modules())
