"""Ready-made teams of EnDi (2023): a backbone with an entity divider, their heads, and the losses of each variant.

The paper's backbones are txt2π and EMMA; the mention-matching reader is ours. As in the paper, agents share nothing
unless the configuration says so. A divided team without both losses is no variant of the paper: in that case use the
backbone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import Tensor

from rl_models.heads.mixture_heads import PolicyTower, ValueTower
from rl_models.losses.division import AgentModellingLoss, DivisionLoss, Regulariser
from rl_models.losses.extra_loss import ExtraLoss, MeanLoss
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider import DividedReading, DividedReadingConfig, DividesEntities
from rl_models.networks.entity_divider_emma import DividedEmma, DividedEmmaConfig
from rl_models.networks.entity_divider_matching import DividedMatching, DividedMatchingConfig
from rl_models.networks.matching import MatchingSizes
from rl_models.networks.network_config import SilgConfig
from rl_models.networks.private import number_of_networks, shared_or_private
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.silg_entities import SilgEntities
from rl_models.policy import TeamPolicy, seeded
from rl_models.teams.reader_team import build_reader_team, near_uniform_reader_team
from rl_models.text.encoder import SentenceEncoder


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


@dataclass(frozen=True)
class DividedReadingTeamConfig:
    """Configuration of a divided team that reads a document: txt2π with an entity divider."""

    network: DividedReadingConfig = field(default_factory=DividedReadingConfig)
    only_legal_moves: bool = True
    """Draw legal moves only, so no moves into walls, as in RTFM's released code."""
    shares_network: bool = False
    """True: all agents share one network. False: one network an agent, with nothing shared, as in the paper."""


@dataclass(frozen=True)
class DividedMatchingTeamConfig:
    """Configuration of a divided team of ours that reads a document: the matching reader with an entity divider."""

    network: DividedMatchingConfig = field(default_factory=DividedMatchingConfig)
    only_legal_moves: bool = True
    """Draw legal moves only, so no moves into walls."""
    shares_network: bool = True
    """True: all agents share one network, as the backbone's do. False: one network an agent, as in the paper."""


@dataclass(frozen=True)
class DividedEmmaTeamConfig:
    """Configuration of a divided team that reads a manual: EMMA with an entity divider."""

    network: DividedEmmaConfig = field(default_factory=DividedEmmaConfig)
    shares_network: bool = False
    """True: all agents share one network. False: one network an agent, with nothing shared, as in the paper."""


def divided_reading_team(
    config: DividedReadingTeamConfig, sizes: ReadingSizes, is_entity: Tensor, num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team of txt2π with an entity divider.

    Args:
        config: configuration of the team.
        sizes: sizes of the world.
        is_entity: [K] bool, names of entities that can be divided.
        num_actions: A.
        seed: seed of the initial weights.
    """
    make_network = functools.partial(DividedReading, config.network, sizes, is_entity, num_actions)
    members = number_of_networks(config.shares_network, sizes.num_agents)
    return build_reader_team(make_network, members, num_actions, 0, config.only_legal_moves, seed)


def divided_matching_team(
    config: DividedMatchingTeamConfig, sizes: MatchingSizes, is_entity: Tensor, num_actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team of the matching reader with an entity divider; arguments as of `divided_reading_team`."""
    make_network = functools.partial(DividedMatching, config.network, sizes, is_entity, num_actions)
    members = number_of_networks(config.shares_network, sizes.num_agents)
    return near_uniform_reader_team(make_network, members, num_actions, config.only_legal_moves, seed)


def divided_emma_team(
    config: DividedEmmaTeamConfig,
    sizes: EmmaSizes,
    num_actions: int,
    build_encoder: Callable[[], SentenceEncoder],
    seed: int = 0,
) -> TeamPolicy:
    """Build a team of EMMA with an entity divider.

    Args:
        config: configuration of the team.
        sizes: sizes of the world.
        num_actions: A.
        build_encoder: builds the text encoder; called once for each network.
        seed: seed of the initial weights.
    """
    with seeded(seed):
        members = number_of_networks(config.shares_network, sizes.num_agents)
        network = shared_or_private(lambda: DividedEmma(config.network, sizes, build_encoder(), num_actions), members)
        policy = PolicyTower(network.features, num_actions, members)
        return TeamPolicy(network, policy, ValueTower(network.features, members))


def silg_entities_team(
    config: SilgConfig, sizes: EmmaSizes, num_actions: int, texts: Texts, shares_network: bool = False, seed: int = 0
) -> TeamPolicy:
    """Build a team of SILG's model over entities and a manual.

    Args:
        config: widths of the network.
        sizes: sizes of the world.
        num_actions: A.
        texts: all sentences that can be shown, and the training sentences, whose words are learned.
        shares_network: whether all agents share one network; if not, there is one network an agent.
        seed: seed of the initial weights.
    """
    members = number_of_networks(shares_network, sizes.num_agents)
    return build_reader_team(
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
