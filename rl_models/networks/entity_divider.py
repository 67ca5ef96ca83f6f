"""Entity divider: it divides entities between an agent and the other agents (EnDi, section 4.1).

A backbone grounds the goal twice with the same weights, from the position of the agent and from that of the nearest
other agent, and returns two logits an entity. Here they become the mask m, drawn by Gumbel-softmax. The agent acts on
the observation times m, and predicts the others' actions from the observation times 1 - m. Agents, walls and empty
cells have no mask.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from rl_models.networks.readers import DocumentAttention, Txt2PiReader
from rl_models.networks.reading import ReadingNetwork, ReadingSizes, offsets_to
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.runtime.added_observations import NOISE

MASK, PROBABILITY, ENTITIES, OFFSETS, OTHERS = (
    f"division/{name}" for name in ("mask", "probability", "entities", "offsets", "others")
)
"""Extras of a network that divides entities: the parts of a `Division`, [B, T, N, E, ...], with the same order of
entities for every agent. While gradients are enabled, also the logits of the others' actions [B, T, N, N - 1, A], for
agents i + 1, i + 2, ... modulo N."""


@runtime_checkable
class DividesEntities(Protocol):
    """A network whose extras hold the parts of a `Division`, where `divides_entities` is True."""

    divides_entities: bool


@dataclass(frozen=True)
class Division:
    """The division of the entities in K frames, each frame seen by one agent.

    Attributes:
        mask: [K, E] float32, 1 for the agent's own entities and 0 for the others', with the gradient of the soft
            sample; 0 for no entity.
        probability: [K, E] float32, probability that an entity is the agent's own; 0 for no entity.
        entities: [K, E] bool, whether there is an entity.
        offsets: [K, E, 2, 2] float32, (column, row) offsets from the agent and from the nearest other agent, in widths
            and heights of the grid.
    """

    mask: Tensor
    probability: Tensor
    entities: Tensor
    offsets: Tensor

    def extras(self) -> dict[str, Tensor]:
        """The parts of the division as extras, name -> [K, E, ...]."""
        return {MASK: self.mask, PROBABILITY: self.probability, ENTITIES: self.entities, OFFSETS: self.offsets}

    def own_and_others(self) -> tuple[Tensor, Tensor]:
        """The factors m and 1 - m of the observation, [K, E] float32 each; 1 for no entity."""
        return self.mask + ~self.entities, 1 - self.mask


def divide(logits: Tensor, entities: Tensor, offsets: Tensor, uniforms: Tensor | None) -> Division:
    """Draw the masks of K frames from logits [K, E, 2] float32 for the agent and for the others (`choose_first`).

    `entities` [K, E] bool says where there is one, offsets [K, E, 2, 2] are as in a `Division`, and uniforms [K, E] are
    in [0, 1); None takes the more probable side.
    """
    mask = choose_first(logits, uniforms) * entities
    return Division(mask, logits.softmax(-1)[..., 0] * entities, entities, offsets)


def nearest_agents(offsets: Tensor, is_here: Tensor | None = None) -> Tensor:
    """The agent itself (0) and the nearest other agent of each cell, [..., 2] int64; itself twice where it is alone.

    The nearest agent has the smallest Manhattan distance to the cell (EnDi, section 5.2, for more than two agents).
    Offsets [..., N, 2] are from all agents, the agent itself first; so is `is_here` [..., N] bool, who is in the game.
    """
    distances = offsets[..., 1:, :].abs().sum(-1)
    if is_here is None:
        nearest = 1 + distances.argmin(-1)
    else:
        others = is_here[..., 1:].expand_as(distances)
        nearest = (1 + distances.masked_fill(~others, torch.inf).argmin(-1)) * others.any(-1)
    return torch.stack([torch.zeros_like(nearest), nearest], -1)


def own_first(values: Tensor) -> Tensor:
    """Values of agents i, i + 1, ... modulo N for each agent i: [..., N] -> [..., N, N]."""
    agents = torch.arange(values.shape[-1], device=values.device)
    return values[..., (agents[:, None] + agents) % len(agents)]


def check_team(num_agents: int) -> None:
    """Check the number of agents of a divided team; raises ValueError."""
    if num_agents < 2:
        raise ValueError("an entity divider needs at least 2 agents: make a world with num_agents=2 or more")


_EPSILON = 1e-6
"""Smallest distance of a uniform number from 0 and 1, so that its logit is finite."""


def choose_first(logits: Tensor, uniforms: Tensor | None) -> Tensor:
    """Draw one of two classes by straight-through Gumbel-softmax (Jang et al., 2017; EnDi, section 4.1).

    Logits [..., 2] -> [...] float32, exactly 1 for the first class and 0 for the second, with the gradient of the soft
    sample. The difference of two Gumbel variables is logistic, so one uniform number in [0, 1] an element suffices;
    without, the more probable class is taken.
    """
    margin = logits[..., 0] - logits[..., 1]
    if uniforms is not None:
        inside = uniforms.to(margin.dtype).clamp(_EPSILON, 1 - _EPSILON)
        margin = margin + inside.logit()
    soft = torch.sigmoid(margin)
    # The difference is exactly 0, so the result is exactly 0 or 1.
    return (margin > 0).to(soft.dtype) + (soft - soft.detach())


class OthersHead(nn.Module):
    """Head of agent modelling (EnDi, section 4.2): a linear layer for each other agent, on features of its entities."""

    def __init__(self, features: int, others: int, num_actions: int) -> None:
        super().__init__()
        self._others = others
        self.policies = nn.Linear(features, others * num_actions)

    def forward(self, features: Tensor) -> Tensor:
        """Features [..., F] float32 -> logits of the others' actions [..., N - 1, A] float32."""
        logits: Tensor = self.policies(features).unflatten(-1, (self._others, -1))
        return logits


@dataclass(frozen=True)
class DividedReadingConfig:
    """Widths and options of the network; the defaults are the paper's."""

    backbone: Txt2PiConfig = field(default_factory=lambda: Txt2PiConfig(features=0))
    """Network that grounds the policy. It has no output layer, so the heads are on the pooled grid."""
    goal_channels: tuple[int, ...] = (16, 4)
    """Channels of the layers that ground the goal."""
    models_others: bool = True
    """Whether the network predicts the others' actions; False is for teams without the loss of agent modelling."""


class DividedReading(ReadingNetwork):
    """txt2π with an entity divider."""

    divides_entities = True

    def __init__(self, config: DividedReadingConfig, sizes: ReadingSizes, is_entity: Tensor, num_actions: int) -> None:
        """Build the network; `is_entity` [K] bool marks the names of entities that can be divided."""
        check_team(sizes.num_agents)
        backbone = config.backbone
        words = sizes.make_words(backbone.word_features)
        reader = Txt2PiReader(backbone.reader, words, sizes.num_agents)
        stack = backbone.build_stack(reader, backbone.channels)
        super().__init__(sizes, words, reader, stack, backbone.features, backbone.activation)
        self.goal_stack = backbone.build_stack(reader, config.goal_channels)
        self.division = nn.Conv2d(2 * self.goal_stack.features, 2, 3, padding=1)
        others = sizes.num_agents - 1
        self.others = OthersHead(self.features, others, num_actions) if config.models_others else None
        self.is_entity = nn.Buffer(is_entity.bool(), persistent=False)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """(H, W, P), one number for each name in each cell; `obs` is name -> [B, N, ...]."""
        return tuple(obs["grid"].shape[2:])

    def _run_chunk(
        self, visual: dict[str, Tensor], fixed: Tensor, attend: DocumentAttention | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        grid, cells = visual["grid"], self.cells(visual["grid"])
        all_offsets = torch.stack([offsets_to(position, cells) for position in visual["position"].unbind(1)], -2)
        offsets = torch.take_along_dim(all_offsets, nearest_agents(all_offsets)[..., None], -2)
        division = self._divide(visual, cells, offsets, fixed, attend)
        own, others = (weights.view(grid.shape) for weights in division.own_and_others())
        own_offsets, goal_calls = offsets[..., 0, :], len(attend.weights) if attend is not None else 0
        pooled = self.stack(self.cells(grid, own), own_offsets, fixed, attend)[1]
        extras = division.extras() | {name: maps[:, goal_calls:] for name, maps in self._attention_maps(attend).items()}
        if self.others is not None and torch.is_grad_enabled():
            predicted = self.stack(self.cells(grid, others), own_offsets, fixed, attend)[1]
            extras[OTHERS] = self.others(self._output_features(predicted))
        return pooled, extras

    def _divide(
        self, visual: dict[str, Tensor], cells: Tensor, offsets: Tensor, fixed: Tensor, attend: DocumentAttention | None
    ) -> Division:
        """Masks of all names in the grid, from the goal grounded from the agent's side and from the others' side."""
        sides = [self.goal_stack(cells, side, fixed, attend)[0] for side in offsets.unbind(-2)]
        logits = self.division(torch.cat(sides, -1).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        entities, names = self.is_entity[visual["grid"].long()].flatten(1), visual["grid"].shape[-1]
        # All names of a cell share its logits and its offsets.
        of_names = [part.flatten(1, 2).repeat_interleave(names, 1) for part in (logits, offsets)]
        return divide(of_names[0], entities, of_names[1], visual[NOISE].flatten(1) if NOISE in visual else None)
