"""State of runners and learners in a checkpoint, redistributed over other numbers of runners, groups and learners.

Worlds are numbered over all runners, and each has its own random stream. So what a world plays does not depend on the
runner that steps it, and a run may be continued on a larger or a smaller machine.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from rl_models.algorithms.replay import NEXT
from rl_models.team_world import Array
from rl_models.training.algorithm import REPLAY, replay_group

Snapshot = Mapping[str, Any]
_OF_ALL = "version"
_TABLES = "world/texts/"


def group_sizes(num_worlds: int, groups: int) -> list[int]:
    """Sizes of the groups of a runner's worlds, which differ by one at most."""
    return [len(part) for part in np.array_split(np.arange(num_worlds), groups)]


def in_order(tensors: Mapping[str, dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Groups of a checkpoint of a kind (`runner_0`, `runner_1`; `replay`, `replay_1`) in the order of their numbers."""
    numbered = {int(name.rpartition("_")[2]) if "_" in name else 0: name for name in tensors if _kind(name) == kind}
    return [tensors[numbered[number]] for number in sorted(numbered)]


def _kind(name: str) -> str:
    kind, _, number = name.rpartition("_")
    return kind if number.isdigit() else name


def reshard_snapshots(snapshots: Sequence[Snapshot], sizes: Sequence[Sequence[int]]) -> list[dict[str, Array]] | None:
    """Redistribute the snapshots of all runners over groups of these sizes, those of each present runner.

    None where the total number of worlds differs, or where one would need arrays of different shapes, or texts of
    several tables, whose rows only the worlds could renumber.
    """
    parts = [part for snapshot in snapshots for part in _parts(snapshot)]
    held = [len(part["is_first"]) for part in parts]
    wanted = [size for groups in sizes for size in groups]
    if not parts or sum(held) != sum(wanted):
        return None
    ends = np.cumsum([0, *wanted]).tolist()
    begins = np.cumsum([0, *held]).tolist()
    made = [_between(parts, begins, first, last) for first, last in pairwise(ends)]
    whole = [part for part in made if part is not None]
    if len(whole) < len(made):
        return None
    rest = iter(whole)
    return [_joined([next(rest) for _ in groups]) for groups in sizes]


def reshard_replays(replays: Sequence[Snapshot], learners: int, capacity: int) -> list[dict[str, torch.Tensor]]:
    """Redistribute the replays of all learners, each with the oldest fragments first, of which the newest are kept.

    Those of `Replay.tensors` all hold as many fragments or one more.
    """
    in_order = [_from_the_oldest(replay) for replay in replays if len(replay) > 1]
    if not in_order:
        return [{} for _ in range(learners)]
    counts = [len(next(iter(rows.values()))) for rows in in_order]
    # By age: the newest fragments of all learners come last.
    order = sorted((place - count, rank, place) for rank, count in enumerate(counts) for place in range(count))
    order = order[-learners * capacity :]
    starts = np.cumsum([0, *counts])
    places = torch.tensor([int(starts[rank]) + place for _, rank, place in order])
    joined = {name: torch.cat([rows[name] for rows in in_order])[places] for name in in_order[0]}
    return [
        {name: rows[rank::learners] for name, rows in joined.items()}
        | {NEXT: torch.tensor(len(range(rank, len(places), learners)))}
        for rank in range(learners)
    ]


def replays_of(tensors: Mapping[str, dict[str, Any]], learners: int, capacity: int) -> dict[str, dict[str, Any]]:
    """The replays of a checkpoint for so many learners, each of this capacity, under the groups of their ranks."""
    replays = in_order(tensors, REPLAY)
    if len(replays) != learners:
        replays = reshard_replays(replays, learners, capacity)
    return {replay_group(rank): replay for rank, replay in enumerate(replays)}


def _parts(snapshot: Snapshot) -> list[dict[str, Array]]:
    """Snapshots of a runner's groups; without groups the one of all its worlds."""
    parts: dict[int, dict[str, Array]] = {}
    for name, value in snapshot.items():
        group, _, rest = name.partition("/")
        if group.startswith("group_"):
            parts.setdefault(int(group.removeprefix("group_")), {})[rest] = np.asarray(value)
        else:
            parts.setdefault(0, {})[name] = np.asarray(value)
    return [parts[number] for number in sorted(parts)]


def _between(
    parts: Sequence[dict[str, Array]], begins: Sequence[int], first: int, last: int
) -> dict[str, Array] | None:
    """The worlds `first` to `last` of all, which may come from several parts; None where they cannot be joined."""
    pieces = [
        (part, max(first - begin, 0), min(last, end) - begin)
        for part, (begin, end) in zip(parts, pairwise(begins), strict=True)
        if begin < last and end > first
    ]
    found: dict[str, Array] = {}
    for name in pieces[0][0]:
        values = [part[name] for part, _, _ in pieces]
        if name == _OF_ALL:
            found[name] = values[0]
        elif name.startswith(_TABLES):
            if any(not np.array_equal(values[0], value) for value in values[1:]):
                return None
            found[name] = values[0]
        else:
            if any(value.shape[1:] != values[0].shape[1:] for value in values[1:]):
                return None
            cut = [value[begin:end] for value, (_, begin, end) in zip(values, pieces, strict=True)]
            found[name] = np.concatenate(cut)
    return found


def _joined(groups: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """The snapshot of a runner with these groups."""
    if len(groups) == 1:
        return groups[0]
    return {f"group_{number}/{name}": value for number, part in enumerate(groups) for name, value in part.items()}


def _from_the_oldest(replay: Snapshot) -> dict[str, torch.Tensor]:
    rows = {name: torch.as_tensor(value) for name, value in replay.items() if name != NEXT}
    filled, next_row = len(next(iter(rows.values()))), int(replay[NEXT])
    return {name: value.roll(-next_row, 0) for name, value in rows.items()} if next_row < filled else rows
