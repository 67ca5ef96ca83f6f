"""Updates that a trial has skipped, because a gradient was not finite: their share, and when it makes a trial fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tune_experiments.results.trial_log import OPTIMISER_STEPS

SKIPPED_COUNT = "progress/skipped_updates"
"""Key of a row: how many optimiser steps were skipped so far."""
_CURE = (
    "lower the learning rate (the flag that ends in learning-rate), or look for NaN and infinity in observations, "
    "rewards and losses"
)


def skipped_share(row: Mapping[str, float]) -> float:
    """Share of a trial's updates up to this row of its log that were skipped, in [0, 1]."""
    skipped: float = row.get(SKIPPED_COUNT) or 0
    return skipped / max(1, row.get(OPTIMISER_STEPS) or 0)


def percent(share: float) -> str:
    """A share above 0 in words: `under 1%`, `40%`."""
    return "under 1%" if 0 < share < 0.01 else f"{share:.0%}"


def describe_skipped_updates(rows: Sequence[Mapping[str, float]]) -> str:
    """Line for `doctor`: share of skipped updates in a trial's log, and number among the last ones."""
    from rl_models.training.loop import SKIPPED, WINDOW

    newest = rows[-1] if rows else {}
    share = skipped_share(newest)
    recent = round(newest.get(SKIPPED, 0.0) * WINDOW)
    line = f"skipped updates: {percent(share)} of {newest.get(OPTIMISER_STEPS, 0):,.0f}, {recent} of the last {WINDOW}"
    return f"{line} (a gradient was not finite): {_CURE}" if share else line


def find_failure(rows: Sequence[Mapping[str, float]], stage_updates: int, is_last: bool) -> str | None:
    """Reason why a trial cannot continue: more than half of its last updates were skipped; None if it can."""
    from rl_models.training.loop import SKIPPED, WINDOW

    newest = rows[-1]
    for name, value in newest.items():
        if name.endswith("/loss") and not math.isfinite(value):  # of a supervised stage, which skips nothing
            return f"{name} is {value} at env step {newest['env_steps']:,}: {_CURE}"
    skipped = round(newest.get(SKIPPED, 0.0) * WINDOW)
    window = min(WINDOW, stage_updates) if is_last else WINDOW
    if skipped <= window / 2:
        return None
    in_all = f"{newest[SKIPPED_COUNT]:,.0f} of {newest[OPTIMISER_STEPS]:,.0f} in all"
    return (
        f"{skipped} of the last {min(WINDOW, stage_updates)} updates were skipped, because a gradient was not finite, "
        f"since env step {_began_at(rows):,} ({in_all}): {_CURE}"
    )


def _began_at(rows: Sequence[Mapping[str, float]]) -> int:
    """Env steps of the newest row after which every row has skipped updates; 0 if there is none."""
    counts, row = [row.get(SKIPPED_COUNT, 0) for row in rows], len(rows) - 1
    while row and counts[row] == counts[row - 1]:
        row -= 1
    while row and counts[row] > counts[row - 1]:
        row -= 1
    return 0 if row == 0 and counts[0] else int(rows[row]["env_steps"])
