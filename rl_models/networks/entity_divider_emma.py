"""EnDi around EMMA: entities of MESSENGER are divided between agents (EnDi, section 4 and appendix C.2).

The goal's grounding: an entity of the newest moment finds its sentence with symbols of its own and the policy's keys
and values; what it reads is joined with its offsets from an agent and with that agent's symbol, by the same weights for
oneself and for the nearest other. A 3 x 3 convolution over both gives two logits an entity. A masked entity is gone in
all moments, wherever it was. EMMA grounds what remains for policy and value, and with the same weights what was hidden,
for a tower that predicts the others' actions. Input keys are `emma.py`'s and `noise` [B, T, N, E].

Everything is computed from lists of sprites, which is equal to the paper's grids and a small part of their cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.manual_attention import score_table
from rl_models.networks.emma import Emma, Sprites, attend
from rl_models.networks.emma_body import EmmaConfig, EmmaSizes
from rl_models.networks.entity_divider import OTHERS, Division, OthersHead, check_team, divide, sides_of
from rl_models.networks.noise import NOISE
from rl_models.networks.texts import Encoded, Shown
from rl_models.text.encoder import SentenceEncoder


@dataclass(frozen=True)
class DividedEmmaConfig:
    """Widths and options."""

    backbone: EmmaConfig = field(default_factory=EmmaConfig)
    """Grounds the policy."""
    goal_features: int = 64
    """Channels of the grounded goal, for each of the two sides; the paper has no number."""
    own_goal_symbols: bool = True
    """The goal is grounded with a table of symbols of its own, as in the release. False: with the policy's."""
    models_others: bool = True
    """Predict the others' actions. False, for a team without that loss, leaves out what only it would train."""


class DividedEmma(Emma):
    """EMMA with an entity divider."""

    def __init__(self, config: DividedEmmaConfig, sizes: EmmaSizes, encoder: SentenceEncoder, actions: int) -> None:
        """Build the network.

        Args:
            config: widths and options.
            sizes: of the world.
            encoder: of texts.
            actions: A.

        Raises:
            ValueError: there is one agent.
        """
        check_team(sizes.num_agents)
        super().__init__(config.backbone, sizes, encoder)
        backbone, width = config.backbone, config.goal_features
        self._side = sizes.side
        self.goal_symbols = nn.Embedding(sizes.symbols, backbone.features) if config.own_goal_symbols else None
        self.goal_values = nn.Linear(backbone.features, width)
        self.goal_offsets = nn.ModuleList(nn.Embedding(2 * sizes.side - 1, width) for _ in range(2))
        self.goal_avatars = nn.Embedding(sizes.symbols, width)
        self.division = NeighbourConvolution(2 * width, 2)
        self.others = None
        if config.models_others:
            self.others = nn.Sequential(
                nn.Linear(self.body.first.in_features, backbone.hidden_size),
                nn.LeakyReLU(),
                nn.Linear(backbone.hidden_size, backbone.hidden_size),
                nn.LeakyReLU(),
                OthersHead(backbone.hidden_size, sizes.num_agents - 1, actions),
            )
        goal = self.goal_symbols, self.goal_values, self.goal_offsets, self.goal_avatars, self.division
        for part in (*goal, self.others):
            if part is not None:
                glorot_matrices_(part)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """A number for every entity, (E,)."""
        return tuple(obs["symbols"].shape[-1:])

    def _of_values(self, values: Tensor) -> Encoded:
        return super()._of_values(values) | {"goals": self.goal_values(values)}

    def _see(
        self, obs: dict[str, Tensor], sprites: Sprites, table: Tensor, told: Shown
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        division = self._divide(obs, sprites, table, told)
        own, left = self._weights(division, sprites)
        shares, avatars = self._shares(told, sprites.manual.shape), self.body.avatars(obs)
        seen, attention = self._grounded(own, sprites, table, shares)
        extras = division.extras()
        if self.others is not None and torch.is_grad_enabled():
            hidden, _ = self._grounded(left, sprites, table, shares)
            extras[OTHERS] = self.others(self.body.grid((hidden, sprites.cells), avatars))
        return self.body((seen, sprites.cells), avatars), attention, extras

    def _grounded(self, weights: Tensor, sprites: Sprites, table: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """What sprites add to the convolution [K, T, E, window M] if they count so much, [K, T, E]; their attention."""
        attention, part = attend(table, sprites, weights > 0)
        return self._read(attention * part * weights[..., None], shares), attention

    def _weights(self, division: Division, sprites: Sprites) -> list[Tensor]:
        """The mask m, and 1 - m, of the sprites of all moments, [K, T, E]; 1 for entities that are gone by now."""
        track = tracks(sprites.symbols, sprites.cells, self._side)
        return [
            nn.functional.pad(weights, (0, 1), value=1.0)[:, None].expand(-1, track.shape[1], -1).gather(2, track)
            for weights in division.own_and_others()
        ]

    def _divide(self, obs: dict[str, Tensor], sprites: Sprites, table: Tensor, told: Shown) -> Division:
        """Masks of the newest moment's entities, from the goal as grounded from both sides."""
        newest = Sprites(sprites.symbols[:, -1:], sprites.cells[:, -1:], sprites.manual)
        if self.goal_symbols is not None:
            table = score_table(self.goal_symbols.weight, told.encoded["keys"])
        attention, part = attend(table, newest)
        read = attention[:, 0] @ told.of_frames("goals").unflatten(0, sprites.manual.shape)
        cells = newest.cells[:, 0]
        offsets, symbols = self._sides(obs, cells)
        rows, columns = (layer(offsets[..., axis] + self._side - 1) for axis, layer in enumerate(self.goal_offsets))
        sides = nn.functional.leaky_relu(read[:, :, None] + rows + columns + self.goal_avatars(symbols))
        logits = self.division((sides * part[:, 0, ..., None]).flatten(2), cells, self._side)
        noise = obs[NOISE].flatten(0, 2) if NOISE in obs else None
        return divide(logits, newest.symbols[:, 0] != 0, offsets.flip(-1) / self._side, noise)

    def _sides(self, obs: dict[str, Tensor], cells: Tensor) -> tuple[Tensor, Tensor]:
        """For oneself and the nearest other: rows and columns to them [K, E, 2, 2], and symbols [K, E, 2], int64."""
        avatars, faces = (obs[f"avatar_{name}"].flatten(0, 2)[:, -1].long() for name in ("cells", "symbols"))
        offsets = self._place(cells)[:, :, None] - self._place(avatars)[:, None]
        which = sides_of(offsets)
        return torch.take_along_dim(offsets, which[..., None], -2), torch.take_along_dim(faces[:, None], which, -1)

    def _place(self, cells: Tensor) -> Tensor:
        """Cells of any shape -> the same with row and column, int64."""
        return torch.stack([cells.long() // self._side, cells.long() % self._side], -1)


_FAR = 10_000


def tracks(symbols: Tensor, cells: Tensor, side: int) -> Tensor:
    """The newest moment's sprite that each sprite is.

    Lists of sprites say nothing of that: each moment has an order of its own, and two entities may look alike. Sprites
    of one symbol are matched moment by moment, nearest ones first, each with one at most.

    Args:
        symbols: [K, T, S] int, oldest moment first, 0 for a sprite that is gone.
        cells: [K, T, S] int, row * side + column.
        side: cells along a side of the grid.

    Returns:
        [K, T, S] int64, places in the newest moment; S for what is gone now, or then.
    """
    places = torch.stack([cells.long() // side, cells.long() % side], -1)
    sprites = symbols.shape[-1]
    newest = torch.arange(sprites, device=symbols.device).expand(len(symbols), -1)
    found = [newest.where(symbols[:, -1] > 0, sprites)]
    for moment in range(symbols.shape[1] - 2, -1, -1):
        then, now = moment, moment + 1
        costs = (places[:, then, :, None] - places[:, now, None]).abs().sum(-1)
        alike = (symbols[:, then, :, None] == symbols[:, now, None]) & (symbols[:, then] > 0)[..., None]
        later = torch.nn.functional.pad(found[0], (0, 1), value=sprites)
        found.insert(0, later.gather(1, _matched(costs.masked_fill(~alike, _FAR))))
    return torch.stack(found, 1)


def _matched(costs: Tensor) -> Tensor:
    """Rows to columns, cheapest pairs first: [K, S, S] int64 -> [K, S] int64, S for a row without a column."""
    sprites = costs.shape[-1]
    match = torch.full(costs.shape[:2], sprites, device=costs.device)
    for _ in range(sprites):
        cost, pair = costs.flatten(1).min(-1, keepdim=True)
        row, column = pair // sprites, pair % sprites
        # A row that is left over stays without a column, and one that is found keeps it.
        match = match.scatter(1, row, column.where(cost < _FAR, match.gather(1, row)))
        costs = costs.scatter(1, row[..., None].expand(-1, -1, sprites), _FAR)
        costs = costs.scatter(2, column[..., None].expand(-1, sprites, -1), _FAR)
    return match


class NeighbourConvolution(nn.Module):
    """A 3 x 3 convolution over a grid that is empty nearly everywhere, at the cells of its sprites only.

    Equal there to `nn.Conv2d` over all cells with a border of zeros.
    """

    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(features, outputs, 3, padding=1)

    def forward(self, features: Tensor, cells: Tensor, side: int) -> Tensor:
        """Convolve.

        Args:
            features: [K, S, F] float, 0 for sprites that are gone; a cell has the sum of those in it.
            cells: [K, S] int, row * side + column.
            side: cells along a side of the grid.

        Returns:
            [K, S, outputs].
        """
        convolution = self.convolution
        kernel = convolution.weight.flatten(2).permute(2, 0, 1)  # [9, outputs, F]
        shares = torch.einsum("ksf,wof->kswo", features, kernel)
        places = torch.stack([cells.long() // side, cells.long() % side], -1)
        apart = places[:, None] - places[:, :, None]  # from the sprite that reads to the one that is read
        is_near = (apart.abs() <= 1).all(-1)
        window = ((apart[..., 0] + 1) * 3 + apart[..., 1] + 1).where(is_near, 0)
        sprite = torch.arange(cells.shape[1], device=cells.device)
        read = shares[torch.arange(len(cells), device=cells.device)[:, None, None], sprite, window]
        assert convolution.bias is not None
        return (read * is_near[..., None]).sum(2) + convolution.bias
