"""The report of a comparison: its tables, and point and interval plots.

One panel per metric, one line per method: seeds as strokes, the mean filled, the interquartile mean hollow; intervals
over seeds are solid, those over the episodes of one seed dotted.
"""

import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.core.drawing import Drawn, attempt, with_older
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.results.comparison import Comparison, Scores, bootstrap, mean_over_tasks
from tune_experiments.results.intervals import STRATIFIED, STUDENT, Interval
from tune_experiments.results.plots.figures import (
    FAINT,
    FORMATS,
    INK,
    MAX_COLUMNS,
    REMARK,
    default_styles,
    explain_below,
    new_panels,
    save,
)
from tune_experiments.results.tables import RANGES

_MAX_WIDTH = 15.0
_PANEL_WIDTH, _LETTER_WIDTH, _LETTERS_OF_A_TITLE = 3.0, 0.065, 44
"""Inches of a panel without its labels, inches of a letter of a label, and letters that fit above the panel."""
_THRESHOLDS, _PROFILE_RESAMPLES = 101, 2000
_ROUNDING = 1e-6
"""Smallest width of a panel as a share of its values (at least of 1): what is below is rounding in float32."""
_INTERVALS = "Intervals of 95 %: means by Student's t over seeds, differences by Welch's t."
"""The first sentence of a report, by which it is known."""
NOTE = (
    f"{_INTERVALS} A row of one seed has the interval over its episodes instead, if any, and its difference has none."
    f"{RANGES} IQM (mean of the middle half of the seeds), P(> X) (probability that a seed is above one of X, ties as "
    "half), and mean and median over tasks have rliable's definitions and a stratified bootstrap over seeds: with "
    "three seeds of one task it covers 75 times of 100. Tasks are put together where each run tests in one environment "
    "and the metric has the same smallest and largest value in all. "
    "These comparisons are exploratory: they were not named before the runs."
)


def write_comparison(folder: Path, comparisons: Sequence[Comparison], notes: Sequence[str] = (NOTE,)) -> list[Drawn]:
    """Write comparison.md, plots/comparison.png and plots/profiles.png; their paths, or why there is no plot.

    Raises UserError where another file has the name of the report, or of a plot of a folder without a report.
    """
    text, plots = folder / "comparison.md", folder / "plots"
    if not (text.is_file() and _INTERVALS.encode() in text.read_bytes()):
        pictures = [(plots / name).with_suffix(suffix) for name in ("comparison", "profiles") for suffix in FORMATS]
        if taken := next((path for path in (text, *pictures) if path.exists()), None):
            raise UserError(f"{taken} already exists and is not of a comparison of runs: rename it")
    parts = [*(f"{note}\n" for note in notes), *(one.table().markdown() for one in comparisons)]
    write_atomically(text, "\n".join(parts))
    bounded = [one for one in comparisons if None not in one.bounds]
    drawn = [*attempt("plot", lambda: draw_comparisons(comparisons, plots / "comparison.png"))]
    if bounded:
        drawn += attempt("performance profiles", lambda: draw_profiles(bounded, plots / "profiles.png"))
    return with_older([text, *drawn], plots / "comparison.png", plots / "profiles.png")


def draw_comparisons(comparisons: Sequence[Comparison], path: Path) -> Path:
    """Draw every comparison as a panel."""
    longest = max(len(row.method) for one in comparisons for row in one.rows)
    width = _PANEL_WIDTH + 0.3 + _LETTER_WIDTH * longest
    columns = max(1, min(MAX_COLUMNS, int(_MAX_WIDTH / width)))
    tallest = max(len(one.rows) for one in comparisons)
    figure, panels = new_panels(len(comparisons), width, 1.2 + 0.34 * tallest, columns)
    for panel, comparison in zip(panels, comparisons, strict=True):
        _draw(panel, comparison)
    return save(figure, path)


def _draw(panel: Any, comparison: Comparison) -> None:
    methods = [row.method for row in comparison.rows]
    styles = default_styles(methods)
    for height, row in enumerate(comparison.rows):
        colour = styles[row.method].colour
        values = [value for task in row.scores for value in task]
        panel.plot(values, [height] * len(values), "|", color=colour, alpha=0.5, markersize=7)
        _interval(panel, row.mean, height - 0.14, colour)
        _interval(panel, row.iqm, height + 0.14, colour, markerfacecolor="white")
    left, right = panel.get_xlim()
    if right - left < _ROUNDING * (size := max(1.0, abs(left), abs(right))):
        panel.set_xlim(left - 0.05 * size, right + 0.05 * size)
    panel.set_yticks(range(len(methods)), methods, fontsize=8)
    panel.set_ylim(len(methods) - 0.5, -0.5)
    title = textwrap.wrap(comparison.title, _LETTERS_OF_A_TITLE, break_on_hyphens=False)
    panel.set_title("\n".join([*title, comparison.metric]), fontsize=8, color=INK, loc="left")
    panel.set_xlabel(_caption([row.mean for row in comparison.rows]), fontsize=7, color=REMARK)
    panel.grid(axis="x", color=FAINT)
    panel.tick_params(labelsize=8, length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)


def _caption(means: Sequence[Interval]) -> str:
    """Legend of the marks, and of the drawn intervals: over seeds, or over the episodes of one seed."""
    kinds = {one.kind for one in means if one.low is not None}
    rules = {STUDENT: "line: t over seeds", STRATIFIED: "line: bootstrap over seeds"}
    lines = [said for kind, said in rules.items() if kind in kinds]
    lines += ["dotted: over episodes of one seed"] * bool(kinds - rules.keys())
    return "\n".join(["mean (filled), IQM (hollow, with bootstrap), seeds (strokes)", ", ".join(lines)]).strip()


def _interval(panel: Any, interval: Interval, height: float, colour: str, **marker: Any) -> None:
    if interval.low is not None and interval.high is not None:
        look = "-" if interval.kind in (STUDENT, STRATIFIED) else ":"
        panel.plot([interval.low, interval.high], [height, height], look, color=colour, linewidth=1.6)
    panel.plot(interval.value, height, "o", color=colour, markersize=5, **marker)


# ---- performance profiles (Agarwal et al. 2021): share of seeds of all tasks whose score is above a threshold --------


def draw_profiles(comparisons: Sequence[Comparison], path: Path) -> Path:
    """Draw a panel for each comparison; its metric must have a smallest and a largest value."""
    figure, panels = new_panels(len(comparisons), 4.2, 3.2)
    for panel, comparison in zip(panels, comparisons, strict=True):
        _draw_profile(panel, comparison)
    explain_below(figure, "bands: 95 % of a bootstrap that draws seeds within each task")
    return save(figure, path)


def profile(scores: Scores, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Share of seeds above thresholds [T], mean over tasks, and the ends of its interval, if any; `[T]` each."""
    from scipy import stats

    # [T, seeds] of each task: one draw of seeds serves all thresholds.
    above = [(np.asarray(task) > thresholds[:, None]).astype(float) for task in scores]

    if min(map(len, scores)) < 2:
        return mean_over_tasks(*above), None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # where all scores are above a threshold
        low, high = bootstrap(mean_over_tasks, above, _PROFILE_RESAMPLES, batch=200)
    return mean_over_tasks(*above), low, high


def _draw_profile(panel: Any, comparison: Comparison) -> None:
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
