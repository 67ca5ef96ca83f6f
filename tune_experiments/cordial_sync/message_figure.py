"""Talk and reply weights over one episode (A Cordial Sync, figure 5d).

Marks show when agents saw the television, moved with it, or passed. As in the authors' figure, a pass is marked only
where another agent moved or turned alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.furnmove.actions import MODALITY, MOVE_WITH_OBJECT, PASS
from tune_experiments.cordial_sync.messages import ROUNDS
from tune_experiments.experiment.plan import Episodes
from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, MARKERS, REMARK, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_LENGTH, _MAX_LENGTH = 60, 80
"""Env steps of an episode that the authors show."""
_SEES, _MOVES, _PASSES = "sees the television", "moves with it", "passes while another moves or turns"


def draw_messages(data: Episodes, path: Path, title: str) -> Path:
    """Draw the weights of one episode, a panel for talk and one for reply.

    Args:
        data: as `communication.play_and_listen` gives it.
        path: the PNG to write.
        title: above the panels.
    """
    episode = chosen(data)
    rows = data["_episode"] == episode
    figure = new_figure(9.0, 4.6)
    panels = figure.subplots(len(ROUNDS), 1, sharex=True)
    for panel, name in zip(panels, ROUNDS, strict=True):
        _draw_round(panel, name, {key: data[key][rows] for key in (f"_{name}", "_actions", "_sees")})
    panels[-1].set_xlabel("env step", color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=data["_sees"].shape[1], fontsize=8, frameon=False)
    figure.suptitle(f"{title}, episode of test start {episode}", fontsize=10, color=INK)
    return save(figure, path)


def chosen(data: Episodes) -> int:
    """The first episode of 60 to 80 env steps; where there is none, the first of those nearest to 70."""
    episodes, lengths = np.unique(data["_episode"], return_counts=True)
    fits = (lengths >= _MIN_LENGTH) & (lengths <= _MAX_LENGTH)
    away = np.where(fits, 0, abs(lengths - (_MIN_LENGTH + _MAX_LENGTH) // 2))
    return int(episodes[away.argmin()])


def passes_for_another(actions: np.ndarray) -> np.ndarray:
    """Whether an agent passes while another agent moves or turns alone: [T, N] int -> [T, N] bool."""
    alone = actions < PASS
    others = alone.sum(1, keepdims=True) - alone > 0
    return np.asarray((actions == PASS) & others)


def _draw_round(panel: Axes, name: str, data: Episodes) -> None:
    weights, actions = data[f"_{name}"], data["_actions"]
    steps = np.arange(len(weights))
    marks = (
        (_SEES, data["_sees"], -0.06, "|"),
        (_MOVES, MODALITY[actions] == MOVE_WITH_OBJECT, -0.16, "s"),
        (_PASSES, passes_for_another(actions), 1.08, "v"),
    )
    for agent, column in enumerate(weights.T):
        colour, shift = COLOURS[agent % len(COLOURS)], 0.05 * agent
        look = {"marker": MARKERS[agent % len(MARKERS)], "markersize": 2.5, "linewidth": 1.2}
        panel.plot(steps, column, color=colour, label=f"agent {agent + 1}", **look)  # type: ignore[arg-type]
        for label, when, height, mark in marks:
            at = steps[when[:, agent]]
            place = np.full(len(at), height + (shift if height > 1 else -shift))
            legend = f"agent {agent + 1} {label}"
            panel.scatter(at, place, s=14, marker=mark, color=colour, linewidths=1.0, label=legend)
    panel.set_ylim(-0.3, 1.25)
    panel.set_yticks([0, 0.5, 1])
    panel.set_ylabel(f"{name} weight", color=INK)
    panel.grid(color=FAINT, linewidth=0.6)
    panel.tick_params(labelsize=8, colors=REMARK)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
