"""Ready-made teams of EnDi (2023): a divided txt2π or a divided EMMA with its heads, and the losses of each variant.

An experiment names a variant and a network by configuration. As in the paper nothing is shared between agents unless
asked for. Without either of its losses a divided team is no variant of the paper: that is txt2π or EMMA itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
from torch import Tensor

from rl_models.heads.legal_policy import LayeredValueHead, LegalPolicyHead
from rl_models.heads.towers import PolicyTower, ValueTower
from rl_models.losses.division import AgentModellingLoss, DivisionLoss, Regulariser
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider_emma import DividedEmma, DividedEmmaConfig
from rl_models.networks.entity_divider_reading import DividedReading, DividedReadingConfig
from rl_models.networks.private import of_agents
from rl_models.networks.reading import Sizes
from rl_models.networks.silg_entities import SilgEntities
from rl_models.networks.txt2pi import SilgConfig
from rl_models.policy import TeamPolicy
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class DivisionLosses:
    """What trains a divided team beside the algorithm's loss; the paper gives no weights, its release has 1."""

    regulariser: Regulariser = "dis"
    regulariser_weight: float = 1.0
    deviation: float = 0.5
    """Of the regulariser `kl`'s target, in entities."""
    modelling_weight: float = 1.0
    """Of agent modelling; with 0 leave the others' heads out of the network, `models_others=False`."""

    def extra_losses(self) -> tuple[ExtraLoss, ...]:
        """For an objective; measures of the division are logged by all variants."""
        division = DivisionLoss(self.regulariser, self.regulariser_weight, self.deviation)
        return (division, AgentModellingLoss(self.modelling_weight)) if self.modelling_weight else (division,)


Texts: TypeAlias = tuple[Sequence[str], Sequence[str]]

VARIANTS = {
    "endi_num": DivisionLosses("num"),
    "endi_dis": DivisionLosses("dis"),
    "endi_sup": DivisionLosses("dis", modelling_weight=0.0),
    "endi_reg": DivisionLosses("none"),
    "endi_dis_balance": DivisionLosses("dis_balance"),
    "endi_kl": DivisionLosses("kl"),
}
"""The paper's: its two regularisers, and EnDi(dis) without agent modelling and without a regulariser; then what the
release has for `dis`, and the divergence of section 4.1 itself."""


@dataclass(frozen=True)
class DividedReadingTeamConfig:
    """A team for RTFM."""

    network: DividedReadingConfig = field(default_factory=DividedReadingConfig)
    only_legal_moves: bool = True
    """Moves into walls are never drawn, as in RTFM's released code."""
    shares_network: bool = False
    """One network for all agents. False: one each, with nothing shared, as in the paper."""


@dataclass(frozen=True)
class DividedEmmaTeamConfig:
    """A team for MESSENGER."""

    network: DividedEmmaConfig = field(default_factory=DividedEmmaConfig)
    shares_network: bool = False
    """One network for all agents. False: one each, with nothing shared, as in the paper."""


def divided_reading_team(
    config: DividedReadingTeamConfig, sizes: Sizes, is_entity: Tensor, actions: int, seed: int = 0
) -> TeamPolicy:
    """Build a team for RTFM with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: what to build.
        sizes: agents, vocabulary and names of the world.
        is_entity: [K] bool, names of monsters and items.
        actions: A.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members = 1 if config.shares_network else sizes.num_agents
        network = of_agents(lambda: DividedReading(config.network, sizes, is_entity, actions), members)
        policy = LegalPolicyHead(network.features, actions, 0, config.only_legal_moves, members)
        return TeamPolicy(network, policy, LayeredValueHead(network.features, 0, members))


def divided_emma_team(
    config: DividedEmmaTeamConfig,
    sizes: EmmaSizes,
    actions: int,
    build_encoder: Callable[[], SentenceEncoder],
    seed: int = 0,
) -> TeamPolicy:
    """Build a team for MESSENGER with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: what to build.
        sizes: of the world.
        actions: A.
        build_encoder: builds the text encoder, once for each network.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members = 1 if config.shares_network else sizes.num_agents
        network = of_agents(lambda: DividedEmma(config.network, sizes, build_encoder(), actions), members)
        policy = PolicyTower(network.features, actions, members)
        return TeamPolicy(network, policy, ValueTower(network.features, members))


def silg_entities_team(
    config: SilgConfig, sizes: EmmaSizes, actions: int, texts: Texts, shares_network: bool = False, seed: int = 0
) -> TeamPolicy:
    """Build SILG's team for MESSENGER with weights drawn from `seed`, without touching torch's global generator.

    Args:
        config: widths.
        sizes: of the world.
        actions: A.
        texts: everything that can be shown, and the sentences whose words are learned.
        shares_network: one network for all agents.
        seed: of the initial weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members = 1 if shares_network else sizes.num_agents
        network = of_agents(lambda: SilgEntities(config, sizes, *texts), members)
        policy = LegalPolicyHead(network.features, actions, 0, only_legal=False, members=members)
        return TeamPolicy(network, policy, LayeredValueHead(network.features, 0, members))


def divides(policy: TeamPolicy) -> bool:
    """Whether a team divides entities."""
    return any(isinstance(part, DividedReading | DividedEmma) for part in policy.modules())
