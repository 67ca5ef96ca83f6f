"""EnDi with EMMA: EMMA with an entity divider (EnDi, section 4 and appendix C.2).

Grounding of the goal: an entity of the newest time step attends to the sentences, with a table of symbols for the goal
and with the policy's keys and values. The result is added to its offsets from an agent and to that agent's symbol, with
the same weights for the agent itself and for the nearest other agent. A 3 x 3 convolution over both gives two logits an
entity. A masked entity is removed from all time steps. EMMA grounds the remaining entities for policy and
value, and with the same weights the masked entities for a tower that predicts the others' actions. Input keys are those
of `emma.py` and `noise` [B, T, N, E].

Everything is computed from lists of sprites. This equals the paper's grids and costs a small part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.layers.dense import dense
from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.sentences import score_table
from rl_models.layers.tracks import row_and_column, tracks
from rl_models.networks.emma import Emma, Sprites, attend
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider import OTHERS, Division, OthersHead, check_team, divide, nearest_agents
from rl_models.networks.network_config import EmmaConfig
from rl_models.runtime.added_observations import NOISE
from rl_models.runtime.texts import Encoded, EncodedTexts
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class DividedEmmaConfig:
    """Widths and options of the network."""

    backbone: EmmaConfig = field(default_factory=EmmaConfig)
    """Network that grounds the policy."""
    goal_features: int = 64
    """Channels of the grounded goal for each of the two sides; the paper gives no number."""
    has_own_goal_table: bool = True
    """True: the goal is grounded with its own table of symbols, as in the released code. False: with the policy's."""
    models_others: bool = True
    """Whether the network predicts the others' actions; False is for teams without the loss of agent modelling."""


class DividedEmma(Emma):
    """EMMA with an entity divider."""

    divides_entities = True

    def __init__(self, config: DividedEmmaConfig, sizes: EmmaSizes, encoder: SentenceEncoder, num_actions: int) -> None:
        check_team(sizes.num_agents)
        super().__init__(config.backbone, sizes, encoder)
        backbone, width = config.backbone, config.goal_features
        self.goal_symbols = nn.Embedding(sizes.symbols, backbone.features) if config.has_own_goal_table else None
        self.goal_values = nn.Linear(backbone.features, width)
        self.goal_offsets = nn.ModuleList(nn.Embedding(2 * sizes.side - 1, width) for _ in range(2))
        self.goal_agents = nn.Embedding(sizes.symbols, width)
        self.division = NeighbourConvolution(2 * width, 2)
        self.others = None
        if config.models_others:
            width = backbone.hidden_size
            tower = dense((self.body.first.in_features, width, width), nn.LeakyReLU)
            self.others = nn.Sequential(*tower, OthersHead(width, sizes.num_agents - 1, num_actions))
        goal = self.goal_symbols, self.goal_values, self.goal_offsets, self.goal_agents, self.division
        for part in (*goal, self.others):
            if part is not None:
                glorot_matrices_(part)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """(E,), one number for each entity; `obs` is name -> [B, N, ...]."""
        return tuple(obs["symbols"].shape[-1:])

    def _encode_values(self, values: Tensor) -> Encoded:
        return super()._encode_values(values) | {"goals": self.goal_values(values)}

    def _attend_and_convolve(
        self, obs: dict[str, Tensor], sprites: Sprites, table: Tensor, texts: EncodedTexts
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        division = self._divide(obs, sprites, table, texts)
        own, others = self._weights(division, sprites)
        shares, agents = self._shares(texts, sprites.manual.shape), self.body.agents(obs)
        grounded, attention = self._grounded(own, sprites, table, shares)
        extras = division.extras()
        if self.others is not None and torch.is_grad_enabled():
            masked, _ = self._grounded(others, sprites, table, shares)
            extras[OTHERS] = self.others(self.body.grid((masked, sprites.cells), agents))
        return self.body((grounded, sprites.cells), agents), attention, extras

    def _grounded(self, weights: Tensor, sprites: Sprites, table: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """Shares [K, T, E, window * C] of sprites with weights [K, T, E] in the convolution, and their attention."""
        attention, part = attend(table, sprites, weights > 0)
        return self._mixed(attention * part * weights[..., None], shares), attention

    def _weights(self, division: Division, sprites: Sprites) -> list[Tensor]:
        """The mask m and 1 - m for the sprites of all time steps, [K, T, E]; 1 for entities that are gone now."""
        track = tracks(sprites.queries, sprites.cells, self._side)
        return [
            nn.functional.pad(weights, (0, 1), value=1.0)[:, None].expand(-1, track.shape[1], -1).gather(2, track)
            for weights in division.own_and_others()
        ]

    def _divide(self, obs: dict[str, Tensor], sprites: Sprites, table: Tensor, texts: EncodedTexts) -> Division:
        """Masks of the newest time step's entities, from the goal grounded from both sides."""
        newest = Sprites(sprites.queries[:, -1:], sprites.cells[:, -1:], sprites.manual)
        if self.goal_symbols is not None:
            table = score_table(self.goal_symbols.weight, texts.encoded["keys"])
        attention, part = attend(table, newest)
        values = attention[:, 0] @ texts.of_frames("goals").unflatten(0, sprites.manual.shape)
        cells = newest.cells[:, 0]
        offsets, symbols = self._sides(obs, cells)
        rows, columns = (layer(offsets[..., axis] + self._side - 1) for axis, layer in enumerate(self.goal_offsets))
        sides = nn.functional.leaky_relu(values[:, :, None] + rows + columns + self.goal_agents(symbols))
        logits = self.division((sides * part[:, 0, ..., None]).flatten(2), cells, self._side)
        noise = obs[NOISE].flatten(0, 2) if NOISE in obs else None
        return divide(logits, newest.queries[:, 0] != 0, offsets.flip(-1) / self._side, noise)

    def _sides(self, obs: dict[str, Tensor], cells: Tensor) -> tuple[Tensor, Tensor]:
        """(row, column) offsets [K, E, 2, 2] from the agent and the nearest other; their symbols [K, E, 2]; int64."""
        places, agent_symbols = (obs[f"agent_{name}"].flatten(0, 2)[:, -1].long() for name in ("cells", "symbols"))
        offsets = row_and_column(cells, self._side)[:, :, None] - row_and_column(places, self._side)[:, None]
        nearest = nearest_agents(offsets)
        symbols = torch.take_along_dim(agent_symbols[:, None], nearest, -1)
        return torch.take_along_dim(offsets, nearest[..., None], -2), symbols


class NeighbourConvolution(nn.Module):
    """A 3 x 3 convolution over a nearly empty grid, computed at its sprites' cells only, where it is `nn.Conv2d`."""

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(features, outputs, 3, padding=1)

    def forward(self, features: Tensor, cells: Tensor, side: int) -> Tensor:
        """Output [K, S, outputs] float32 at cells [K, S] with features [K, S, F], 0 for sprites that are gone."""
        convolution = self.convolution
        kernel = convolution.weight.flatten(2).permute(2, 0, 1)  # [9, outputs, F]
        shares = torch.einsum("ksf,wof->kswo", features, kernel)
        positions = row_and_column(cells, side)
        offsets = positions[:, None] - positions[:, :, None]  # from the sprite of the output to that of the input
        is_near = (offsets.abs() <= 1).all(-1)
        window = ((offsets[..., 0] + 1) * 3 + offsets[..., 1] + 1).where(is_near, 0)
        sprite = torch.arange(cells.shape[1], device=cells.device)
        neighbours = shares[torch.arange(len(cells), device=cells.device)[:, None, None], sprite, window]
        assert convolution.bias is not None
        return (neighbours * is_near[..., None]).sum(2) + convolution.bias
