"""Figures and videos of a run: curves, an episode of each method, and the planner's transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rl_envs.overcooked.world import Overcooked
from rl_models.planners.rounds import PlanningLoop
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.sama.overcooked.evaluation import planned_episodes
from tune_experiments.sama.overcooked.trials import UNPLANNED, split_method
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.planning_metrics import write_transcripts

CURVES = {
    "valid/soups": "soups per episode in validation",
    "valid/completed": "rounds with both sub-goals reached",
    "episode/reached": "sub-goals reached in training",
    "episode/length": "env steps of a round",
    "episode/soups": "soups per episode, methods without a planner",
    "policy/entropy": "entropy (nats, both chefs)",
}
BINS = 40
_VIDEO_STEPS = 160


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw every figure that there is data for; returns the written files."""

    def draw_video(method: str, policy: LoadedPolicy) -> Path:
        return write_gif(video(policy), out / f"videos/{method}.gif")

    curves = draw_curves(out, trials, CURVES, BINS)
    transcripts = attempt("transcripts", lambda: write_transcripts(out, trials))
    return [*curves, *transcripts, *draw_teams(trials, {"video": draw_video})]


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """The beginning of an episode as it is tested, [H, W, 3] uint8 a step; rounds that fail are seen, too."""
    row, layout = split_method(policy.method)
    if row in UNPLANNED:
        return _video_unplanned(policy, UNPLANNED[row].make_world(OvercookedConfig(task=layout)), seed)
    frames: list[np.ndarray] = []

    def watch(world: CommandedKitchen, loop: PlanningLoop) -> None:
        if len(frames) <= _VIDEO_STEPS:
            frames.append(world.render(0))

    planned_episodes(policy.config, policy.method, policy.policy, 1, policy.trial_folder, watch)
    return frames


def _video_unplanned(policy: LoadedPolicy, world: Overcooked, seed: int) -> list[np.ndarray]:
    """Such a team plays the game itself, so the run's rounds are no world for it."""
    obs = world.reset(seed)
    policy.reset(seed, world.texts)
    frames = [world.render(0)]
    for _ in range(_VIDEO_STEPS):
        obs = world.step(policy.act(obs))[0]
        frames.append(world.render(0))
    return frames
