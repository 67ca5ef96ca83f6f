"""Pictures of a run: learning curves over env steps, and what pairs of actions a team plays.

Matplotlib is imported inside the functions: it costs a second, and a training worker draws nothing. Colours are those
of Okabe and Ito, which colour-blind readers tell apart. This file must not know an experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tune_experiments.common.trial_log import read_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CURVES", "joint_policy", "learning_curves"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# key of metrics.jsonl -> title of its panel
CURVES = {
    "episode/success": "success",
    "policy/invalid_probability": "invalid probability",
    "policy/tvd": "total variation distance",
}
_INK, _FAINT = "#222222", "#DDDDDD"


def learning_curves(
    runs: Mapping[str, Sequence[Path]], path: Path, curves: Mapping[str, str] = CURVES, bins: int = 60
) -> Path:
    """Draw one panel a metric: each method's mean over its seeds, with a band from the lowest to the highest seed.

    Args:
        runs: method -> the metrics.jsonl of each of its seeds.
        path: The PNG to write.
        curves: key -> title of the panel; a panel without a number is left empty.
        bins: Rows are averaged in this many equal stretches of env steps, which calms noise.
    """
    figure = _figure(width=3.6 * len(curves), height=2.9)
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    rows = {method: [read_metrics(metrics) for metrics in paths] for method, paths in runs.items()}
    for panel, (key, title) in zip(panels, curves.items(), strict=True):
        for colour, (method, seeds) in zip(_colours(len(rows)), rows.items(), strict=True):
            _draw_curve(panel, [_binned(seed, key, bins) for seed in seeds], method, colour)
        _style(panel, title)
    handles = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=len(handles), frameon=False)
    if any(len(seeds) > 1 for seeds in rows.values()):
        figure.supxlabel("line: mean of the seeds, band: lowest to highest seed", fontsize=8, color="#666666")
    return _save(figure, path)


def joint_policy(
    policies: Mapping[str, np.ndarray],
    action_names: Sequence[str],
    classes: Mapping[str, Sequence[int]],
    path: Path,
) -> Path:
    """Draw what pairs of actions a team plays (Figures 5 and 13 of "A Cordial Sync"), one panel a method.

    Args:
        policies: method -> `[A, A] float`, the share of each pair; rows agent 1, columns agent 2. Sums to one.
        action_names: `A` names.
        classes: name -> its actions, consecutive; pairs outside these squares are never coordinated.
        path: The PNG to write.
    """
    side = max(1.5, 0.25 * len(action_names))  # inches of one panel
    names = 0.075 * max(len(name) for name in action_names)
    figure = _figure(width=(side + 0.3) * len(policies) + names + 1.4, height=side + names + 1.1)
    panels = figure.subplots(1, len(policies), squeeze=False)[0]
    highest = max(float(np.max(policy)) for policy in policies.values())
    for index, (panel, (method, policy)) in enumerate(zip(panels, policies.items(), strict=True)):
        image = _draw_pairs(panel, np.asarray(policy), highest)
        _mark_classes(panel, classes)
        ticks = range(len(action_names))
        panel.set_xticks(ticks, action_names, rotation=90)
        panel.set_yticks(ticks, action_names if index == 0 else [""] * len(action_names))
        panel.set_title(method, fontsize=10, color=_INK, pad=22)
        panel.set_xlabel("agent 2")
    panels[0].set_ylabel("agent 1")
    bar = figure.colorbar(image, ax=list(panels), shrink=0.7, pad=0.02)
    bar.set_label("share of steps (square-root scale)", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)  # type: ignore[operator]
    return _save(figure, path)


# ---- curves ----------------------------------------------------------------------------------------------------------


def _binned(rows: Sequence[Mapping[str, float]], key: str, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Env steps and values of one seed, averaged over equal stretches; stretches without a row are left out."""
    points = np.array([(row["env_steps"], row[key]) for row in rows if np.isfinite(row.get(key, np.nan))]).reshape(
        -1, 2
    )
    if len(points) == 0:
        return np.empty(0), np.empty(0)
    edges = np.linspace(0, points[-1, 0], bins + 1)
    place = np.clip(np.digitize(points[:, 0], edges) - 1, 0, bins - 1)
    used = np.unique(place)
    return tuple(np.array([points[place == one, column].mean() for one in used]) for column in (0, 1))  # type: ignore[return-value]


def _draw_curve(panel: Axes, seeds: Sequence[tuple[np.ndarray, np.ndarray]], method: str, colour: str) -> None:
    seeds = [seed for seed in seeds if len(seed[0])]
    if not seeds:
        return
    # Only where every seed has data: beyond it the mean would jump when a seed drops out.
    start, end = max(steps[0] for steps, _ in seeds), min(steps[-1] for steps, _ in seeds)
    grid = np.unique(np.concatenate([steps[(steps >= start) & (steps <= end)] for steps, _ in seeds]))
    values = np.array([np.interp(grid, steps, value) for steps, value in seeds])
    label = f"{method} ({len(seeds)} seeds)" if len(seeds) > 1 else method
    panel.plot(grid, values.mean(0), color=colour, linewidth=1.8, label=label, marker="." if len(grid) == 1 else None)
    if len(seeds) > 1:
        panel.fill_between(grid, values.min(0), values.max(0), color=colour, alpha=0.18, linewidth=0)


def _style(panel: Axes, title: str) -> None:
    from matplotlib.ticker import EngFormatter

    panel.set_title(title, loc="left", fontsize=10, color=_INK)
    panel.set_xlabel("env steps")
    panel.set_xlim(left=0)
    highest = panel.get_ylim()[1] if panel.lines else 1.0
    # Shares fill 0 to 1 in every picture, so that two runs compare at a glance; other metrics need what they need.
    within = [line.get_ydata() for line in panel.lines if len(line.get_ydata())]  # type: ignore[arg-type]
    negative = any(np.min(values) < 0 for values in within)
    if not negative:
        panel.set_ylim(-0.02 * max(1.0, highest), max(1.02, highest))
    panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    panel.grid(axis="y", color=_FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


# ---- pairs of actions ------------------------------------------------------------------------------------------------


def _draw_pairs(panel: Axes, policy: np.ndarray, highest: float) -> Any:
    from matplotlib.colors import PowerNorm

    # A square root keeps rare pairs visible: uncoordinated probability is spread thinly over many cells.
    image = panel.imshow(policy, cmap="Blues", norm=PowerNorm(0.5, vmin=0, vmax=highest or 1.0))
    panel.set_xticks(np.arange(len(policy) + 1) - 0.5, minor=True)
    panel.set_yticks(np.arange(len(policy) + 1) - 0.5, minor=True)
    panel.grid(which="minor", color="white", linewidth=0.6)
    panel.tick_params(which="both", length=0, labelsize=7)
    panel.spines[:].set_color(_FAINT)
    return image


def _mark_classes(panel: Axes, classes: Mapping[str, Sequence[int]]) -> None:
    from matplotlib.patches import Rectangle

    for name, actions in classes.items():
        first, count = min(actions), len(actions)
        square = Rectangle((first - 0.5, first - 0.5), count, count, fill=False, edgecolor=COLOURS[1], linewidth=1.6)
        square.set(zorder=5, clip_on=False)  # above the white grid, and whole at the border
        panel.add_patch(square)
        middle = first + (count - 1) / 2
        panel.text(middle, -0.7, name, color=COLOURS[1], fontsize=7.5, ha="center", va="bottom", fontweight="bold")


# ---- figures ---------------------------------------------------------------------------------------------------------


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _figure(width: float, height: float) -> Figure:
    """A figure that belongs to no window system and no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    return figure


def _save(figure: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")
    return path
