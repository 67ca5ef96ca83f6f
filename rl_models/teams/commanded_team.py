"""Ready-made teams that follow commands in words over a cell map with lists of units (RED, Xu et al., 2022)."""

from torch import Tensor

from rl_models.heads.collective_head import CollectiveHead, NormalValueHead
from rl_models.networks.commanded_units import CommandedUnits
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.policy import TeamPolicy, seeded
from rl_models.unit_spec import UnitSpec


def commanded_team(
    config: CommandedUnitsConfig,
    spec: UnitSpec,
    texts: Tensor,
    vocabulary: int,
    num_agents: int,
    used_heads_only: bool = True,
    seed: int = 0,
) -> TeamPolicy:
    """Build a team; `texts` [D, L] int are tokens of the instructions, of which row 0 is the empty one.

    With `used_heads_only` only factors with an effect count in probabilities.
    """
    with seeded(seed):
        network = CommandedUnits(config, spec, texts, vocabulary, num_agents)
        head = CollectiveHead(network.widths, spec, config.hidden_size, used_heads_only)
        return TeamPolicy(network, head, NormalValueHead(network.widths.features))
