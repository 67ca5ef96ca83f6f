"""What a run on MESSENGER leaves to look at: curves, and attention, and an episode of each row with its manual."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tune_experiments.messenger.attention import draw_attention
from tune_experiments.messenger.config import GROUNDED
from tune_experiments.messenger.episode_video import video
from tune_experiments.play.video import write_gif
from tune_experiments.results.trial_figures import Trials, draw_curves, trained_teams

__all__ = ["draw", "video"]

CURVES = {
    "episode/win_rate": "win rate",
    "policy/entropy": "entropy (nats)",
    "loss/grounding": "contrastive grounding loss",
}
BINS = 40
_FRAME_SECONDS = 1.0


def draw(out: Path, trials: Trials, allow: Sequence[str] = ()) -> Sequence[Path]:
    """Everything of which there is something yet, as for `trained_teams`; returns what was written."""
    named = {_name(method): seeds for method, seeds in trials.items()}
    return [*draw_curves(out, named, CURVES, BINS), *_draw_episodes(out, trials, allow)]


def _name(method: str) -> str:
    return f"{method}, not in the paper" if method.endswith(GROUNDED) else method


def _draw_episodes(out: Path, trials: Trials, allow: Sequence[str]) -> Iterable[Path]:
    """Of each row's first seed, and whom its sprites look at if it reads."""
    for method, policy in trained_teams(trials, allow):
        yield write_gif(video(policy), out / f"videos/{method}.gif", _FRAME_SECONDS)
        if method != "game_id":
            yield draw_attention(policy, out / f"plots/attention_{method}.png")
