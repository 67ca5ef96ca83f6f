"""EnDi with a reading network: txt2π with an entity divider (EnDi, section 4 and appendix C.1).

Two FiLM² layers ground the goal, from the position of the agent and from that of the nearest other agent; a 3 x 3
convolution over both results gives two logits a cell. A masked name adds no words to its cell. The stack of txt2π
grounds the remaining names for policy and value; with the same weights it grounds the masked names for the prediction
of the others' actions. The texts are read once for all passes, but each pass attends to the document separately. Input
keys are those of `reading.py` and `noise` [B, T, N, H, W, P].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.networks.entity_divider import OTHERS, Division, OthersHead, check_team, divide, nearest_agents
from rl_models.networks.readers import DocumentAttention, Txt2PiReader
from rl_models.networks.reading import ReadingNetwork, ReadingSizes, offsets_to
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.runtime.added_observations import NOISE


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
        """Build the network.

        Args:
            config: widths and options.
            sizes: sizes of the world.
            is_entity: [K] bool, names of entities that can be divided.
            num_actions: A.
        """
        check_team(sizes.num_agents)
        backbone = config.backbone
        words = nn.Embedding(sizes.vocabulary, backbone.word_features, padding_idx=0)
        reader = Txt2PiReader(backbone.reader, words, sizes.num_agents)
        stack = backbone.build_stack(reader, backbone.channels)
        super().__init__(sizes, words, reader, stack, backbone.features, backbone.activation)
        self.goal_stack = backbone.build_stack(reader, config.goal_channels)
        self.division = nn.Conv2d(2 * self.goal_stack.features, 2, 3, padding=1)
        others = sizes.num_agents - 1
        self.others = OthersHead(self.features, others, num_actions) if config.models_others else None
        self.is_entity: Tensor
        self.register_buffer("is_entity", is_entity.bool(), persistent=False)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """(H, W, P), one number for each name in each cell; `obs` is name -> [B, N, ...]."""
        return tuple(obs["grid"].shape[2:])

    def _visual_keys(self, obs: dict[str, Tensor]) -> tuple[str, ...]:
        return ("grid", "position", NOISE) if NOISE in obs else ("grid", "position")

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
