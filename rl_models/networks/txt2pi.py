"""txt2π (RTFM, section 4), its ablations, the baselines of RTFM's appendix C, and SILG's model, by configuration.

Defaults are those of the released code; `PAPER` is the paper's text where the two differ. Equations stand where they
are computed: FiLM² in `layers/film2.py` (1-8), attention in `layers/attention.py` (10-16), texts in `readers.py` (9-16,
18), the grid in `film2_stack.py` (17-19), the output layer in `reading.py` (20), heads in `heads/legal_policy.py`. With
262 words and its heads txt2π has 912,872 parameters, FiLM 342,077 and CNN 466,517; none is unused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from torch import nn

from rl_models.layers.bidirectional import Cell
from rl_models.networks.film2_stack import ConvolutionStack, Film2Stack, FirstSummary
from rl_models.networks.readers import (
    DOCUMENT,
    GOAL,
    INVENTORY,
    PAPER_READER,
    ReaderConfig,
    SummaryReader,
    Txt2PiReader,
)
from rl_models.networks.reading import Activation, ReadingNetwork, Sizes
from rl_models.networks.silg_reader import SilgReader

CHANNELS = (16, 32, 64, 64, 64)


@dataclass(frozen=True)
class Txt2PiConfig:
    """txt2π. Rock-paper-scissors uses word_features 10 and features 300."""

    reader: ReaderConfig = field(default_factory=ReaderConfig)
    word_features: int = 30
    channels: tuple[int, ...] = CHANNELS
    modulates_text: bool = True
    """False is no_text_mod: what is seen does not modulate the text."""
    first_summary: FirstSummary = "linear_of_max"
    """The paper says max_of_linear."""
    features: int = 400
    """0 leaves the output layer out, as EnDi does."""
    activation: Activation = "tanh"
    """The paper says relu (eq. 20)."""


PAPER = Txt2PiConfig(PAPER_READER, first_summary="max_of_linear", activation="relu")


@dataclass(frozen=True)
class FilmConfig:
    """The FiLM baseline: texts are summarised and modulate what is seen. The paper's cell is LSTM."""

    cell: Cell = "gru"
    document_hidden: int = 100
    goal_hidden: int = 10
    inventory_hidden: int = 10
    word_features: int = 30
    channels: tuple[int, ...] = CHANNELS
    features: int = 400
    activation: Activation = "tanh"


@dataclass(frozen=True)
class CnnConfig:
    """The CNN baseline: texts are summarised and repeated on every cell of the grid. The paper's cell is LSTM."""

    cell: Cell = "gru"
    document_hidden: int = 100
    goal_hidden: int = 100
    inventory_hidden: int = 100
    word_features: int = 30
    channels: tuple[int, ...] = CHANNELS
    features: int = 400
    activation: Activation = "tanh"


@dataclass(frozen=True)
class SilgConfig:
    """SILG's shared model (Zhong et al., 2021), wider and with one reader for all texts.

    With RTFM's texts and the 30,522 word pieces of its release it has 4,890,514 parameters, none unused.
    """

    hidden: int = 200
    """Width of a word's state in one direction."""
    word_features: int = 100
    """Width of a word's embedding."""
    channels: tuple[int, ...] = CHANNELS
    """Number of channels of each layer over the grid."""
    features: int = 400
    """Width of what the heads see."""
    activation: Activation = "tanh"
    """Activation of what the heads see: tanh or relu."""


ReadingConfig: TypeAlias = Txt2PiConfig | FilmConfig | CnnConfig | SilgConfig


def reading_network(config: ReadingConfig, sizes: Sizes) -> ReadingNetwork:
    """Build txt2π or a baseline for worlds of these sizes."""
    words = nn.Embedding(sizes.vocabulary, config.word_features, padding_idx=0)
    if isinstance(config, Txt2PiConfig):
        reader = Txt2PiReader(config.reader, words, sizes.num_agents)
        stack: Film2Stack | ConvolutionStack = film2_stack(config, reader, config.channels)
        return ReadingNetwork(sizes, words, reader, stack, config.features, config.activation)
    if isinstance(config, SilgConfig):
        silg = SilgReader(config.hidden, words)
        stack = Film2Stack(config.word_features, silg.features, silg.look_features, config.channels)
        return ReadingNetwork(sizes, words, silg, stack, config.features, config.activation)
    hidden = {DOCUMENT: config.document_hidden, GOAL: config.goal_hidden, INVENTORY: config.inventory_hidden}
    summaries = SummaryReader(hidden, config.cell, words, sizes.num_agents)
    if isinstance(config, FilmConfig):
        stack = Film2Stack(config.word_features, summaries.features, 0, config.channels, modulates_text=False)
    else:
        stack = ConvolutionStack(config.word_features, summaries.features, config.channels)
    return ReadingNetwork(sizes, words, summaries, stack, config.features, config.activation)


def film2_stack(config: Txt2PiConfig, reader: Txt2PiReader, channels: tuple[int, ...]) -> Film2Stack:
    """Layers of txt2π, as many as there are channels, on what this reader says."""
    return Film2Stack(
        config.word_features,
        reader.features,
        reader.look_features,
        channels,
        config.modulates_text,
        config.first_summary,
    )
