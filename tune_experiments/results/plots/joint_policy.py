"""Joint policy summaries: frequencies of pairs of actions (A Cordial Sync, figures 5 and 13)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, explain_below, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_ROW_LENGTH = 3


def joint_policy(
    policies: Mapping[str, np.ndarray],
    action_names: Sequence[str],
    classes: Mapping[str, Sequence[int]],
    remark: str = "",
) -> Figure:
    """Draw the frequencies of pairs of actions, one panel per method; four or more panels form a grid.

    A policy is `[A, A] float`, the share of each pair with agent 1 in rows; sums to one. A class is a name with its
    actions, consecutive; pairs outside these squares are never coordinated.
    """
    columns = len(policies) if len(policies) <= _MAX_ROW_LENGTH else math.ceil(math.sqrt(len(policies)))
    rows = math.ceil(len(policies) / columns)
    side = max(1.5, (0.25 if len(policies) <= _MAX_ROW_LENGTH else 0.2) * len(action_names))
    names = 0.068 * max(len(name) for name in action_names)
    figure = new_figure(names + 1.3 + columns * (side + 0.2), names + 0.6 + rows * (side + 0.6))
    panels = figure.subplots(rows, columns, squeeze=False)
    highest = max(float(np.max(policy)) for policy in policies.values())
    for number, (panel, (method, policy)) in enumerate(zip(panels.flat, policies.items(), strict=False)):
        colours = _draw_pairs(panel, np.asarray(policy), highest)
        _mark_classes(panel, classes)
        panel.set_title(method, fontsize=10, color=INK, pad=19)
        _name_actions(panel, action_names, number % columns == 0, number + columns >= len(policies))
    for panel in panels.flat[len(policies) :]:
        panel.remove()
    bar = figure.colorbar(colours, ax=panels[0, -1], fraction=0.05)
    bar.set_label("share of steps (square-root scale)", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)  # type: ignore[operator]
    explain_below(figure, remark)
    return figure


def _draw_pairs(panel: Axes, policy: np.ndarray, highest: float) -> Any:
    from matplotlib.colors import PowerNorm

    # A square root keeps rare pairs visible: uncoordinated probability is spread thinly over many cells.
    norm, edges = PowerNorm(0.5, vmin=0, vmax=highest or 1.0), np.arange(len(policy) + 1) - 0.5
    colours = panel.pcolormesh(edges, edges, policy, cmap="Blues", norm=norm, edgecolors="white", linewidth=0.6)
    panel.invert_yaxis()
    panel.set_box_aspect(1)
    panel.tick_params(length=0, labelsize=7)
    panel.spines[:].set_color(FAINT)
    return colours


def _mark_classes(panel: Axes, classes: Mapping[str, Sequence[int]]) -> None:
    from matplotlib.patches import Rectangle

    for name, actions in classes.items():
        first, count = min(actions), len(actions)
        square = Rectangle((first - 0.5, first - 0.5), count, count, fill=False, edgecolor=COLOURS[1], linewidth=1.6)
        square.set(zorder=5, clip_on=False)  # above the white grid, and whole at the border
        panel.add_patch(square)
        middle = first + (count - 1) / 2
        panel.text(middle, -0.7, name, color=COLOURS[1], fontsize=7.5, ha="center", va="bottom", fontweight="bold")


def _name_actions(panel: Axes, names: Sequence[str], is_first: bool, is_lowest: bool) -> None:
    """Names stand only at the left end of a row and below the lowest panel of a column."""
    for axis, is_named, angle in ((panel.xaxis, is_lowest, 90), (panel.yaxis, is_first, 0)):
        shown = names if is_named else []
        axis.set_ticks(range(len(shown)), shown, rotation=angle)
    panel.set_xlabel("agent_1" if is_lowest else "", fontsize=9)
    panel.set_ylabel("agent_0" if is_first else "", fontsize=9)
