"""What a run on Gridworld-FurnMove leaves to look at: curves, joint policies, and an episode of each method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rl_envs.furnmove.actions import ACTION_NAMES
from tune_experiments.cordial_sync.sights import record_sights, write_sights
from tune_experiments.cordial_sync.trajectory import draw_trajectory
from tune_experiments.core.files import read_arrays
from tune_experiments.play.recording import record_episode
from tune_experiments.play.trial_figures import Trials, trained_teams
from tune_experiments.play.video import write_gif
from tune_experiments.results import plots
from tune_experiments.results.trial_log import logs_of
from tune_experiments.run.run_folder import read_config

CURVES = {
    "episode/success": "success",
    "policy/invalid_probability": "invalid probability",
    "policy/tvd": "total variation distance",
    "episode/md_spl": "MD-SPL",
    "episode/length": "episode length (env steps)",
    "episode/final_distance": "final distance (metres)",
}
BINS = 40
"""A laptop's run finishes some 3,000 episodes: 75 a point keep the noise of its success below 0.06."""
ACTION_CLASSES = {"NAV": range(4), "MWO": range(4, 8), "RO": range(8, 9), "MO": range(9, 13)}
HUES = {
    "no_communication": ("#9A9A9A", "#303030", "X"),
    "marginal": ("#F08C4B", "#B84300", "s"),
    "sync_1": ("#E0B420", "#8F6A00", "v"),
    "sync_2": ("#5CCDD4", "#00808C", "^"),
    "sync_4": ("#78BF78", "#146B30", "D"),
    "sync_13": ("#78A6EA", "#0A459B", "o"),
    "central": ("#DC8FC2", "#96246F", "P"),
}
"""Colour without CORDIAL, with it, and marker of both: told apart in hue, lightness and shape."""


def draw(out: Path, trials: Trials, allow: Sequence[str] = ()) -> Sequence[Path]:
    """Everything of which there is something yet, as for `trained_teams`; returns what was written."""
    return [*_draw_curves(out, trials), *_draw_joint_policies(out, trials), *_draw_episodes(out, trials, allow)]


def styles(methods: Iterable[str]) -> dict[str, plots.LineStyle]:
    """The rows of a family share a hue; CORDIAL makes it dark, the line heavy and markers filled."""
    looks = {}
    for method in methods:
        light, dark, marker = HUES[method.removesuffix("_cordial")]
        if method.endswith("_cordial"):
            looks[method] = plots.LineStyle(dark, marker, width=2.0)
        else:
            looks[method] = plots.LineStyle(light, marker, width=1.4, is_filled=False)
    return looks


def _draw_curves(out: Path, trials: Trials) -> Iterable[Path]:
    """Over env steps, which every method gets alike, and over episodes, as the paper has it."""
    if runs := logs_of(trials):
        looks = styles(runs)
        yield plots.learning_curves(runs, out / "plots/curves.png", CURVES, BINS, styles=looks)
        path = out / "plots/curves_by_episodes.png"
        yield plots.learning_curves(runs, path, CURVES, BINS, x="progress/episodes", styles=looks)


def _draw_joint_policies(out: Path, trials: Trials) -> Iterable[Path]:
    policies = {method: joint for method, seeds in trials.items() if (joint := _mean_joint(seeds)) is not None}
    if policies:
        num_agents = read_config(out)[1]["num_agents"]
        remark = f"the first two of {num_agents} agents, whatever the others do" if num_agents > 2 else ""
        path = out / "plots/joint_policy.png"
        yield plots.joint_policy(policies, ACTION_NAMES, ACTION_CLASSES, path, remark)


def _draw_episodes(out: Path, trials: Trials, allow: Sequence[str]) -> Iterable[Path]:
    """Of each method's first seed."""
    for method, policy in trained_teams(trials, allow):
        yield draw_trajectory(policy, out / f"plots/trajectory_{method}.png")
        if policy.config.observation == "frame":
            yield from write_sights(record_sights(policy, pixels=policy.config.frame_pixels), out / "videos", method)
        else:
            yield write_gif(record_episode(policy), out / f"videos/{method}.gif")


def _mean_joint(seeds: Mapping[int, Path]) -> np.ndarray | None:
    found = [read_arrays(path)["_joint_policy"] for folder in seeds.values() for path in folder.glob("*_pictures.npz")]
    return np.mean(found, axis=0) if found else None
