"""Score of a trial in a search: the mean of its objective over late validations, less noisy than one of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tune_experiments.core.errors import UserError
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics

SCORE = "search/score"
"""Key of a report to Ray Tune: the number that its schedulers compare."""
_LATE_SHARE = 0.25
"""Share of training at its end; only validations in it count."""
_WORST = -1e30
"""Score of a trial that diverged; Tune's schedulers skip NaN, and Optuna drops it."""


def score(trial: Path, objective: str, since: float | None = None) -> float:
    """Mean of the objective over the last quarter of a trial's training; not finite if it diverged.

    With `since` only validations after the first row at this number of env steps count; if there are none, the last
    one.
    """
    log = read_metrics(trial / METRICS_FILE)
    rows = [row for row in log if objective in row]
    if not rows:
        known = sorted({key for row in log for key in row if key.startswith("valid/")})
        raise UserError(
            f"{trial} has logged no {objective!r} to rank by (but {', '.join(known) or 'nothing of the kind'}); repeat "
            f"the command with --search-objective KEY"
        )
    if since is None:
        late = [row for row in rows if row["env_steps"] >= (1 - _LATE_SHARE) * rows[-1]["env_steps"]]
    else:
        begin = next((row["env_steps"] for row in log if row["env_steps"] >= since), since) if since else 0
        late = [row for row in rows if row["env_steps"] > begin] or rows[-1:]
    return float(np.mean([row[objective] for row in late]))


def finite(value: float) -> float:
    """The number, or one below all others where it is not finite."""
    return value if math.isfinite(value) else _WORST
