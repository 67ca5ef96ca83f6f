"""Files of Verco's runs: curves and videos, the small model beside its checkpoints, and adapters in peft's format."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rl_models.llm.adapters import ADAPTERS
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.model_cache import keep_copy, small_model
from rl_models.llm.network import LanguageNetwork
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.errors import UserError
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.verco.config import LANGUAGE_MODEL, VercoConfig
from tune_experiments.verco.replay import replay, write_replay
from tune_experiments.verco.supervised_data import corpus
from tune_experiments.verco.trials import METHODS

CURVES = {
    "valid/return": "return of validation episodes",
    "valid/length": "steps of validation episodes",
    "policy/entropy": "entropy (nats, both cooks)",
    "valid/success": "dishes served in validation",
}
"""Training returns are logged as sums over both cooks, which have equal rewards."""
BINS = 25


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def draw_replay(method: str, policy: LoadedPolicy) -> Iterable[Drawn]:
        return write_replay(replay(policy), out / "videos", method)

    curves = draw_curves(out, trials, CURVES, BINS, shows_quartiles=True)
    return [*curves, *draw_teams(trials, {"video": draw_replay})]


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """An episode with messages, [H, W, 3] uint8 a step."""
    return replay(policy, seed).frames()


def save_model(config: VercoConfig, method: str, folder: Path) -> None:
    """Copy the small model into a trial's folder.

    Raises:
        UserError: it cannot be trained or written.
    """
    if config.model or not METHODS[method].has_language_model:
        return
    try:
        texts = functools.partial(corpus, config)
        keep_copy(folder / LANGUAGE_MODEL, lambda: small_model(texts, config.team.language.small))
    except LanguageModelError as error:
        raise UserError(str(error)) from error


def export(loaded: LoadedPolicy, folder: Path) -> Sequence[Path]:
    """Write a team's adapters in peft's format, a folder each; `--team.adapters` and peft read them.

    Raises:
        UserError: the team has none.
    """
    network = loaded.policy.network
    if not isinstance(network, LanguageNetwork):
        raise UserError(f"{loaded.method} has no language model, so there are no adapters to export")
    network.language.save_adapters(folder)
    return [folder / name for name in ADAPTERS]
