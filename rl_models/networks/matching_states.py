"""States of a mention-matching reader's nodes: what they are, and what they hear of each other. Part of `matching.py`.

A node begins with its place (a table of offsets from an agent, up to `reach` cells; beyond them a linear map of the
rest), its kind, its vector, and what the document says of it and the goal (equation 8). Then it hears from all other
nodes what the document says of both (equation 9). A reader has one set of these weights. A reader with an entity
divider has a second, which grounds the goal (`entity_divider_matching.py`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rl_models.networks.matching_nodes import Nodes
from rl_models.networks.mentions import Mentions, PairFeatures

_GAIN = 2.0
"""Scale of the initial weights of what the document says (G and C), in PyTorch's."""


class NodeStates(nn.Module):
    """Turns nodes and the features of their pairs into states.

    Attributes:
        reach: number of cells up to which every offset from an agent has a row of its own.
    """

    def __init__(
        self, features: int, mentions: Mentions, num_agents: int, num_kinds: int, reach: int, sees_names: bool
    ) -> None:
        """Build the layers.

        Args:
            features: H, width of a state.
            mentions: what gives the features of pairs; its weights are not part of this module.
            num_agents: N, number of inventories.
            num_kinds: number of kinds of nodes, with kind 0.
            reach: number of cells up to which every offset from an agent has a row of its own.
            sees_names: whether states hold the vectors of names.
        """
        super().__init__()
        self.reach = reach
        self.place = table((2 * reach + 1) ** 2 + num_agents + 1, features)
        self.beyond = nn.Parameter(torch.zeros(2, features))
        self.kind = table(num_kinds, features)
        self.name = nn.Linear(mentions.word_features, features, bias=False) if sees_names else None
        around = mentions.num_around
        self.around = nn.Linear(around, features, bias=False) if around else None
        self.with_goal = _scaled(nn.Linear(mentions.num_features, features), _GAIN)
        self.to_receiver = nn.Linear(features, features)
        self.to_sender = nn.Linear(features, features, bias=False)
        self.of_pair = _scaled(nn.Linear(mentions.num_features, features, bias=False), _GAIN)

    def first_states(self, nodes: Nodes, things: Tensor, pairs: PairFeatures) -> Tensor:
        """h0 (eq. 8), [K, X, H] float32.

        Args:
            nodes: X nodes of each of K frames.
            things: [Q, F] float32, vectors of all things.
            pairs: features of all pairs of the nodes.
        """
        with_goal = self.with_goal(pairs.features)[pairs.of_frames[:, :, -1]]
        state = (
            self.place[nodes.places]
            + nodes.beyond.to(self.beyond.dtype) @ self.beyond
            + self.kind[nodes.kinds]
            + with_goal
        )
        if self.name is not None:
            state = state + self.name(things)[nodes.things]
        if self.around is not None and pairs.around is not None:
            state = state + self.around(pairs.around)[pairs.attention_of_frames]
        return state.relu()

    def messages(self, states: Tensor, pairs: PairFeatures) -> Tensor:
        """What each node of a frame says to each other (the terms of eq. 9): [K, X, H] -> [K, X, X, H] float32.

        The first X are the nodes that speak, so that `heard` is one product of matrices.
        """
        of_pairs = self.of_pair(pairs.features)[pairs.of_frames.mT]
        messages: Tensor = (self.to_receiver(states)[:, None] + self.to_sender(states)[:, :, None] + of_pairs).relu()
        return messages


def heard(messages: Tensor, weights: Tensor) -> Tensor:
    """h1 (eq. 9), [K, X, H] float32.

    Args:
        messages: [K, X, X, H] float32, by `NodeStates.messages`.
        weights: [K, X] float32 or bool, 0 for nodes that say nothing, such as padding.
    """
    summed = weights.to(messages.dtype)[:, None] @ messages.flatten(2)
    return summed.view(len(messages), *messages.shape[2:]) / 2


def table(rows: int, features: int) -> nn.Parameter:
    """[rows, features] float32, small random numbers."""
    return nn.Parameter(torch.randn(rows, features) / 4)


def _scaled(layer: nn.Linear, gain: float) -> nn.Linear:
    """The layer with scaled initial weights."""
    with torch.no_grad():
        layer.weight.mul_(gain)
    return layer
