"""EnDi around a reading network: txt2π that divides the entities of its grid (EnDi, section 4 and appendix C.1).

Two FiLM² layers ground the goal, from the agent's and from the nearest other's place; a 3 x 3 convolution over both
gives two logits a cell. A masked name counts as no name: its words add nothing to its cell. The stack of txt2π grounds
what remains, for the policy and the value; with the same weights it grounds what was hidden, for the others' actions.
Texts are read once for all of it, but each pass looks at the document for itself. Input keys are `reading.py`'s and
`noise` [B, T, N, H, W, P].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.networks.entity_divider import OTHERS, Division, OthersHead, check_team, divide, sides_of
from rl_models.networks.film2_stack import Film2Stack
from rl_models.networks.noise import NOISE
from rl_models.networks.readers import Look, Txt2PiReader
from rl_models.networks.reading import ReadingNetwork, Sizes, offsets_to
from rl_models.networks.txt2pi import Txt2PiConfig, film2_stack


@dataclass(frozen=True)
class DividedReadingConfig:
    """Widths and options; the defaults are the paper's."""

    backbone: Txt2PiConfig = field(default_factory=lambda: Txt2PiConfig(features=0))
    """Grounds the policy; its heads are on the pooled grid, without an output layer."""
    goal_channels: tuple[int, ...] = (16, 4)
    """Of the layers that ground the goal."""
    models_others: bool = True
    """Predict the others' actions. False, for a team without that loss, leaves out what only it would train."""


class DividedReading(ReadingNetwork):
    """txt2π with an entity divider."""

    def __init__(self, config: DividedReadingConfig, sizes: Sizes, is_entity: Tensor, actions: int) -> None:
        """Build the network.

        Args:
            config: widths and options.
            sizes: of the world.
            is_entity: [K] bool, names of what can be divided: monsters and items.
            actions: A.

        Raises:
            ValueError: there is one agent.
        """
        check_team(sizes.num_agents)
        backbone = config.backbone
        words = nn.Embedding(sizes.vocabulary, backbone.word_features, padding_idx=0)
        reader = Txt2PiReader(backbone.reader, words, sizes.num_agents)
        stack = film2_stack(backbone, reader, backbone.channels)
        super().__init__(sizes, words, reader, stack, backbone.features, backbone.activation)
        self.goal_stack: Film2Stack = film2_stack(backbone, reader, config.goal_channels)
        self.division = nn.Conv2d(2 * self.goal_stack.features, 2, 3, padding=1)
        others = sizes.num_agents - 1
        self.others = OthersHead(self.features, others, actions) if config.models_others else None
        self.is_entity: Tensor
        self.register_buffer("is_entity", is_entity.bool(), persistent=False)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """A number for every name that a cell can show, (H, W, P)."""
        return tuple(obs["grid"].shape[2:])

    def _seen_keys(self, obs: dict[str, Tensor]) -> tuple[str, ...]:
        return ("grid", "position", NOISE) if NOISE in obs else ("grid", "position")

    def _look_at(self, seen: dict[str, Tensor], fixed: Tensor, look: Look | None) -> tuple[Tensor, dict[str, Tensor]]:
        grid, cells = seen["grid"], self.cells(seen["grid"])
        distances = torch.stack([offsets_to(place, cells) for place in seen["position"].unbind(1)], -2)
        offsets = torch.take_along_dim(distances, sides_of(distances)[..., None], -2)
        division = self._divide(seen, cells, offsets, fixed, look)
        own, left = (weights.view(grid.shape) for weights in division.own_and_others())
        here, looks = offsets[..., 0, :], len(look.weights) if look is not None else 0
        pooled = self.stack(self.cells(grid, own), here, fixed, look)[1]
        extras = division.extras() | {name: maps[:, looks:] for name, maps in self._maps(look).items()}
        if self.others is not None and torch.is_grad_enabled():
            expected = self.stack(self.cells(grid, left), here, fixed, look)[1]
            extras[OTHERS] = self.others(self._finished(expected))
        return pooled, extras

    def _divide(
        self, seen: dict[str, Tensor], cells: Tensor, offsets: Tensor, fixed: Tensor, look: Look | None
    ) -> Division:
        """Masks of all names in the grid, from the goal as grounded from both sides."""
        sides = [self.goal_stack(cells, side, fixed, look)[0] for side in offsets.unbind(-2)]
        logits = self.division(torch.cat(sides, -1).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        entities, names = self.is_entity[seen["grid"].long()].flatten(1), seen["grid"].shape[-1]
        # All names of a cell share its logits and its place.
        of_names = [part.flatten(1, 2).repeat_interleave(names, 1) for part in (logits, offsets)]
        return divide(of_names[0], entities, of_names[1], seen[NOISE].flatten(1) if NOISE in seen else None)
