"""Figure: env steps until validation serves 80 % of the most soups that it ever serves, one panel a kitchen."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.results.plots.figures import (
    FAINT,
    INK,
    LineStyle,
    default_styles,
    explain_below,
    new_panels,
    save,
)
from tune_experiments.results.trial_log import find_logs, read_metrics
from tune_experiments.sama.overcooked.tables import NEARLY, steps_to_nearly_best
from tune_experiments.sama.overcooked.trials import split_method

_REMARK = (
    "one point per seed: the most soups that validation serves, and the env steps until it first serves "
    f"{NEARLY:.0%} of them; hollow: it serves none within the budget"
)


def draw_sample_efficiency(out: Path, trials: Mapping[str, Mapping[int, Path]]) -> Iterator[Drawn]:
    """The figure `plots/sample_efficiency.png`; none before the first validation with soups."""

    def draw() -> Iterator[Path]:
        kitchens: dict[str, dict[str, Sequence[tuple[float, float]]]] = {}
        for method, logs in find_logs(trials).items():
            row, kitchen = split_method(method)
            if points := [point for log in logs if (point := steps_to_nearly_best(read_metrics(log)))]:
                kitchens.setdefault(kitchen, {})[row] = points
        if kitchens:
            yield _draw(kitchens, out / "plots/sample_efficiency.png")

    yield from attempt("sample efficiency", draw)


def _draw(kitchens: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], path: Path) -> Path:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import EngFormatter

    styles = default_styles(list(dict.fromkeys(row for rows in kitchens.values() for row in rows)))
    figure, panels = new_panels(len(kitchens), 3.6, 2.5)
    figure.set_figheight(figure.get_figheight() + 0.6)  # of the legend and the remark
    for panel, (kitchen, rows) in zip(panels, kitchens.items(), strict=True):
        for row, points in rows.items():
            for env_steps, soups in points:
                panel.plot(env_steps, soups, linestyle="", **_marker(styles[row], soups > 0))
        panel.set_title(kitchen, loc="left", fontsize=10, color=INK)
        panel.margins(0.08)
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=-0.4)
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
        panel.set_xlabel(f"env steps until {NEARLY:.0%}", fontsize=9)
        panel.set_ylabel("most soups", fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(color=FAINT, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    handles = [Line2D([], [], linestyle="", label=row, **_marker(style, True)) for row, style in styles.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=9)
    explain_below(figure, _REMARK)
    return save(figure, path)


def _marker(style: LineStyle, serves: bool) -> dict[str, Any]:
    return dataclasses.replace(style, is_filled=serves).points() | {"markersize": 7.0, "alpha": 0.8}
