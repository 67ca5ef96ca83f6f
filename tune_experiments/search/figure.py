"""A search as a figure, settings against scores, and in TensorBoard's tab HParams."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tune_experiments.results.plots.figures import FAINT, REMARK, LineStyle, default_styles, new_figure, save
from tune_experiments.results.tensorboard_events import EventFile
from tune_experiments.search.folder import Ranked, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MAX_COLUMNS = 3
_SPREAD = 20.0
"""Ratio of the largest to the smallest value from which on an axis is logarithmic."""


def draw_scores(plots: Path, ranking: Ranking, objective: str) -> Path:
    """Write `search.png`: a panel for each value that varies, small points for seeds and large ones for settings."""
    paths = list(dict.fromkeys(path for ranked in ranking.values() for one in ranked for path in one.setting.values))
    columns = min(_MAX_COLUMNS, max(1, len(paths)))
    rows = math.ceil(max(1, len(paths)) / columns)
    figure = new_figure(width=3.4 * columns + 0.4, height=2.7 * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    styles = default_styles(list(ranking))
    for panel, path in zip(panels.ravel(), paths, strict=False):
        _draw_panel(panel, path, ranking, styles)
    for panel in panels.ravel()[len(paths) :]:
        panel.set_visible(False)
    for panel in panels[:, 0]:
        panel.set_ylabel(objective)
    named = [(styles[method].points(), method) for method in ranking]
    lines = [panels[0, 0].plot([], [], linestyle="", label=method, **points)[0] for points, method in named]
    figure.legend(handles=lines, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("circled: the configuration that the search started from", fontsize=8, color=REMARK)
    return save(figure, plots / "search.png")


def _draw_panel(panel: Axes, path: str, ranking: Ranking, styles: dict[str, LineStyle]) -> None:
    shown = [
        (styles[method], one) for method, ranked in ranking.items() for one in ranked if path in one.setting.values
    ]
    values = [one.setting.values[path] for _, one in shown]
    is_numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    kinds = list(dict.fromkeys(map(str, values)))
    for style, one in shown:
        x = one.setting.values[path] if is_numeric else kinds.index(str(one.setting.values[path]))
        seeds = [value for value in one.by_seed.values() if math.isfinite(value)]
        panel.plot([x] * len(seeds), seeds, ".", color=style.colour, markersize=3, alpha=0.5)
        if math.isfinite(one.score):
            panel.plot([x], [one.score], linestyle="", **style.points())
            if one.setting.number == 0:
                panel.plot([x], [one.score], "o", markersize=10, markerfacecolor="none", markeredgecolor=style.colour)
    if not is_numeric:
        panel.set_xticks(range(len(kinds)), kinds)
    elif min(values) > 0 and max(values) / min(values) >= _SPREAD:
        panel.set_xscale("log")
    panel.set_xlabel(path)
    panel.grid(color=FAINT)
    panel.spines[["top", "right"]].set_visible(False)


def write_hparams(out: Path, ranking: Ranking, objective: str) -> None:
    """Write `hparams/`, a run for each finished trial; TensorBoard averages the seeds of a setting."""
    folder = out / "hparams"
    shutil.rmtree(folder, ignore_errors=True)
    for method, ranked in ranking.items():
        for one in ranked:
            group = f"{method}-setting{one.setting.number:02}"
            for seed, value in one.by_seed.items():
                _write_run(folder / f"{group}-seed{seed}", group, _values(method, one), {objective: value})


def _write_run(run: Path, group: str, values: dict[str, Any], scores: dict[str, float]) -> None:
    now = time.time()
    run.mkdir(parents=True)
    events = EventFile(run)
    events.add_hparams(values, group, now)
    events.add_scalars(scores, 0, now)
    events.publish()
    events.close()


def _values(method: str, one: Ranked) -> dict[str, Any]:
    """Values in types that the HParams tab supports."""
    plain = {
        path: value if isinstance(value, bool | int | float | str) else str(value)
        for path, value in one.setting.values.items()
    }
    return {"method": method} | plain
