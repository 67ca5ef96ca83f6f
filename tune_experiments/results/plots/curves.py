"""Learning curves from the logs of trials: one panel per metric, one colour per method.

Solid lines are training episodes, dashed lines validation (A Cordial Sync, figures 4, 8 and 9). The dashed partner of
`episode/success` or `policy/tvd` is `valid/success` or `valid/tvd`; a partner has no panel of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tune_experiments.results.intervals import student_half_width
from tune_experiments.results.plots.figures import (
    FAINT,
    INK,
    REMARK,
    LineStyle,
    default_styles,
    explain_below,
    new_panels,
)
from tune_experiments.results.trial_log import read_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_MARKERS = 12
_KEY_INCHES, _CHARACTER_INCHES = 0.6, 0.072
"""Width of an entry of the legend: its line with spaces, and each character, generously."""
_BANDS = "mean of the seeds, bands: 95 % by Student's t, or from lowest to highest of two"

Row = dict[str, float]
Points = tuple[np.ndarray, np.ndarray]
"""x [P] and y [P] of one seed's line, x rising."""


def learning_curves(
    runs: Mapping[str, Sequence[Path]],
    curves: Mapping[str, str],
    bins: int = 60,
    styles: Mapping[str, LineStyle] | None = None,
    shows_quartiles: bool = False,
) -> Figure:
    """Draw each method's mean over its seeds with Student's t interval, or with the range of two seeds.

    A run is a method with the metrics.jsonl of each of its seeds; a curve is a key of it with the title of its panel,
    which is left out without a number unless all are. Rows of a solid line are averaged in `bins` equal stretches of
    all env steps. `shows_quartiles` draws the median and the middle half of the seeds instead (Verco's figures).
    """
    whole = {method: [read_metrics(metrics) for metrics in paths] for method, paths in runs.items()}
    rows = {method: _without_short(seeds) for method, seeds in whole.items()}
    styles = styles or default_styles(list(rows))
    partners = set(map(_partner, curves))
    curves = {key: title for key, title in curves.items() if key not in partners}
    shown = {key: title for key, title in curves.items() if _is_logged(rows, key)} or curves
    counts = {method: sum(_is_logged({method: [seed]}, *shown) for seed in seeds) for method, seeds in rows.items()}
    labels = {method: f"{method} ({count} seeds)" if count > 1 else method for method, count in counts.items()}
    figure, panels = new_panels(len(shown), 3.6, 2.5)
    longest = max(map(len, ["training episodes", *labels.values()]))
    legend_columns = max(1, int(figure.get_figwidth() / (_KEY_INCHES + _CHARACTER_INCHES * longest)))
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil((len(rows) + 2) / legend_columns) + 0.2)
    for panel, (key, title) in zip(panels, shown.items(), strict=True):
        for method, seeds in rows.items():
            draw = functools.partial(_draw_line, panel, style=styles[method], shows_quartiles=shows_quartiles)
            partner = _partner(key)
            if partner:
                draw([_binned(seed, key, bins) for seed in seeds])
            draw([_points(seed, partner or key) for seed in seeds], dashed=True)
        _finish(panel, title)
    bands = "median of the seeds, bands: their middle half" if shows_quartiles else _BANDS
    remark = f"a point of a solid line averages 1/{bins} of the training"
    if max(map(len, rows.values()), default=0) > 1:
        remark += f"; lines: {bands}"
    if left_out := sum(map(len, whole.values())) - sum(map(len, rows.values())):
        remark += f"; without {left_out} log{'s' * (left_out > 1)} of less than half the length"
    _explain(figure, styles, labels, legend_columns, remark)
    return figure


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _without_short(seeds: Sequence[Sequence[Row]]) -> list[Sequence[Row]]:
    """Seeds whose logs have at least half the length of the longest, since a mean ends with the shortest."""
    ends = [max((row["env_steps"] for row in seed if "env_steps" in row), default=0.0) for seed in seeds]
    return [seed for seed, end in zip(seeds, ends, strict=True) if 2 * end >= max(ends)]


def _partner(key: str) -> str | None:
    """Key of the validation metric that belongs to a training metric; None for a metric of validation."""
    group, _, name = key.rpartition("/")
    return None if group == "valid" else f"valid/{name}"


def _is_logged(rows: Mapping[str, Sequence[Sequence[Row]]], *curves: str) -> bool:
    """Whether any row has a number of one of these curves, or of its partner."""
    keys = {*curves, *map(_partner, curves)}
    return any(keys & row.keys() for seeds in rows.values() for seed in seeds for row in seed)


def _points(rows: Sequence[Row], key: str) -> Points:
    logged = [rows[number] for number in _logged(rows, key)]
    return np.array([row["env_steps"] for row in logged], float), np.array([row[key] for row in logged], float)


def _logged(rows: Sequence[Row], key: str) -> list[int]:
    """Numbers of the rows that have a point."""
    return [number for number, row in enumerate(rows) if "env_steps" in row and np.isfinite(row.get(key, np.nan))]


def _binned(rows: Sequence[Row], key: str, bins: int) -> Points:
    """Averages over equal stretches of env steps; stretches without a row are left out."""
    xs, values = _points(rows, key)
    if not len(xs):
        return xs, values
    weights = _weights(rows, key)[_logged(rows, key)]
    place = np.clip(np.digitize(xs, np.linspace(0, xs[-1], bins + 1)) - 1, 0, bins - 1)
    stretches = [place == one for one in np.unique(place)]
    means = [[np.average(column[at], weights=weights[at]) for at in stretches] for column in (xs, values)]
    return np.array(means[0]), np.array(means[1])


def _weights(rows: Sequence[Row], key: str) -> np.ndarray:
    """[rows], weight of each row: the number of episodes for means over episodes, else 1."""
    if not key.startswith("episode/"):
        return np.ones(len(rows))
    ended = np.diff([row.get("progress/episodes", np.nan) for row in rows], prepend=0.0)
    return np.where(ended > 0, ended, 1.0)


def _over_seeds(seeds: Sequence[Points]) -> tuple[np.ndarray, np.ndarray]:
    """The x [P], and every seed's y there, [seeds, P]."""
    # Only where every seed has data: beyond it the mean would jump when a seed drops out.
    start, end = max(x[0] for x, _ in seeds), min(x[-1] for x, _ in seeds)
    grid = np.unique(np.concatenate([x[(x >= start) & (x <= end)] for x, _ in seeds]))
    return grid, np.array([np.interp(grid, x, y) for x, y in seeds])


# ---- drawing ---------------------------------------------------------------------------------------------------------


def _draw_line(
    panel: Axes, seeds: Sequence[Points], style: LineStyle, shows_quartiles: bool, dashed: bool = False
) -> None:
    seeds = [seed for seed in seeds if len(seed[0])]
    grid, values = _over_seeds(seeds) if seeds else (np.empty(0), np.empty((0, 0)))
    if not len(grid):  # no two of the seeds have data in common, so each has a line of its own
        for seed in seeds:
            _draw_line(panel, [seed], style, shows_quartiles, dashed)
        return
    look = style.line()
    if dashed:
        look |= style.points() | {"linestyle": "--", "markevery": max(1, len(grid) // _MAX_MARKERS), "zorder": 3}
    elif len(grid) == 1:
        look |= {"marker": "."}
    low, middle, high = values.min(0), values.mean(0), values.max(0)
    if shows_quartiles:
        low, middle, high = np.percentile(values, (25, 50, 75), axis=0)
    elif len(values) > 2:
        low, high = middle - student_half_width(values), middle + student_half_width(values)
    panel.plot(grid, middle, **look)
    if len(seeds) > 1:
        panel.fill_between(grid, low, high, color=style.colour, alpha=0.14, linewidth=0)


def _finish(panel: Axes, title: str) -> None:
    from matplotlib.ticker import EngFormatter

    panel.set_title(title, loc="left", fontsize=10, color=INK)
    panel.set_xlabel("env steps", fontsize=9)
    panel.tick_params(labelsize=8)
    panel.set_xlim(left=0)
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in panel.lines] or [np.zeros(1)])
    # Shares have the range 0 to 1 or its lower half, so that runs are comparable; other metrics are scaled to their
    # data.
    if values.min() >= 0:
        share = 0.5 if 0 < values.max() <= 0.45 else 1.0
        highest = 1.02 * share if values.max() <= 1 else panel.get_ylim()[1]
        panel.set_ylim(-0.02 * highest, highest)
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    panel.grid(axis="y", color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _explain(
    figure: Figure, styles: Mapping[str, LineStyle], labels: Mapping[str, str], columns: int, remark: str
) -> None:
    """The legend above the panels, and what was averaged below them."""
    from matplotlib.lines import Line2D

    lines = [line for panel in figure.axes for line in panel.lines]
    has_validation = any(line.get_linestyle() == "--" for line in lines)
    handles = []
    for method, label in labels.items():
        look = styles[method].line() | (styles[method].points() if has_validation else {})
        handles.append(Line2D([], [], label=label, **look))
    if has_validation:
        handles += [Line2D([], [], color=REMARK, label="training episodes")]
        handles += [Line2D([], [], color=REMARK, linestyle="--", label="validation")]
    if lines:
        figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
    explain_below(figure, remark)
