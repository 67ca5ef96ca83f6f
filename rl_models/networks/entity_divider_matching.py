"""EnDi with the mention-matching reader: a network of ours with an entity divider (EnDi, section 4).

Node states with weights of their own ground the goal, from the place of the agent and from that of the nearest other
agent; a linear layer over both results gives two logits a node. The reader's messages take the place of convolutions:
each node receives messages from all others. A masked node sends none and is not summed. With the same weights the
reader sums the masked nodes for the prediction of the others' actions. Words, mentions and features of pairs are
computed once for all passes. Input keys are those of `matching.py` and `noise` [B, T, N, H, W, P].
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.networks.entity_divider import OTHERS, Division, OthersHead, check_team, divide, nearest_agents
from rl_models.networks.matching import Frames, MatchingConfig, MatchingReader, MatchingSizes
from rl_models.networks.matching_states import Nodes, NodeStates, received, seen_from
from rl_models.runtime.added_observations import NOISE


@dataclass(frozen=True)
class DividedMatchingConfig:
    """Widths and options of the network."""

    backbone: MatchingConfig = field(default_factory=MatchingConfig)
    """Network that grounds the policy."""
    goal_features: int = 16
    """Width of the states that ground the goal."""
    models_others: bool = True
    """Whether the network predicts the others' actions; False is for teams without the loss of agent modelling."""


class DividedMatching(MatchingReader):
    """The mention-matching reader with an entity divider."""

    divides_entities = True

    def __init__(
        self, config: DividedMatchingConfig, sizes: MatchingSizes, is_entity: Tensor, num_actions: int
    ) -> None:
        """Build the network; `is_entity` [K] bool marks the names that can be divided, which are nodes."""
        check_team(sizes.num_agents)
        backbone = config.backbone
        super().__init__(backbone, sizes)
        kinds = int(sizes.kinds.max()) + 1
        self.goal = NodeStates(
            config.goal_features, self.mentions, sizes.num_agents, kinds, backbone.reach, backbone.sees_names
        )
        self.division = nn.Linear(4 * config.goal_features, 2)
        others = sizes.num_agents - 1
        self.others = OthersHead(self.features, others, num_actions) if config.models_others else None
        self.is_entity = nn.Buffer(is_entity.bool(), persistent=False)

    def noise_shape(self, obs: Mapping[str, Any]) -> tuple[int, ...]:
        """(H, W, P), one number for each name in each cell; `obs` is name -> [B, N, ...]."""
        return tuple(obs["grid"].shape[2:])

    def _outputs(self, obs: dict[str, Tensor], frames: Frames) -> tuple[Tensor, dict[str, Tensor]]:
        division = self._divide(obs, frames)
        own, others = (_node_weights(weights, frames.nodes) for weights in division.own_and_others())
        extras = division.extras()
        if self.others is not None and torch.is_grad_enabled():
            extras[OTHERS] = self.others(self._features(frames, others))
        return self._features(frames, own), extras

    def _divide(self, obs: dict[str, Tensor], frames: Frames) -> Division:
        """Masks of all names in the grid, from the goal grounded from the agent's side and from the others' side."""
        grid, nodes = obs["grid"].flatten(0, 2), frames.nodes
        offsets = _offsets(obs["position"].flatten(0, 2).long(), grid)
        from_other = seen_from(nodes, offsets[:, :, 1], self.reach)
        sides = [self._grounded(frames, side) for side in (nodes, from_other)]
        of_nodes = self.division(torch.cat(sides, -1))
        # Nodes that are not in the grid have a column of their own, which is dropped.
        logits = of_nodes.new_zeros(len(grid), offsets.shape[1] + 1, 2)
        logits = logits.scatter(1, nodes.cells[..., None].expand(-1, -1, 2), of_nodes)[:, :-1]
        entities = self.is_entity[grid.flatten(1).long()]
        noise = obs[NOISE].flatten(0, 2).flatten(1) if NOISE in obs else None
        height, width = grid.shape[1:3]
        rows, columns = offsets.to(logits.dtype).unbind(-1)
        relative = torch.stack([columns / width, rows / height], -1)
        return divide(logits, entities, relative, noise)

    def _grounded(self, frames: Frames, nodes: Nodes) -> Tensor:
        """Both states of the nodes from one side, [K, X, 2 H] float32."""
        states = self.goal.first_states(nodes, frames.things, frames.pairs)
        return torch.cat([states, received(self.goal.messages(states, frames.pairs), nodes.exists)], -1)


def _offsets(positions: Tensor, grid: Tensor) -> Tensor:
    """Offsets (row, column) of the grid from the agent and from the nearest other, [K, H W P, 2, 2] int64."""
    height, width, names = grid.shape[1:]
    rows, columns = (torch.arange(length, device=grid.device) for length in (height, width))
    cells = torch.cartesian_prod(rows, columns).repeat_interleave(names, 0)
    offsets = cells[:, None] - positions[:, None]
    of_rows, of_columns = offsets.unbind(-1)
    agents = nearest_agents(torch.stack([of_rows / height, of_columns / width], -1))
    return torch.take_along_dim(offsets, agents[..., None], -2)


def _node_weights(weights: Tensor, nodes: Nodes) -> Tensor:
    """Weights [K, H W P] of the names in a grid -> of the nodes, [K, X]; 1 for nodes elsewhere, 0 for padding."""
    return nn.functional.pad(weights, (0, 1), value=1.0).gather(1, nodes.cells) * nodes.exists
