"""Joint policy summaries: what pairs of actions teams play (A Cordial Sync, figures 5 and 13)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, REMARK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_ROW_LENGTH = 3
_GAP, _HEADING = 0.2, 0.6  # inches between columns, and above each panel


def joint_policy(
    policies: Mapping[str, np.ndarray],
    action_names: Sequence[str],
    classes: Mapping[str, Sequence[int]],
    remark: str = "",
) -> Figure:
    """Draw what pairs of actions a team plays, one panel a method; four panels and more make a square.

    Args:
        policies: method -> `[A, A] float`, the share of each pair; rows agent 1, columns agent 2. Sums to one.
        action_names: `A` names.
        classes: name -> its actions, consecutive; pairs outside these squares are never coordinated.
        remark: One line below the panels, such as what a third agent does.
    """
    page = _Page(len(policies), action_names, has_remark=bool(remark))
    figure = new_figure(*page.size, layout=None)
    highest = max(float(np.max(policy)) for policy in policies.values())
    for number, (method, policy) in enumerate(policies.items()):
        panel = figure.add_axes(page.place(number))
        colours = _draw_pairs(panel, np.asarray(policy), highest)
        _mark_classes(panel, classes)
        panel.set_title(method, fontsize=10, color=INK, pad=19)
        _name_actions(panel, action_names, *page.is_at_edge(number))
    bar = figure.colorbar(colours, cax=figure.add_axes(page.bar()))
    bar.set_label("share of steps (square-root scale)", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)  # type: ignore[operator]
    figure.text(0.5, 0.08 / page.size[1], remark, fontsize=8, color=REMARK, ha="center")
    return figure


class _Page:
    """Layout of the page in inches from the lower left; methods return fractions of it, as Matplotlib wants."""

    def __init__(self, count: int, action_names: Sequence[str], has_remark: bool) -> None:
        self.count = count
        self.columns = count if count <= _MAX_ROW_LENGTH else math.ceil(math.sqrt(count))
        self.rows = math.ceil(count / self.columns)
        self.side = max(1.5, (0.25 if count <= _MAX_ROW_LENGTH else 0.2) * len(action_names))
        names = 0.068 * max(len(name) for name in action_names)
        self.left, self.bottom = names + 0.35, names + 0.35 + 0.2 * has_remark
        right = self.left + self.columns * (self.side + _GAP)
        self.size = (right + 0.9, self.bottom + self.rows * (self.side + _HEADING) + 0.05)

    def place(self, number: int) -> tuple[float, float, float, float]:
        """Place of a panel: left, bottom, width, height as fractions of the figure."""
        row, column = divmod(number, self.columns)
        left = self.left + column * (self.side + _GAP)
        bottom = self.bottom + (self.rows - 1 - row) * (self.side + _HEADING)
        return self._fractions(left, bottom, self.side, self.side)

    def bar(self) -> tuple[float, float, float, float]:
        """Place of the colour bar, beside the first row, in the same fractions."""
        bottom = self.bottom + (self.rows - 1) * (self.side + _HEADING)
        return self._fractions(self.size[0] - 0.9, bottom, 0.14, self.side)

    def is_at_edge(self, number: int) -> tuple[bool, bool]:
        """Whether a panel is the first of its row, and whether it is the lowest of its column."""
        return number % self.columns == 0, number + self.columns >= self.count

    def _fractions(self, left: float, bottom: float, width: float, height: float) -> tuple[float, float, float, float]:
        return left / self.size[0], bottom / self.size[1], width / self.size[0], height / self.size[1]


def _draw_pairs(panel: Axes, policy: np.ndarray, highest: float) -> Any:
    from matplotlib.colors import PowerNorm

    # A square root keeps rare pairs visible: uncoordinated probability is spread thinly over many cells.
    norm, edges = PowerNorm(0.5, vmin=0, vmax=highest or 1.0), np.arange(len(policy) + 1) - 0.5
    colours = panel.pcolormesh(edges, edges, policy, cmap="Blues", norm=norm, edgecolors="white", linewidth=0.6)
    panel.invert_yaxis()
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
