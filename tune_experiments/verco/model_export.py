"""What a language team needs on another machine: its small model, kept beside the checkpoints, and peft's adapters."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from rl_models.llm.adapters import ADAPTERS
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.model_cache import keep_copy, small_model
from rl_models.llm.network import LanguageNetwork
from tune_experiments.core.errors import UserError
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.verco.config import LANGUAGE_MODEL, VercoConfig
from tune_experiments.verco.supervised_data import corpus
from tune_experiments.verco.trials import ROWS


def keep_model(config: VercoConfig, method: str, folder: Path) -> None:
    """Copy the small model into the folder of a trial that learns on it.

    Raises:
        UserError: it cannot be had or written.
    """
    if config.model or not ROWS[method].has_language_model:
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
