"""The six methods of RTFM's table 1 as networks of given widths: two baselines, three ablations, and txt2pi.

`form` chooses between the paper's text and the released code where they differ (`rl_models/networks/txt2pi.py`).
"""

from __future__ import annotations

import dataclasses

from rl_models.layers.words import Cell
from rl_models.networks.readers import PAPER_READER, ReaderConfig
from rl_models.networks.txt2pi import PAPER, CnnConfig, FilmConfig, ReadingConfig, Txt2PiConfig
from rl_models.teams.reader_team import ReaderTeamConfig
from tune_experiments.rtfm.config import MethodName, NetworkSettings


def team_config(method: MethodName, settings: NetworkSettings) -> ReaderTeamConfig:
    """Network and heads of one method."""
    is_paper = settings.form == "paper"
    hidden = settings.features if is_paper else 0
    return ReaderTeamConfig(_chosen(_network(method, settings), settings), hidden, only_legal_moves=not is_paper)


def _chosen(network: ReadingConfig, settings: NetworkSettings) -> ReadingConfig:
    """The configuration with all settings but the form."""
    if settings.activation is not None:
        network = dataclasses.replace(network, activation=settings.activation)
    if settings.first_summary is not None and isinstance(network, Txt2PiConfig):
        network = dataclasses.replace(network, first_summary=settings.first_summary)
    return network


def _network(method: MethodName, settings: NetworkSettings) -> ReadingConfig:
    if method in ("cnn", "film"):
        return _baseline(method, settings)
    is_paper = settings.form == "paper"
    reader = dataclasses.replace(
        PAPER_READER if is_paper else ReaderConfig(),
        document_hidden_size=settings.document_hidden_size,
        goal_hidden_size=settings.goal_hidden_size,
        inventory_hidden_size=settings.inventory_hidden_size,
        attends_to_goal=method != "no_task_attn",
        attends_to_grid=method != "no_vis_attn",
    )
    return dataclasses.replace(
        PAPER if is_paper else Txt2PiConfig(),
        reader=reader,
        word_features=settings.word_features,
        channels=settings.channels,
        features=settings.features,
        modulates_text=method != "no_text_mod",
    )


def _baseline(method: MethodName, settings: NetworkSettings) -> ReadingConfig:
    document, inventory = settings.document_hidden_size, settings.inventory_hidden_size
    cell: Cell = "lstm" if settings.form == "paper" else "gru"
    widths = settings.word_features, settings.channels, settings.features
    if method == "cnn":
        return CnnConfig(cell, document, document, document, *widths)
    return FilmConfig(cell, document, inventory, inventory, *widths)
