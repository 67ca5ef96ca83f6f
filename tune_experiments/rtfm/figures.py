"""What a run on RTFM leaves to look at: curves, attention (RTFM, figure 5), and an episode of each method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.trial_figures import Trials, draw_curves, trained_teams
from tune_experiments.play.video import write_gif
from tune_experiments.rtfm.attention import draw_attention, watch_reading
from tune_experiments.rtfm.episode_video import frames_of

CURVES = {
    "episode/win_rate": "win rate",
    "valid/unseen_win_rate": "win rate, unseen assignments (validation)",
    "valid/shuffled_win_rate": "the same with another game's document",
    "episode/length": "episode length (env steps)",
    "policy/entropy": "entropy (nats)",
}
BINS = 40
_FRAME_SECONDS = 0.6


def video(policy: LoadedPolicy, seed: int) -> list[np.ndarray]:
    """Frames of one episode with what the network attends to."""
    return frames_of(watch_reading(policy, seed))


def draw(out: Path, trials: Trials, allow: Sequence[str] = ()) -> Sequence[Path]:
    """Everything of which there is something yet, as for `trained_teams`; returns what was written."""
    return [*draw_curves(out, trials, CURVES, BINS), *_draw_episodes(out, trials, allow)]


def _draw_episodes(out: Path, trials: Trials, allow: Sequence[str]) -> Iterable[Path]:
    """Of each method's first seed: one episode, and where its network attends if it does."""
    for method, policy in trained_teams(trials, allow):
        moments = watch_reading(policy)
        yield write_gif(frames_of(moments), out / f"videos/{method}.gif", _FRAME_SECONDS)
        if moments[0].attention:
            yield draw_attention(moments, out / f"plots/attention_{method}.png", method)
