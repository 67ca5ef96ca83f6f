"""The team of chefs who follow commands in words."""

from __future__ import annotations

from pathlib import Path

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.symbols import SYMBOLS
from rl_models.networks.sama import SamaSizes
from rl_models.policy import TeamPolicy
from rl_models.teams.sama_team import sama_team
from rl_models.text.choice import text_encoder
from tune_experiments.sama.commands import command_texts, manual_sentences
from tune_experiments.sama.config import SamaConfig
from tune_experiments.sama.kitchens import NUM_CHEFS
from tune_experiments.sama.manuals import manual_of


def commanded_team(
    config: SamaConfig, layout: str, seed: int, trial_folder: Path | None = None, manual: str | None = None
) -> TeamPolicy:
    """Chefs who read their commands and a manual: the trial's own, unless it is handed to them."""
    commands, kitchen = command_texts(layout), Kitchen(LAYOUTS[layout])
    sizes = SamaSizes(NUM_CHEFS, len(SYMBOLS), kitchen.height, kitchen.width, len(commands))
    sentences = (*commands, *manual_sentences(manual or manual_of(config, layout, trial_folder)))
    return sama_team(config.network, sizes, lambda: text_encoder(config.encoder, sentences, sentences), seed)
