"""Performance profiles (Agarwal et al. 2021): the share of seeds of all tasks whose score is above a threshold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.results.comparison import Comparison, Scores, bootstrap
from tune_experiments.results.plots.figures import FAINT, INK, default_styles, explain_below, new_panels, save

_THRESHOLDS = 101
_RESAMPLES = 2000


def draw_profiles(comparisons: Sequence[Comparison], path: Path) -> Path:
    """Draw a panel for each comparison; its metric must have a smallest and a largest value."""
    figure, panels = new_panels(len(comparisons), 4.2, 3.2)
    for panel, comparison in zip(panels, comparisons, strict=True):
        _draw(panel, comparison)
    explain_below(figure, "bands: 95 % of a bootstrap that draws seeds within each task")
    return save(figure, path)


def profile(scores: Scores, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Share of seeds above each of T thresholds, averaged over tasks, with the ends of its interval.

    Returns:
        share, low, high: `[T]` each; no ends where a task has one seed.
    """
    from scipy import stats

    # [T, seeds] of each task: one draw of seeds serves all thresholds.
    above = [(np.asarray(task) > thresholds[:, None]).astype(float) for task in scores]

    def share(*tasks: np.ndarray, axis: int = -1) -> Any:
        return np.mean([task.mean(axis) for task in tasks], axis=0)

    if min(map(len, scores)) < 2:
        return share(*above), None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # where all scores are above a threshold
        low, high = bootstrap(share, above, _RESAMPLES, batch=200)
    return share(*above), low, high


def _draw(panel: Any, comparison: Comparison) -> None:
    low, high = comparison.bounds
    assert low is not None and high is not None
    thresholds = np.linspace(low, high, _THRESHOLDS)
    styles = default_styles([row.method for row in comparison.rows])
    for row in comparison.rows:
        colour = styles[row.method].colour
        share, lowest, highest = profile(row.scores, thresholds)
        panel.step(thresholds, share, where="post", color=colour, label=row.label)
        if lowest is not None and highest is not None:
            panel.fill_between(thresholds, lowest, highest, step="post", color=colour, alpha=0.14, linewidth=0)
    panel.set_title(f"{comparison.title}\n{comparison.metric}", fontsize=8, color=INK, loc="left")
    panel.set_xlabel(f"{comparison.metric} above", fontsize=8)
    panel.set_ylabel("share of seeds", fontsize=8)
    panel.set_ylim(-0.02, 1.02)
    panel.grid(color=FAINT, linewidth=0.6)
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=7, frameon=False)
