"""A figure of how COLE's population grew: payoffs and preferences of the last generation, and all generations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_models.training.checkpoint import load_checkpoint, newest_complete_checkpoint
from tune_experiments.overcooked.cole import Generation, read_generations
from tune_experiments.overcooked.cole_solver import preferred
from tune_experiments.overcooked.crossplay import draw_pairs
from tune_experiments.results.plots.figures import COLOURS, INK, explain_below, new_figure, save
from tune_experiments.run.trial import CHECKPOINTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEARNER = "learner"
_MEMBER_COLOUR, _LEARNER_COLOUR = COLOURS[0], COLOURS[1]


def draw_generations(run_folder: Path, trials: Mapping[int, Path]) -> Iterator[Path]:
    """A figure of each trial that has ended a generation; `trials` are seed -> folder."""
    for seed, folder in trials.items():
        newest = newest_complete_checkpoint(folder / CHECKPOINTS)
        generations = [] if newest is None else read_generations(load_checkpoint(newest).tensors)
        if generations:
            yield draw(generations, run_folder / f"plots/cole-seed{seed}.png")


def draw(generations: Sequence[Generation], path: Path) -> Path:
    """One figure of a trial's generations, at least one."""
    last = generations[-1]
    names = [*(f"{member:,}" for member in last.members), LEARNER]
    figure = new_figure(12.5, 4.4)
    pairs, graph, growth = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    draw_pairs(pairs, np.array(last.payoffs), names, 0)
    pairs.set_xlabel("chef 1", fontsize=9)
    pairs.set_ylabel("chef 0", fontsize=9)
    pairs.set_title("payoff: reward per episode", fontsize=10, color=INK)
    _draw_graph(graph, last, names)
    _draw_growth(growth, generations)
    remark = f"members are named by the env steps after which they joined; payoffs after {last.env_steps:,} env steps"
    explain_below(figure, remark)
    return save(figure, path)


def _draw_graph(panel: Axes, last: Generation, names: Sequence[str]) -> None:
    """Members on a circle, each with an arrow to its best partner."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / len(names)
    places = np.stack([np.cos(angles), np.sin(angles)], -1) * (len(names) > 1)
    shapley = np.array(last.shapley)
    sizes = 150 + 600 * shapley / (shapley.max() or 1.0)
    colours = [_LEARNER_COLOUR if name == LEARNER else _MEMBER_COLOUR for name in names]
    for source, target in enumerate(preferred(np.array(last.payoffs))):
        if source != target:
            style = {"arrowstyle": "-|>", "color": INK, "shrinkA": 17, "shrinkB": 17, "linewidth": 1.1}
            panel.annotate("", places[target], places[source], arrowprops=style)
    panel.scatter(places[:, 0], places[:, 1], s=sizes, c=colours, zorder=3)
    for place, name, value in zip(places, names, shapley, strict=True):
        across, up = place * (1.62, 1.4)
        panel.text(across, up, f"{name}\n{value:.1f}", fontsize=8, ha="center", va="center", color=INK)
    panel.set(xlim=(-2.1, 2.1), ylim=(-1.8, 1.8), aspect="equal")
    panel.axis("off")
    title = "arrow: best partner (of equals the last; none: itself); size: Shapley value"
    panel.set_title(title, fontsize=9, color=INK)


def _draw_growth(panel: Axes, generations: Sequence[Generation]) -> None:
    """The learner's payoffs at the end of every generation, with itself and with the members."""
    moments = np.array([found.env_steps for found in generations])
    own = np.array([found.payoffs[-1][-1] for found in generations])
    beside = [found for found in generations if found.members]
    with_members = [np.mean([row[-1] for row in found.payoffs[:-1]] + found.payoffs[-1][:-1]) for found in beside]
    panel.plot(moments, own, color=_LEARNER_COLOUR, label="with itself")
    panel.plot([found.env_steps for found in beside], with_members, color=_MEMBER_COLOUR, label="with the members")
    joined = np.array([found.accepted for found in generations])
    for is_shown, face, label in ((joined, _LEARNER_COLOUR, "joined"), (~joined, "white", "refused")):
        if is_shown.any():
            panel.plot(moments[is_shown], own[is_shown], "o", color=_LEARNER_COLOUR, markerfacecolor=face, label=label)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("env steps of training", fontsize=9)
    panel.set_ylabel("reward per episode", fontsize=9)
    panel.tick_params(labelsize=8)
    panel.locator_params(axis="x", nbins=5)
    panel.xaxis.set_major_formatter(lambda steps, _: f"{steps:,.0f}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8, frameon=False)
    panel.set_title("the learner, generation by generation", fontsize=10, color=INK)
