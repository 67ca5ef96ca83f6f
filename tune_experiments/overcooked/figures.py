"""What a run in Overcooked leaves to look at: curves, and an episode of each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, record_episode
from tune_experiments.play.video import write_gif
from tune_experiments.results.trial_figures import Trials, draw_curves, trained_teams

CURVES = {
    "episode/soups": "soups per episode",
    "valid/reward": "reward per episode, without shaping",
    "episode/shaped_return": "shaped points per episode",
    "policy/entropy": "entropy (nats, both chefs)",
}
BINS = 40
_VIDEO_STEPS = 160
"""Of an episode: several soups, and a file that still loads."""


def draw(out: Path, trials: Trials, allow: Sequence[str] = ()) -> Sequence[Path]:
    """Everything of which there is something yet, as for `trained_teams`; returns what was written."""
    return [*draw_curves(out, trials, CURVES, BINS), *_draw_episodes(out, trials, allow)]


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """The beginning of an episode, [H, W, 3] uint8 a step."""
    return record_episode(policy, seed)[: _VIDEO_STEPS + 1]


def _draw_episodes(out: Path, trials: Trials, allow: Sequence[str]) -> Iterable[Path]:
    """Of each row's first seed."""
    for method, policy in trained_teams(trials, allow):
        yield write_gif(video(policy), out / f"videos/{method}.gif")
