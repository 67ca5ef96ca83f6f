"""What a run of EnDi in MESSENGER leaves to look at: curves, divisions among them, and an episode of each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tune_experiments.endi import episode_video
from tune_experiments.endi.figures import draw_all
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED
from tune_experiments.results.trial_figures import Trials

__all__ = ["draw", "film"]


def film(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """Frames of one episode with everybody's entities."""
    return episode_video.film(policy, episode_video.MESSENGER, seed)


def draw(out: Path, trials: Trials) -> Sequence[Path]:
    """Everything of which there is something yet; returns what was written."""
    return draw_all(out, trials, film, {"loss/grounding": "contrastive grounding loss"})
