"""States of a mention-matching reader's nodes: their inputs and messages. Part of `matching.py`.

A node begins with its place (a table of offsets from an agent, up to `reach` cells; beyond them a linear map of the
rest), its kind, and what the document says of it and the goal (equation 8); in an ablation also with its name's vector.
Then it receives messages from all nodes, itself included, with what the document says of both (equation 9). A reader
has one set of these weights. A reader with an entity divider has a second, which grounds the goal
(`entity_divider_matching.py`).

Nodes (section 4 of `matching.py`) are the objects in the cells of a room, what agents hold, and the goal; they have no
weights. Occupied cells are compacted, so the cost grows with the number of entities and not with the size of the room.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from rl_models.networks.mentions import Mentions, PairFeatures
from rl_models.runtime.device import longest


@dataclass(frozen=True)
class Nodes:
    """Nodes of K frames: X of cells, inventories and goal, which is the last.

    Attributes:
        things: [K, X] int64, names; number of names + row for goals.
        kinds: [K, X] int64, kinds of the names; 0 for goals.
        places: [K, X] int64, offset from the agent as row * side + column, then a row for each inventory and the goal.
        beyond: [K, X, 2] int64, rows and columns by which a node is farther than the offsets reach.
        cells: [K, X] int64, position of a node in the grid, as (row * W + column) * P + name; H * W * P for padding,
            inventories and the goal.
        exists: [K, X] bool, False for padding.
    """

    things: Tensor
    kinds: Tensor
    places: Tensor
    beyond: Tensor
    cells: Tensor
    exists: Tensor


def make_nodes(
    grid: Tensor,
    position: Tensor,
    inventory: Tensor,
    goals: Tensor,
    num_goals: int,
    kinds: Tensor,
    reach: int,
    most: int,
) -> Nodes:
    """Nodes of K frames, at most `most` of them of cells.

    From the names in each cell [K, H, W, P] uint8 and in the inventories [K, N] int64, the agent's row and column [K,
    2] int64, which of `num_goals` goals is its own, [K] int64, the kind of each name [names] int64, of which kind 0 is
    no node of a cell, and the cells up to which offsets are told apart.
    """
    width, names = grid.shape[2:]
    flat = grid.flatten(1).long()
    places, count = _present(kinds[flat] > 0, most)
    most, further = places.shape[1], inventory.shape[1] + 1
    cells = places.div(names, rounding_mode="floor")
    offsets = torch.stack([cells.div(width, rounding_mode="floor"), cells % width], -1) - position[:, None]
    near, beyond = place_rows(offsets, reach)
    is_there = torch.arange(most, device=flat.device) < count[:, None]
    constant = torch.cat([inventory, goals[:, None] + len(kinds)], 1)
    things = torch.cat([flat.gather(1, places) * is_there, constant], 1)
    held = torch.arange(further, device=flat.device).expand(len(flat), -1) + (2 * reach + 1) ** 2
    all_kinds = nn.functional.pad(kinds, (0, num_goals))
    return Nodes(
        things,
        all_kinds[things],
        torch.cat([near * is_there, held], 1),
        nn.functional.pad(beyond * is_there[..., None], (0, 0, 0, further)),
        nn.functional.pad(places.where(is_there, flat.shape[1]), (0, further), value=flat.shape[1]),
        nn.functional.pad(is_there, (0, further), value=True),
    )


def place_rows(offsets: Tensor, reach: int) -> tuple[Tensor, Tensor]:
    """Rows of places [...] int64 and what is beyond them [..., 2] int64, of (row, column) offsets [..., 2] int64."""
    near = offsets.clamp(-reach, reach)
    return (near[..., 0] + reach) * (2 * reach + 1) + near[..., 1] + reach, offsets - near


def seen_from(nodes: Nodes, offsets: Tensor, reach: int) -> Nodes:
    """The same nodes with their places relative to another agent; inventories and the goal keep theirs.

    Offsets [K, H * W * P, 2] int64 are (row, column) of everything in the grid from the other agent.
    """
    is_in_grid = nodes.cells < offsets.shape[1]
    index = nodes.cells.clamp(max=offsets.shape[1] - 1)[..., None].expand(-1, -1, 2)
    places, beyond = place_rows(offsets.gather(1, index), reach)
    return replace(nodes, places=places.where(is_in_grid, nodes.places), beyond=beyond * is_in_grid[..., None])


def _present(is_node: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Places [K, X] of the nodes [K, places] of each frame, 0 after the last, and their number [K]; X <= `most`."""
    number = is_node.cumsum(1)
    most = min(longest(number[:, -1], most), is_node.shape[1])
    # All that is no node goes into a last column, which is cut off.
    column = torch.where(is_node, (number - 1).clamp(max=most), most)
    every = torch.arange(is_node.shape[1], device=is_node.device).expand(len(is_node), -1)
    places = every.new_zeros(len(is_node), most + 1).scatter(1, column, every)
    return places[:, :most], number[:, -1]


_GAIN = 2.0
"""Scale of the initial weights of what the document says (G and C), in PyTorch's."""


class NodeStates(nn.Module):
    """Turns nodes and the features of their pairs into states; offsets up to `reach` cells have a row each."""

    def __init__(
        self, features: int, mentions: Mentions, num_agents: int, num_kinds: int, reach: int, sees_names: bool
    ) -> None:
        """Build the layers; the weights of `mentions` are not part of this module."""
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
        """h0 (eq. 8) of X nodes of K frames, [K, X, H] float32; `things` [Q, F] are vectors of all things."""
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
        """Messages from each node (first X) to each other (the terms of eq. 9): [K, X, H] -> [K, X, X, H] float32."""
        # In place, because these are the largest tensors of the network, and each copy of one costs as much as the sum.
        messages: Tensor = self.of_pair(pairs.features)[pairs.of_frames.mT]
        return messages.add_(self.to_receiver(states)[:, None]).add_(self.to_sender(states)[:, :, None]).relu_()


def received(messages: Tensor, weights: Tensor) -> Tensor:
    """h1 (eq. 9), [K, X, H] float32, of messages [K, X, X, H] with weights [K, X], 0 for those that are left out."""
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
