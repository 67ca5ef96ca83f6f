"""Ring buffer of the newest fragments, from which Q-learning draws its minibatches.

A fragment is T steps of one world with its recurrent state before them, so every draw has one shape, nothing is padded,
and learning need not wait for the ends of episodes. What only on-policy learners need is left out, and so are token
tables, whose rows change their meaning from fragment to fragment. Draws depend only on a seed and on the added
fragments.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from rl_models.batch import Batch, Rows
from rl_models.runtime.device import to_host

_KEPT = ("is_first", "actions", "reward", "terminated", "truncated", "final_values")
_KEPT_PREFIXES = ("obs/", "state/")
_ALIVE = "obs/alive"
NEXT = "next_row"
"""Key of the row of a replay's tensors that is written next."""
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""Unsigned types, which torch cannot index-write, and the signed types of the same size."""


class Replay:
    """At most `capacity` fragments on the CPU; the oldest go first."""

    def __init__(self, capacity: int) -> None:
        """Start empty; memory is allocated with the shapes of the first fragments, of one world each."""
        self.capacity = capacity
        self._rows: Batch = {}
        self._filled = self._next = 0

    def __len__(self) -> int:
        """Number of fragments."""
        return self._filled

    def add(self, batch: Batch) -> None:
        """Add the fragments of all worlds of a batch; ValueError for more than its capacity."""
        worlds = len(batch["is_first"])
        if worlds > self.capacity:
            raise ValueError(
                f"a replay of {self.capacity} fragments cannot hold the {worlds} that come at once: raise its capacity "
                "or play fewer worlds"
            )
        kept = {key: value for key, value in batch.items() if key in _KEPT or key.startswith(_KEPT_PREFIXES)}
        if not self._rows:
            self._rows = self._allocated(kept)
        if _ALIVE in kept and _ALIVE not in self._rows:  # of a run that is continued with agents that leave
            self._rows[_ALIVE] = torch.ones((self.capacity, *kept[_ALIVE].shape[1:]), dtype=torch.bool)
        places = (self._next + torch.arange(worlds)) % self.capacity
        for key, value in to_host(kept).items():
            signed = _SIGNED.get(value.dtype, value.dtype)
            self._rows[key].view(signed)[places] = value.view(signed)
        self._next = (self._next + worlds) % self.capacity
        self._filled = min(self._filled + worlds, self.capacity)

    def draws(self, number: int, fragments: int, seed: int, held: Rows | None = None) -> Iterator[Batch]:
        """Uniform draws of `fragments` without replacement; each has all fragments while there are too few.

        `held` are the rows of this replay in the joint replay of all learners, of which a draw may have none.
        """
        held = held or Rows(0, self._filled, self._filled)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(number):
            places = held.own(torch.randperm(held.total, generator=generator)[:fragments])
            yield {key: value[places] for key, value in self._rows.items()}

    def tensors(self) -> dict[str, Tensor]:
        """A copy of everything that future draws depend on, for a checkpoint.

        Batch key -> [R, ...] of its type, the R fragments held, and `next_row` [] int64, the row that is written next.
        """
        rows = {key: value[: self._filled].clone() for key, value in self._rows.items()}
        return rows | {NEXT: torch.tensor(self._next)}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Load the result of `tensors`, key -> [R, ...] and `next_row` [] int64; {} empties the replay.

        Raises ValueError where it holds more fragments than this replay can.
        """
        rows = {key: torch.as_tensor(value) for key, value in tensors.items() if key != NEXT}
        if "truncated" in rows and "final_values" not in rows:
            raise ValueError("the checkpoint's replay is of an earlier version, without final values: begin a new run")
        filled = len(next(iter(rows.values()))) if rows else 0
        if filled > self.capacity:
            raise ValueError(
                f"the checkpoint's replay holds {filled} fragments and this one {self.capacity}: "
                "continue with the capacity that it was written with"
            )
        next_row = int(tensors[NEXT]) if rows else 0
        if next_row < filled < self.capacity:  # a smaller ring that was full: its oldest fragment comes first
            rows = {key: value.roll(-next_row, 0) for key, value in rows.items()}
            next_row = filled
        self._rows = self._allocated(rows)
        for key, value in rows.items():
            self._rows[key][:filled] = value
        self._filled, self._next = filled, next_row

    def _allocated(self, rows: Batch) -> Batch:
        return {key: value.new_empty((self.capacity, *value.shape[1:]), device="cpu") for key, value in rows.items()}
