"""Configurations of txt2π (RTFM, section 4), its ablations, the baselines of RTFM's appendix C, and SILG's model.

The defaults are those of the released code; `PAPER` follows the paper where the two differ. The equations are in
`film2_stack.py` (1-8, 17-19), `layers/words.py` (10-16), `readers.py` (9-16, 18), `reading.py`
(20) and `heads/mixture_heads.py` (21-22). With 262 words and its heads txt2π has 912,872 parameters, FiLM 342,077 and
CNN 466,517; all of them are used.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from rl_models.layers.words import Cell
from rl_models.networks.film2_stack import ConvolutionStack, Film2Stack, GridStack
from rl_models.networks.network_config import CHANNELS, Activation, FirstSummary, SilgConfig
from rl_models.networks.readers import (
    DOCUMENT,
    GOAL,
    INVENTORY,
    PAPER_READER,
    DocumentReader,
    ReaderConfig,
    SilgReader,
    SummaryReader,
    Txt2PiReader,
)
from rl_models.networks.reading import ReadingNetwork, ReadingSizes


@dataclass(frozen=True)
class Txt2PiConfig:
    """Configuration of txt2π. For rock-paper-scissors the paper has word_features 10 and features 300."""

    reader: ReaderConfig = field(default_factory=ReaderConfig)
    """Reader of the texts."""
    word_features: int = 30
    """Width of a word's vector."""
    channels: tuple[int, ...] = CHANNELS
    """Channels of each FiLM² layer."""
    modulates_text: bool = True
    """False is the ablation no_text_mod: the visual features do not modulate the text."""
    first_summary: FirstSummary = "linear_of_max"
    """Summary s_0 of the grid before the first layer; the paper has `max_of_linear`."""
    features: int = 400
    """Width of the output layer; 0 for no output layer, as in EnDi."""
    activation: Activation = "tanh"
    """Activation after the output layer; the paper has `relu` (eq. 20)."""
    contrasts: bool = False
    """Whether the extras hold, while learning, what `losses/mention_contrast.py` needs. It is ours, of no paper."""

    def build_stack(self, reader: Txt2PiReader, channels: tuple[int, ...]) -> Film2Stack:
        """Build FiLM² layers with these channels, for the text features of this reader."""
        return Film2Stack(
            self.word_features,
            reader.features,
            reader.context_features,
            channels,
            self.modulates_text,
            self.first_summary,
            reader.shared_features,
        )


PAPER = Txt2PiConfig(PAPER_READER, first_summary="max_of_linear", activation="relu")


@dataclass(frozen=True)
class FilmConfig:
    """Configuration of the FiLM baseline: summaries of the three texts modulate the visual features."""

    cell: Cell = "gru"
    """Recurrent cell of the readers; the paper's is LSTM."""
    document_hidden_size: int = 100
    """Width of the document's summary in one direction."""
    goal_hidden_size: int = 10
    """Width of the goal's summary in one direction."""
    inventory_hidden_size: int = 10
    """Width of the inventory's summary in one direction."""
    word_features: int = 30
    """Width of a word's vector."""
    channels: tuple[int, ...] = CHANNELS
    """Channels of each layer over the grid."""
    features: int = 400
    """Width of the output layer."""
    activation: Activation = "tanh"
    """Activation after the output layer."""

    def build_stack(self, text_features: int) -> GridStack:
        """Build FiLM layers, for texts of this width."""
        return Film2Stack(self.word_features, text_features, 0, self.channels, modulates_text=False)


@dataclass(frozen=True)
class CnnConfig(FilmConfig):
    """Configuration of the CNN baseline: text summaries are appended to every cell."""

    goal_hidden_size: int = 100
    """Width of the goal's summary in one direction."""
    inventory_hidden_size: int = 100
    """Width of the inventory's summary in one direction."""

    def build_stack(self, text_features: int) -> GridStack:
        """Build convolutions, for texts of this width."""
        return ConvolutionStack(self.word_features, text_features, self.channels)


ReadingConfig: TypeAlias = Txt2PiConfig | FilmConfig | CnnConfig | SilgConfig


def reading_network(config: ReadingConfig, sizes: ReadingSizes) -> ReadingNetwork:
    """Build txt2π or a baseline for worlds of these sizes."""
    words = sizes.make_words(config.word_features)
    reader: DocumentReader
    stack: GridStack
    if isinstance(config, Txt2PiConfig):
        reader = Txt2PiReader(config.reader, words, sizes.num_agents)
        stack = config.build_stack(reader, config.channels)
    elif isinstance(config, FilmConfig):
        widths = config.document_hidden_size, config.goal_hidden_size, config.inventory_hidden_size
        hidden_sizes = dict(zip((DOCUMENT, GOAL, INVENTORY), widths, strict=True))
        reader = SummaryReader(hidden_sizes, config.cell, words, sizes.num_agents)
        stack = config.build_stack(reader.features)
    else:
        reader = SilgReader(config.hidden_size, words)
        stack = Film2Stack(config.word_features, reader.features, reader.context_features, config.channels)
    contrasts = isinstance(config, Txt2PiConfig) and config.contrasts
    return ReadingNetwork(sizes, words, reader, stack, config.features, config.activation, contrasts)
