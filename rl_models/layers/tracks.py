"""Tracks of sprites over time steps, and how each one moves to or from the agent.

Lists of sprites lack this: each time step has its own order, and two entities may have the same symbol.
"""

import torch
from torch import Tensor

NEARER, SAME, FARTHER = 1, 2, 3
"""How a sprite moves; 0 is a sprite that is gone."""
MOVEMENTS = 4
_FAR = 10_000
"""Cost of a pair of sprites that cannot be the same; larger than every distance in cells."""


def row_and_column(cells: Tensor, side: int) -> Tensor:
    """Cells [...] int -> [..., 2] int64, row and column."""
    return torch.stack([cells.long() // side, cells.long() % side], -1)


def tracks(symbols: Tensor, cells: Tensor, side: int) -> Tensor:
    """The index in the newest time step of each sprite of every time step.

    Sprites with the same symbol are matched from step to step, nearest pairs first, each with at most one other.
    Symbols [K, T, S], oldest moment first, 0 for a sprite that is gone, and cells [K, T, S], row * side + column -> [K,
    T, S] int64; S for a sprite that is gone in that step or in the newest one.
    """
    positions = row_and_column(cells, side)
    sprites = symbols.shape[-1]
    newest = torch.arange(sprites, device=symbols.device).expand(len(symbols), -1)
    found = [newest.where(symbols[:, -1] > 0, sprites)]
    for moment in range(symbols.shape[1] - 2, -1, -1):
        then, now = moment, moment + 1
        costs = (positions[:, then, :, None] - positions[:, now, None]).abs().sum(-1)
        alike = (symbols[:, then, :, None] == symbols[:, now, None]) & (symbols[:, then] > 0)[..., None]
        later = torch.nn.functional.pad(found[0], (0, 1), value=sprites)
        found.insert(0, later.gather(1, _matched(costs.masked_fill(~alike, _FAR))))
    return torch.stack(found, 1)


def movements(symbols: Tensor, cells: Tensor, agent_cells: Tensor, side: int) -> Tensor:
    """How each sprite moves: the sum over all steps of the change of its distance from where the agent was before.

    From symbols [K, T, S] and cells [K, T, S] as in `tracks` and the agent's cells [K, T] to [K, T, S] int64: NEARER,
    SAME or FARTHER, the same in all time steps of a sprite; 0 for one that is gone in that step or in the newest one.
    Distances are sums of rows and columns.
    """
    track, positions = tracks(symbols, cells, side), row_and_column(cells, side)
    frames, moments, sprites = symbols.shape
    places = positions.new_zeros(frames, moments, sprites + 1, 2)
    places = places.scatter(2, track[..., None].expand(-1, -1, -1, 2), positions)[:, :, :-1]
    was_here = torch.zeros(frames, moments, sprites + 1, dtype=torch.bool, device=symbols.device)
    was_here = was_here.scatter(2, track, True)[:, :, :-1]
    agent = row_and_column(agent_cells, side)[:, :-1, None]
    before, after = ((one - agent).abs().sum(-1) for one in (places[:, :-1], places[:, 1:]))
    change = ((after - before) * (was_here[:, :-1] & was_here[:, 1:])).sum(1)
    of_newest = torch.nn.functional.pad(change.sign() + SAME, (0, 1))
    return of_newest[:, None].expand(-1, moments, -1).gather(2, track)


def _matched(costs: Tensor) -> Tensor:
    """Match rows with columns, cheapest pairs first: costs [K, S, S] -> column [K, S] int64, S for no column."""
    sprites = costs.shape[-1]
    match = torch.full(costs.shape[:2], sprites, device=costs.device)
    for _ in range(sprites):
        cost, pair = costs.flatten(1).min(-1, keepdim=True)
        row, column = pair // sprites, pair % sprites
        # A row without an affordable pair stays without a column, and a matched row keeps its column.
        match = match.scatter(1, row, column.where(cost < _FAR, match.gather(1, row)))
        costs = costs.scatter(1, row[..., None].expand(-1, -1, sprites), _FAR)
        costs = costs.scatter(2, column[..., None].expand(-1, sprites, -1), _FAR)
    return match
