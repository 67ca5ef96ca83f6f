"""The report of a comparison: its tables, and point and interval plots.

One panel a metric, one line a method: seeds as strokes, the mean filled, the interquartile mean hollow.

Matplotlib is imported where it draws. This file must not know an experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.results.comparison import Comparison
from tune_experiments.results.intervals import Interval
from tune_experiments.results.plots.figures import FAINT, INK, REMARK, default_styles, new_figure, save

_MOST_COLUMNS = 3
_INTERVALS = "Intervals of 95 %: means by Student's t over seeds, differences by Welch's t."
"""The first sentence under the tables, by which a report is known."""


def write_comparison(folder: Path, comparisons: Sequence[Comparison]) -> list[Path]:
    """Write comparison.md and plots/comparison.png; their paths.

    Raises:
        UserError: another file has the name of the report.
    """
    text = folder / "comparison.md"
    if text.exists() and not (text.is_file() and _INTERVALS.encode() in text.read_bytes()):
        raise UserError(f"{text} is there already and is no comparison of runs: rename it")
    note = (
        f"{_INTERVALS} IQM: mean of the middle half of the seeds. "
        "These comparisons are exploratory: they were not named before the runs.\n"
    )
    write_atomically(text, "\n".join(one.markdown() for one in comparisons) + "\n" + note)
    (folder / "plots").mkdir(exist_ok=True)
    return [text, draw_comparisons(comparisons, folder / "plots" / "comparison.png")]


def draw_comparisons(comparisons: Sequence[Comparison], path: Path) -> Path:
    """Draw every comparison as a panel.

    Args:
        comparisons: at least one.
        path: the PNG to write.
    """
    columns = min(_MOST_COLUMNS, len(comparisons))
    rows = -(-len(comparisons) // columns)
    tallest = max(len(one.rows) for one in comparisons)
    figure = new_figure(4.2 * columns, rows * (1.0 + 0.34 * tallest))
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for panel, comparison in zip(panels, comparisons, strict=False):
        _draw(panel, comparison)
    for panel in list(figure.axes)[len(comparisons) :]:
        panel.set_axis_off()
    return save(figure, path)


def _draw(panel: Any, comparison: Comparison) -> None:
    methods = [row.method for row in comparison.rows]
    styles = default_styles(methods)
    for height, row in enumerate(comparison.rows):
        colour = styles[row.method].colour
        panel.plot(row.values, [height] * len(row.values), "|", color=colour, alpha=0.5, markersize=7)
        _interval(panel, row.mean, height - 0.14, colour)
        panel.plot(row.iqm, height + 0.14, "o", color=colour, markerfacecolor="white", markersize=5)
    panel.set_yticks(range(len(methods)), methods, fontsize=8)
    panel.set_ylim(len(methods) - 0.5, -0.5)
    panel.set_title(f"{comparison.title}\n{comparison.metric}", fontsize=8, color=INK, loc="left")
    panel.set_xlabel("mean (filled) with t over seeds, IQM (hollow)", fontsize=7, color=REMARK)
    panel.grid(axis="x", color=FAINT)
    panel.tick_params(labelsize=8, length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)


def _interval(panel: Any, interval: Interval, height: float, colour: str) -> None:
    if interval.low is not None and interval.high is not None:
        panel.plot([interval.low, interval.high], [height, height], color=colour, linewidth=1.6)
    panel.plot(interval.value, height, "o", color=colour, markersize=5)
