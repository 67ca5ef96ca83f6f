"""EnDi with the network of any environment: `parts.py` with an entity divider (EnDi, section 4).

The goal is grounded from what an entity is, what the network's reader finds about it in the texts, and its offset from
an agent, with the same weights for the agent itself and for the nearest other agent; a linear layer over both gives two
logits an entity. What a masked entity is and where it stands counts as 0. The policy and the value see the remaining
entities; with the same weights as the policy's a head sees the masked ones and predicts the others' actions. Input keys
are those of the parts and `noise` [B, T, N, ...], one number for each entity.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_
from rl_models.layers.tracks import row_and_column, tracks
from rl_models.networks.entity_divider import (
    OTHERS,
    Division,
    OthersHead,
    check_team,
    divide,
    nearest_agents,
    own_first,
)
from rl_models.networks.network_config import PartsConfig
from rl_models.networks.parts import Part, PartsEncoder, TowersOfParts
from rl_models.networks.text_readers import TextReader
from rl_models.policy import Features, State, agents_alive
from rl_models.runtime.added_observations import NOISE


class EntityKeys(Protocol):
    """Observation keys of the entities, as a world declares them."""

    @property
    def key(self) -> str:
        """Key of what the entities are.

        Their kinds [E], or those of the last moments [moments, E], the newest last; numbers that describe each [E, F],
        all 0 where there is none; or names in the cells of a grid [H, W, P].
        """

    @property
    def positions(self) -> str:
        """Key of their cells, row * W + column, in the shape of `key`, or of rows and columns [E, 2]; "" for a grid."""

    @property
    def agents(self) -> str:
        """Key of the agents' positions in the same form, [N], [moments, N] or [N, 2].

        Those of agent i itself come first, then those of agents i + 1, i + 2, ... modulo N.
        """

    @property
    def size(self) -> tuple[float, float]:
        """H and W, by which distances are divided."""

    @property
    def is_entity(self) -> NDArray[np.bool_] | None:
        """[K] bool, the kinds or names that are entities; None for all but 0."""


class DividedParts(TowersOfParts):
    """Two towers over parts of an observation, with an entity divider."""

    divides_entities = True

    def __init__(
        self,
        config: PartsConfig,
        parts: Sequence[Part],
        entities: EntityKeys,
        num_agents: int,
        num_actions: int,
        goal_features: int,
    ) -> None:
        """Build the network; `goal_features` is the width of the grounded goal for each of the two sides."""
        check_team(num_agents)
        super().__init__(config, parts, num_agents, critic="own")
        (part,) = (part for part in parts if part.key == entities.key)
        self._keys, self._is_grid = entities, not entities.positions
        self._has_numbers = not (part.ids or part.vocabulary)
        self._has_moments = not self._is_grid and not self._has_numbers and len(part.shape) == 2
        encoder, self.goal_reader = cast(PartsEncoder, self.encoders[0]), None
        width = config.reader.word_features
        if self._has_numbers:
            width = part.shape[-1]
        elif part.vocabulary and encoder.words is not None:
            width = int(encoder.words.features)  # type: ignore[arg-type]  # a module's attribute has no type
        if isinstance(encoder.reader, TextReader):
            self.goal_reader = TextReader(config.reader, encoder.reader.texts, encoder.reader.words, width)
            width += self.goal_reader.features
        self.goal_entities = nn.Linear(width, goal_features)
        self.goal_offsets = nn.Linear(2, goal_features, bias=False)
        self.division = nn.Linear(2 * goal_features, 2)
        self.others = OthersHead(self.actor.features, num_agents - 1, num_actions)
        for layers in (self.goal_entities, self.goal_offsets, self.division, self.others):
            glorot_(layers)
        self.is_entity: Tensor | None
        known = entities.is_entity
        self.register_buffer("is_entity", None if known is None else torch.from_numpy(known), persistent=False)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """One number for each entity, (E,), or each place in a grid, (H, W, P); `obs` is name -> [B, N, ...]."""
        shape = tuple(obs[self._keys.key].shape[2:])
        return shape[:1] if self._has_numbers else shape[-1:] if self._has_moments else shape

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] float32 with two halves, and as extras the parts of a `Division`, [B, T, N, E, ...]."""
        division = self._divide(obs)
        own, others = (self._weights(obs, weights) for weights in division.own_and_others())
        found, lead = self._towers(obs, is_first, own), (*is_first.shape, self.num_agents)
        found.extras.update({name: value.unflatten(0, lead) for name, value in division.extras().items()})
        if torch.is_grad_enabled():
            masked = self.actor({"vector": self.encoders[0](obs, others)}, {}, is_first).features
            found.extras[OTHERS] = self.others(masked)
        return found

    def _divide(self, obs: dict[str, Tensor]) -> Division:
        """Masks of the entities of K frames, from the goal grounded from the agent's side and from the others' side."""
        encoder, key = cast(PartsEncoder, self.encoders[0]), self._keys.key
        entries = encoder.scaled(obs, key).view(obs[key].shape) if self._has_numbers else encoder.entries(obs, key)
        entries = (entries[..., -1, :, :] if self._has_moments else entries).flatten(3, -2)  # [B, T, N, E, width]
        if self.goal_reader is not None:
            entries = torch.cat([entries, self.goal_reader(encoder.with_texts(obs), entries)], -1)
        shown = obs[key].flatten(0, 2)
        if self._has_numbers:
            exists = (shown != 0).any(-1)
        else:
            shown = (shown[:, -1] if self._has_moments else shown).flatten(1).long()
            exists = shown != 0 if self.is_entity is None else self.is_entity[shown]
        offsets = self._offsets(obs)
        sides = torch.relu(self.goal_entities(entries.flatten(0, 2))[:, :, None] + self.goal_offsets(offsets))
        noise = obs[NOISE].flatten(0, 2).flatten(1) if NOISE in obs else None
        return divide(self.division(sides.flatten(2)), exists, offsets, noise)

    def _offsets(self, obs: dict[str, Tensor]) -> Tensor:
        """(column, row) offsets from the agent and from the nearest other agent, [K, E, 2, 2] float32."""
        agents = self._places(obs, self._keys.agents)
        if self._is_grid:
            height, width, names = obs[self._keys.key].shape[3:]
            rows, columns = (torch.arange(length, device=agents.device) for length in (height, width))
            entities = torch.cartesian_prod(rows, columns).repeat_interleave(names, 0)[None]
        else:
            entities = self._places(obs, self._keys.positions)
        size = torch.tensor(self._keys.size, device=agents.device)
        offsets = (entities[:, :, None] - agents[:, None]) / size
        alive = agents_alive(obs)
        is_here = None if alive is None else own_first(alive).flatten(0, 2)[:, None]
        return torch.take_along_dim(offsets, nearest_agents(offsets, is_here)[..., None], -2).flip(-1)

    def _places(self, obs: dict[str, Tensor], key: str) -> Tensor:
        """Rows and columns [K, ..., 2] float32; of cells those of the newest time step."""
        places = obs[key].flatten(0, 2)
        if self._has_numbers or self._is_grid:
            return places.float()
        return row_and_column(places[:, -1] if self._has_moments else places, int(self._keys.size[1])).float()

    def _weights(self, obs: dict[str, Tensor], weights: Tensor) -> dict[str, Tensor]:
        """Factors of what the entities are and where they stand: [K, E] -> key -> [B, T, N, ...]."""
        keys, shown = self._keys, obs[self._keys.key]
        if self._has_moments:  # an entity is masked in all of them; one that is gone now is not
            symbols, cells = shown.flatten(0, 2), obs[keys.positions].flatten(0, 2)
            track = tracks(symbols, cells, int(keys.size[1]))
            moments = nn.functional.pad(weights, (0, 1), value=1.0)[:, None].expand(-1, track.shape[1], -1)
            weights = moments.gather(2, track)
        weights = weights.reshape(shown.shape[:-1] if self._has_numbers else shown.shape)
        return {key: weights for key in (keys.key, keys.positions) if key}
