"""Experiments: one file each, named after what it reproduces. `load_policy(checkpoint)` is what comes after them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tune_experiments.play.loading import LoadedPolicy


def load_policy(path: str | Path) -> LoadedPolicy:
    """A trained team without Ray: `load_policy("runs/NAME/trials/marginal-seed0")`; see `common/policies.py`."""
    from tune_experiments.play import loading as policies

    return policies.load_policy(path)
