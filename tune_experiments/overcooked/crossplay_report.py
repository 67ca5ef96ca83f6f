"""Report of cross-play: tables in Markdown, and a heat map for each metric."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.core.spec import Array
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.files import check_for_other_files, write_atomically
from tune_experiments.overcooked.crossplay import CAPTION, METRICS, Matrix
from tune_experiments.results import rows as result_file
from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, explain_below, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPORT = "crossplay.md"
_CELL = 0.6  # inches


def check_out(out: Path) -> None:
    """Check that a folder holds nothing but a report, else raise UserError."""
    if not (out / REPORT).exists():
        check_for_other_files(out)


def write_report(matrix: Matrix, out: Path) -> Iterator[Drawn]:
    """Write results, tables and figures into a folder, replacing those of an earlier report."""
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / REPORT, in_markdown(matrix))
    result_file.write(out / result_file.RESULTS_FILE, matrix.results)
    yield from (out / result_file.RESULTS_FILE, out / REPORT)
    for metric in METRICS:
        heat_map = functools.partial(draw, matrix, metric, out / f"plots/crossplay_{metric}.png")
        yield from attempt(f"heat map of {metric}", heat_map)


def in_markdown(matrix: Matrix) -> str:
    """Report in Markdown: each team by itself and with the others, then every pair."""
    lines = [f"### {CAPTION}: {matrix.layout}", "", *_summary(matrix)]
    for metric in METRICS:
        lines += ["", f"{metric} of each pair, rows are chef 0's teams, columns chef 1's", ""]
        lines += [f"| | {' | '.join(matrix.names)} |", f"|---|{'---:|' * len(matrix.names)}"]
        for name, values in zip(matrix.names, matrix.values[metric], strict=True):
            lines.append(f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |")
    episodes = matrix.results[0].n_episodes
    return "\n".join([*lines, "", f"Means over {episodes:,} episodes a pair; results.jsonl has their intervals.", ""])


def _summary(matrix: Matrix) -> Iterator[str]:
    yield f"| team | {' | '.join(f'{metric}, own pair | {metric}, with the others' for metric in METRICS)} |"
    yield f"|---|{'---:|' * (2 * len(METRICS))}"
    columns = [values for metric in METRICS for values in (matrix.own(metric), matrix.with_others(metric))]
    for name, *cells in zip(matrix.names, *columns, strict=True):
        yield f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"
    yield f"| mean | {' | '.join(f'{column.mean():.1f}' for column in columns)} |"


def draw(matrix: Matrix, metric: str, path: Path) -> Path:
    """A heat map with the numbers in its cells; own pairs are framed."""
    values, count = matrix.values[metric], len(matrix.names)
    names = 0.085 * max(map(len, matrix.names))
    side = max(count * _CELL, 2.4)
    figure = new_figure(side + names + 1.3, side + names + 1.2)
    panel = figure.subplots()
    image = panel.imshow(values, cmap="Blues", vmin=0, vmax=float(values.max()) or 1.0)
    panel.set_xticks(range(count), matrix.names, rotation=90, fontsize=8)
    panel.set_yticks(range(count), matrix.names, fontsize=8)
    panel.set_xlabel("chef 1 from", fontsize=9)
    panel.set_ylabel("chef 0 from", fontsize=9)
    panel.tick_params(length=0)
    panel.spines[:].set_color(FAINT)
    _write_numbers(panel, values)
    own, others = matrix.own(metric).mean(), matrix.with_others(metric).mean()
    panel.set_title(f"{matrix.layout}: {metric} per episode", fontsize=10, color=INK)
    explain_below(figure, f"own pairs (framed) {own:.1f}, mixed pairs {others:.1f}")
    bar = figure.colorbar(image, ax=panel, shrink=0.8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)  # type: ignore[operator]
    return save(figure, path)


def _write_numbers(panel: Axes, values: Array) -> None:
    from matplotlib.patches import Rectangle

    dark = 0.6 * float(values.max())
    for row, column in np.ndindex(*values.shape):
        value = values[row, column]
        colour = "white" if value > dark else INK
        panel.text(
            column,
            row,
            f"{value:.0f}" if value >= 100 else f"{value:.1f}",
            color=colour,
            fontsize=8,
            ha="center",
            va="center",
        )
        if row == column:
            panel.add_patch(
                Rectangle((row - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=COLOURS[1], linewidth=1.6)
            )
