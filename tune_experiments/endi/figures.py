"""Curves of a run of EnDi (figures 7 and 8), also of its masks, and a video of an episode of each method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.core.drawing import Drawn
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif

CURVES = {
    "episode/win_rate": "win rate",
    "policy/entropy": "entropy (nats)",
    "division/overlap": "overlap of the agents' masks",
    "division/coverage": "coverage: entities in an agent's mask",
    "division/conflicts": "conflicts: same nearest entity",
    "division/others_accuracy": "others' actions predicted",
}
BINS = 40
_FRAME_SECONDS = 0.8


def draw_all(
    out: Path,
    trials: Trials,
    video: Callable[[LoadedPolicy], Sequence[np.ndarray]],
    more_curves: Mapping[str, str],
) -> list[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def draw_video(method: str, policy: LoadedPolicy) -> Path:
        return write_gif(video(policy), out / f"videos/{method}.gif", _FRAME_SECONDS)

    curves = draw_curves(out, trials, {**CURVES, **more_curves}, BINS)
    return [*curves, *draw_teams(trials, {"video": draw_video})]
