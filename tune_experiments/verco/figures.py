"""Learning curves, and an episode of each row with what was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED
from tune_experiments.play.trial_figures import Trials, draw_curves, trained_teams
from tune_experiments.verco.replay import replay, write_replay

CURVES = {
    "valid/return": "return of validation episodes",
    "valid/length": "steps of validation episodes",
    "policy/entropy": "entropy (nats, both cooks)",
    "valid/success": "dishes served in validation",
}
"""Returns of training episodes are logged as sums over both cooks, who are paid the same."""
BINS = 25


def draw(out: Path, trials: Trials) -> Sequence[Path]:
    """Everything of which there is something yet, as for `trained_teams`; returns what was written."""
    return [*draw_curves(out, trials, CURVES, BINS, shows_quartiles=True), *_draw_episodes(out, trials)]


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """An episode with messages, [H, W, 3] uint8 a step."""
    return replay(policy, seed).frames()


def _draw_episodes(out: Path, trials: Trials) -> Iterable[Path]:
    """Replays of each row's first seed."""
    for method, policy in trained_teams(trials):
        yield from write_replay(replay(policy), out / "videos", method)
