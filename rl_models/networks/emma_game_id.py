"""The Game-ID baseline: EMMA's body, told who is who by symbols and not by texts (Hanjie et al., 2021, section 5).

In place of a manual it sees `roles` [B, T, N, R] uint8, the symbol of every role. Entities enter the convolution as
their symbols, and the roles' symbols reach the towers beside the grid. Nothing ties a role's symbol to the sprite that
bears it, so it learns each game for itself.
"""

from __future__ import annotations

from torch import Tensor

from rl_models.layers.manual_attention import shares_of_cells
from rl_models.networks.emma_body import EmmaBody, EmmaConfig, EmmaSizes, EntityNetwork

ROLES = "roles"


class GameId(EntityNetwork):
    """Grid and roles in, features out. Further input keys are EMMA's, without `manual`."""

    def __init__(self, config: EmmaConfig, sizes: EmmaSizes, roles: int = 3) -> None:
        """Build the network.

        Args:
            config: widths; options of attention have no meaning here.
            sizes: of the world.
            roles: R.
        """
        super().__init__(EmmaBody(config, sizes, roles * config.features), sizes.num_agents)

    def _look(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        symbols, cells = obs["symbols"].flatten(0, 2).long(), obs["cells"].flatten(0, 2)
        # The mean of the symbols in a cell, in parts by all who stand in it.
        shares = shares_of_cells(symbols, cells, self.body.symbols.weight.dtype)
        part = shares.diagonal(dim1=-2, dim2=-1)[..., None]
        roles = self.body.symbols(obs[ROLES].flatten(0, 2).long()).flatten(1)
        return self.body((self.body.of_symbols(symbols) * part, cells), self.body.avatars(obs), roles), {}
