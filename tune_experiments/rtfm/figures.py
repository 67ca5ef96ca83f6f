"""What a run on RTFM leaves to look at: curves, attention (RTFM, figure 5), and an episode of each method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.common.policies import LoadedPolicy
from tune_experiments.common.rtfm.attention import draw_attention, watch_reading
from tune_experiments.common.rtfm.film import frames_of
from tune_experiments.common.trial_pictures import Trials, draw_curves, trained_teams
from tune_experiments.common.video import write_gif

CURVES = {
    "episode/win_rate": "win rate",
    "valid/unseen_win_rate": "win rate, unseen assignments (validation)",
    "episode/length": "episode length (env steps)",
    "policy/entropy": "entropy (nats)",
}
BINS = 40
_FRAME_SECONDS = 0.6


def film(policy: LoadedPolicy, seed: int) -> list[np.ndarray]:
    """Frames of one episode with what the network attends to."""
    return frames_of(watch_reading(policy, seed))


def draw(out: Path, trials: Trials) -> Sequence[Path]:
    """Everything of which there is something yet; returns what was written."""
    return [*draw_curves(out, trials, CURVES, BINS), *_draw_episodes(out, trials)]


def _draw_episodes(out: Path, trials: Trials) -> Iterable[Path]:
    """Of each method's first seed: one episode, and where its network attends if it does."""
    for method, policy in trained_teams(trials):
        moments = watch_reading(policy)
        yield write_gif(frames_of(moments), out / f"videos/{method}.gif", _FRAME_SECONDS)
        if moments[0].attention:
            yield draw_attention(moments, out / f"plots/attention_{method}.png", method)
