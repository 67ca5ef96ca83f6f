"""Shared code of all plots: colours, and figures without a window system or global state."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tune_experiments.core.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito: colour-blind friendly."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, REMARK, FAINT = "#222222", "#666666", "#DDDDDD"
MAX_COLUMNS = 3
_CHARACTER_INCHES = 0.06


@dataclass(frozen=True)
class LineStyle:
    """Style of a method in all panels and the legend."""

    colour: str
    """Colour of all the method's lines."""
    marker: str = "o"
    """Marker of its validation points, for colour-blind readers."""
    width: float = 1.8
    """Width of its lines in points."""
    is_filled: bool = True
    """Whether its markers are filled."""

    def line(self) -> dict[str, Any]:
        """Matplotlib's keyword arguments for a line without markers."""
        return {"color": self.colour, "linewidth": self.width}

    def points(self) -> dict[str, Any]:
        """Matplotlib's keyword arguments for markers."""
        face, edge = (self.colour, "white") if self.is_filled else ("white", self.colour)
        look = {"marker": self.marker, "markersize": 5.0, "markerfacecolor": face, "markeredgecolor": edge}
        return look | {"markeredgewidth": 0.5 if self.is_filled else 1.1}


def default_styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """A colour and a marker for each method; from the eighth on they repeat, with thin lines."""
    kinds = len(COLOURS)
    return {
        method: LineStyle(COLOURS[number % kinds], MARKERS[number % kinds], 1.8 if number < kinds else 1.0)
        for number, method in enumerate(methods)
    }


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    return figure


def new_panels(
    count: int, width: float, height: float, max_columns: int = MAX_COLUMNS, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of `count` panels, row by row, each of a width and height in inches."""
    columns = min(max_columns, count)
    rows = -(-count // columns)
    figure = new_figure(width * columns, height * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=sharey).ravel()
    for panel in panels[count:]:
        panel.set_axis_off()
    return figure, list(panels[:count])


def explain_below(figure: Figure, remark: str) -> None:
    """Write a remark below the panels, in as many lines as it needs."""
    columns = int(figure.get_figwidth() / _CHARACTER_INCHES)
    figure.supxlabel(textwrap.fill(remark, columns), fontsize=8, color=REMARK)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG (`path`), PDF and SVG side by side, in a new folder if needed; output is deterministic."""
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    # Type 42: conferences refuse the Type 3 fonts that matplotlib embeds by default.
    with matplotlib.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "concord"}):
        for suffix in FORMATS:
            picture, dated = io.BytesIO(), {".pdf": "CreationDate", ".svg": "Date"}.get(suffix)
            metadata = {} if dated is None else {dated: None}
            figure.savefig(picture, format=suffix[1:], facecolor="white", metadata=metadata)
            figure.set_layout_engine("none")  # the layout of the first format serves all
            write_atomically(path.with_suffix(suffix), picture.getvalue())
    return path
