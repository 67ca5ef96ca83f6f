"""Configuration of the teams of ROMA, LDSA and MASER. Importing this file loads no torch."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.configuration import UnitInterval


@dataclass(frozen=True)
class RoleConfig:
    """Widths of what makes roles; the defaults are the release's."""

    role_size: PositiveInt = 3
    """Width of the vector that is an agent's role; the release has 3."""
    hidden_size: PositiveInt = 16
    """Width of the hidden layer of each network around the roles; the release has 16."""
    smallest_variance: PositiveFloat = 0.002
    """Smallest variance of a role, above 0."""


@dataclass(frozen=True)
class SubtaskConfig:
    """Sizes of the sub-tasks; the defaults are the release's."""

    num_subtasks: Annotated[int, Field(ge=2)] = 4
    """Number of sub-tasks that agents choose from, at least 2; with one there is nothing to choose, as in QMIX."""
    vector_size: PositiveInt = 64
    """Width of the vector of a sub-task; the release has 64."""


@dataclass(frozen=True)
class RoleLossConfig:
    """Weights of ROMA's regularisers; the defaults are the release's."""

    role_entropy_coef: NonNegativeFloat = 1e-4
    """Weight of the roles' entropy, at least 0; the release has 0.0001, or 0.05 for some maps."""
    role_divergence_coef: NonNegativeFloat = 1e-4
    """Weight of the roles' divergence from what memories imply, at least 0; the release has 0.0001."""
    specialisation_coef: NonNegativeFloat = 1e-3
    """Weight of the term that makes agents differ, at least 0; the release has 0.001."""
    has_regularisers: bool = True
    """Whether the two regularisers are added; without them it is QMIX with a last layer that a role writes."""


@dataclass(frozen=True)
class SubtaskLossConfig:
    """Weights of LDSA's regularisers; the defaults are the release's."""

    distance_coef: NonNegativeFloat = 1e-3
    """Weight of the term that moves sub-tasks apart, at least 0; the release has 0.001."""
    change_coef: NonNegativeFloat = 1e-3
    """Weight of the term against changes of sub-task, at least 0; the release has 0.001."""


@dataclass(frozen=True)
class MaserConfig:
    """Constants of MASER; the defaults are those of the published command for StarCraft."""

    form: Literal["paper", "released"] = "paper"
    """Form of the method: paper, or released, in which the representation and the exploration term are not trained."""
    representation_hidden_size: PositiveInt = 128
    """Width of the hidden layer that represents observations; the release has 128."""
    own_value_share: UnitInterval = 0.5
    """Share, from 0 to 1, of the agent's own value in choosing its sub-goal; the rest is the team's value."""
    intrinsic_coef: NonNegativeFloat = 0.03
    """Weight of the distance to the sub-goal in the rewards, at least 0."""
    individual_coef: NonNegativeFloat = 1e-3
    """Weight of the agents' own temporal difference errors in the loss, at least 0."""
    exploration_coef: NonNegativeFloat = 1e-3
    """Weight of the term that explores once a sub-goal has been passed, at least 0."""
    distance_coef: NonNegativeFloat = 1e-3
    """Weight of the error of the represented distances in the loss, at least 0."""


RoleMethod = Literal["qmix", "roma", "ldsa", "maser"]
"""`qmix`, and the methods that are built on it."""


@dataclass(frozen=True)
class RoleTeamConfig:
    """Widths and constants of all four methods; the defaults are those of the releases."""

    hidden_size: PositiveInt = 64
    """Width of each agent's recurrent state; the releases have 64."""
    mixing_hidden_size: NonNegativeInt = 32
    """Width of the mixing network, at least 0; the releases have 32, and 0 adds values up (VDN)."""
    ldsa_hypernetwork_hidden_size: NonNegativeInt = 64
    """Width of the hidden layer of LDSA's hypernetworks, at least 0; the other methods have no such layer."""
    roma: RoleConfig = field(default_factory=RoleConfig)
    """Widths of what makes ROMA's roles."""
    roma_losses: RoleLossConfig = field(default_factory=RoleLossConfig)
    """Weights of ROMA's two regularisers."""
    ldsa: SubtaskConfig = field(default_factory=SubtaskConfig)
    """Number and widths of LDSA's sub-tasks."""
    ldsa_losses: SubtaskLossConfig = field(default_factory=SubtaskLossConfig)
    """Weights of LDSA's two regularisers."""
    maser: MaserConfig = field(default_factory=MaserConfig)
    """Constants of MASER's sub-goals and losses."""
