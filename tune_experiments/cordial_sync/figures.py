"""Figures and videos of FurnMove: curves, joint policies, an episode of each method, message weights (figure 5d)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.furnmove.actions import ACTION_NAMES, MODALITY, MOVE_WITH_OBJECT, PASS
from tune_experiments.cordial_sync.camera_video import record_cameras, write_camera_videos
from tune_experiments.cordial_sync.messages import ROUNDS
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.files import read_arrays
from tune_experiments.experiment.plan import Episodes
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import record_episode
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.results import plots
from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, MARKERS, REMARK, new_figure, save
from tune_experiments.run.final_evaluation import figure_data_files
from tune_experiments.run.run_folder import read_config

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CURVES = {
    "episode/success": "success",
    "policy/invalid_probability": "invalid probability",
    "policy/tvd": "total variation distance",
    "episode/md_spl": "MD-SPL",
    "episode/length": "episode length (env steps)",
    "episode/final_distance": "final distance (metres)",
}
BINS = 40
"""Number of points of a curve: a laptop run of 3,000 episodes has 75 a point, a standard error below 0.06."""
ACTION_CLASSES = {"NAV": range(4), "MWO": range(4, 8), "RO": range(8, 9), "MO": range(9, 13)}
_CLASSES_IN_WORDS = "NAV: move alone; MWO: move with the television; RO: rotate it; MO: move it alone"
HUES = {
    "no_communication": ("#9A9A9A", "#303030", "X"),
    "marginal": ("#F08C4B", "#B84300", "s"),
    "sync_1": ("#E0B420", "#8F6A00", "v"),
    "sync_2": ("#5CCDD4", "#00808C", "^"),
    "sync_4": ("#78BF78", "#146B30", "D"),
    "sync_13": ("#78A6EA", "#0A459B", "o"),
    "central": ("#DC8FC2", "#96246F", "P"),
}
"""Colour without CORDIAL, with it, and marker of both: distinct in hue, lightness and shape."""


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def video(method: str, policy: LoadedPolicy) -> Iterable[Drawn]:
        if policy.config.observation == "frame":
            cameras = record_cameras(policy, pixels=policy.config.frame_pixels)
            return write_camera_videos(cameras, out / "videos", method)
        return [write_gif(record_episode(policy), out / f"videos/{method}.gif")]

    return [
        *draw_curves(out, trials, CURVES, BINS, styles=styles(trials)),
        *attempt("joint policies", lambda: _draw_joint_policies(out, trials)),
        *draw_teams(trials, {"video": video}),
    ]


def styles(methods: Iterable[str]) -> dict[str, plots.LineStyle]:
    """The methods of a family share a hue; CORDIAL makes it dark, the line heavy and markers filled."""
    looks = {}
    for method in methods:
        light, dark, marker = HUES[method.removesuffix("_cordial")]
        if method.endswith("_cordial"):
            looks[method] = plots.LineStyle(dark, marker, width=2.0)
        else:
            looks[method] = plots.LineStyle(light, marker, width=1.4, is_filled=False)
    return looks


def _draw_joint_policies(out: Path, trials: Trials) -> Iterable[Path]:
    policies = {method: joint for method, seeds in trials.items() if (joint := _mean_joint(seeds)) is not None}
    if policies:
        num_agents = read_config(out)[1]["num_agents"]
        remark = _CLASSES_IN_WORDS
        if num_agents > 2:
            remark += f". The first two of {num_agents} agents, summed over the actions of the others"
        figure = plots.joint_policy(policies, ACTION_NAMES, ACTION_CLASSES, remark)
        yield plots.save(figure, out / "plots/joint_policy.png")


def _mean_joint(seeds: Mapping[int, Path]) -> np.ndarray | None:
    files = [path for folder in seeds.values() for path in figure_data_files(folder).values()]
    found = [read_arrays(path)["_joint_policy"] for path in files]
    return np.mean(found, axis=0) if found else None


_MIN_LENGTH, _MAX_LENGTH = 60, 80
"""Env steps of an episode that the authors show."""
_SEES, _MOVES, _PASSES = "sees the television", "moves with it", "passes while another moves or turns"


def draw_messages(data: Episodes, path: Path, title: str) -> Path:
    """Draw the weights of one episode of `play_and_listen`'s data, a panel for talk and one for reply."""
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
