"""Trials that wait for a place in the cluster: Tune says nothing of them, so every few minutes they say it themselves.

A trial whose node has died waits like any other for CPUs that another job may hold. This file must not know who runs
the trials, and is free of Ray but for the question at its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["ClusterCapacity", "PendingTrials", "cluster_capacity"]

Amounts = Mapping[str, float]
"""Resource -> how much of it, in Ray's words: CPU, GPU."""


@dataclass(frozen=True)
class ClusterCapacity:
    """Resources of a cluster.

    Attributes:
        total, free: amounts.
        is_short: a placement group is pending. A trial that waits otherwise has a place, and its processes are
            starting.
    """

    total: Amounts
    free: Amounts
    is_short: bool


class PendingTrials:
    """Watches which trials wait, and says what for.

    Args:
        say: `(trial, sentence)`.
        capacity: asked only when a trial has waited long enough.
        seconds: before the first sentence, and between two.
        clock: seconds.
    """

    def __init__(
        self,
        say: Callable[[str, str], None],
        capacity: Callable[[], ClusterCapacity],
        seconds: float = 180.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say, self._capacity, self._seconds, self._clock = say, capacity, seconds, clock
        self._since: dict[str, float] = {}
        self._asked_at = -seconds

    def look(self, needed: Mapping[str, Amounts]) -> None:
        """Take what those trials need that could run and do not; of those that have waited, the first is named."""
        now = self._clock()
        self._since = {trial: self._since.get(trial, now) for trial in needed}
        late = [trial for trial, since in self._since.items() if now - since >= self._seconds]
        if not late or now - self._asked_at < self._seconds:
            return
        self._asked_at = now
        capacity = self._capacity()
        if capacity.is_short:
            minutes = (now - self._since[late[0]]) / 60
            self._say(late[0], _sentence(minutes, len(late) - 1, needed[late[0]], capacity))


def _sentence(minutes: float, others: int, needed: Amounts, capacity: ClusterCapacity) -> str:
    wanted = {name: amount for name, amount in needed.items() if amount > 0}
    asked = " and ".join(_counted(amount, name) for name, amount in wanted.items())
    there = " and ".join(
        f"{capacity.free.get(name, 0):g} of its {_counted(capacity.total.get(name, 0), name)} free" for name in wanted
    )
    too = f", as {others} more trial{'s do' if others > 1 else ' does'}" if others else ""
    return (
        f"has waited {minutes:.0f} minutes for {asked}{too}, and the cluster has {there}: it begins when other jobs "
        f"end (python -m cluster.submit list, stop JOB) or nodes join; or give the same command to a larger cluster"
    )


def _counted(amount: float, name: str) -> str:
    return f"{amount:g} {name}{'s' * (amount != 1)}"


def cluster_capacity() -> ClusterCapacity:
    """Resources of the cluster that this process has joined, in total and free."""
    import ray
    from ray.util import placement_group_table

    is_short = any(group["state"] in ("PENDING", "RESCHEDULING") for group in placement_group_table().values())
    return ClusterCapacity(ray.cluster_resources(), ray.available_resources(), is_short)
