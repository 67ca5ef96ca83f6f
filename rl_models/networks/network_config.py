"""Configurations of networks, for an experiment's user: widths and options. Importing this file loads no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from rl_models.configuration import Unread
from rl_models.hub.catalog import absolute_model_name


@dataclass(frozen=True)
class TalkingConfig:
    """Widths of agents that exchange messages; the defaults are those of A Cordial Sync."""

    agent_features: PositiveInt = 8
    """Width of the vector that tells the agents apart."""
    hidden_size: PositiveInt = 512
    """Width of belief and LSTM."""
    message_features: PositiveInt = 16
    """Width of a message between agents."""
    communicates: bool = True
    """Whether agents receive the messages of others; otherwise each agent receives its own message instead (the paper's
    no-communication baseline)."""


@dataclass(frozen=True)
class TboneConfig(TalkingConfig):
    """Widths of TBONE; the defaults are the paper's for SYNC."""

    cell_features: PositiveInt = 8
    """Width of the embedding of a grid cell."""
    channels: tuple[PositiveInt, PositiveInt, PositiveInt, PositiveInt] = (32, 64, 128, 256)
    """Number of channels of the four convolutions; the paper's marginal policies widen the last to 288 to balance
    sizes."""


FRAME_LAYERS = ((5, 2), (5, 1), (4, 1), (3, 1), (3, 1))
"""Kernel size and padding of each layer."""


def pixels_left(num_layers: int, pixels: int) -> int:
    """Side of the image after so many layers; raises ValueError where nothing is left."""
    if not 1 <= num_layers <= len(FRAME_LAYERS):
        raise ValueError(
            f"frames go through 1 to {len(FRAME_LAYERS)} convolutions, got {num_layers}: correct the channels"
        )
    left = pixels
    for size, padding in FRAME_LAYERS[:num_layers]:
        left = (left + 2 * padding - size + 1) // 2
    if left < 1:
        raise ValueError(
            f"{num_layers} convolutions leave nothing of a frame of {pixels} x {pixels} pixels: use fewer channels or "
            "larger frames"
        )
    return left


@dataclass(frozen=True)
class VisualConfig(TalkingConfig):
    """Widths of the visual networks; the defaults are the authors' for SYNC and moving furniture."""

    channels: tuple[PositiveInt, ...] = (16, 16, 32, 64, 128)
    """Number of channels of the convolutions, at most five."""
    team_features: PositiveInt = 512
    """Width of the central network's features of all agents' frames; other networks do not use it."""


@dataclass(frozen=True)
class VectorConfig:
    """Widths of the network."""

    hidden_sizes: tuple[int, ...] = (64, 64)
    """Widths of the layers before the first communication round; the last is the width of an agent's state."""


@dataclass(frozen=True)
class GridCnnConfig:
    """Widths of the network; the defaults are those of the published self-play agents."""

    channels: tuple[int, ...] = (25, 25, 25)
    """Number of channels of each convolution."""
    first_kernel: int = 5
    """Side of the first convolution's kernel in cells, an odd number."""
    hidden_sizes: tuple[int, ...] = (64, 64, 64)
    """Widths of the dense layers."""


ReaderName = Literal["film2", "emma", "matching", "words"]
NetworkName = Literal["auto", "mlp", "cnn", "lstm", "film2", "emma", "matching", "words"]


@dataclass(frozen=True)
class TextReaderConfig:
    """Which reader, and its widths."""

    name: ReaderName = "matching"
    """Reader of texts: film2 (txt2pi's), emma, matching, or words, which keeps no order of words."""
    word_features: PositiveInt = 32
    """Width of a word's vector."""
    features: PositiveInt = 64
    """Width of the text features."""
    window: PositiveInt = 3
    """Number of words to either side of a word that are read with it (matching)."""
    sharpness: PositiveFloat = 2.0
    """Factor of the attention's scores (emma and matching)."""


@dataclass(frozen=True)
class PartsConfig:
    """Networks of an environment's teams, and their widths."""

    name: NetworkName = "auto"
    """Network by name: auto, what fits the observation; mlp, cnn, lstm, or a reader of texts, film2, emma, matching or
    words (`concord methods` lists their requirements)."""
    hidden_sizes: tuple[PositiveInt, ...] = (64, 64)
    """Widths of the dense layers after the encoder; qmix and vdn have one, of the last width."""
    channels: tuple[PositiveInt, ...] = (16, 32)
    """Number of channels of each convolution over an image."""
    image_features: PositiveInt = 64
    """Width of an encoded image."""
    reader: TextReaderConfig = field(default_factory=TextReaderConfig)
    """Reader of texts, in games that show any."""
    text_encoder: str = ""
    """Frozen encoder whose states the reader reads: a name of `concord models`, a folder or a hub id; empty: words are
    learned."""
    talk: TboneConfig = field(default_factory=lambda: TboneConfig(hidden_size=64))
    """Widths of the rounds of messages; those of grids have no effect."""

    def __post_init__(self) -> None:
        """Make the encoder's folder absolute."""
        object.__setattr__(self, "text_encoder", absolute_model_name(self.text_encoder))

    @property
    def pretrained_model(self) -> str:
        """The text encoder that a run records, if one is named."""
        return self.text_encoder

    def unread_by(self, method: str) -> Unread:
        """Widths of other networks."""
        found = dict.fromkeys(("talk.cell_features", "talk.channels"), "no network here has cells, leave it out")
        if self.name in ("mlp", "cnn", "lstm"):
            found |= dict.fromkeys(("reader", "text_encoder"), f"{self.name} reads no texts, leave it out")
        elif self.name != "auto":
            found["reader.name"] = f"give only {{group}}name {self.name}"
        if self.name == "mlp":
            found |= dict.fromkeys(("channels", "image_features"), "mlp has no convolutions, leave it out")
        reader = self.reader.name if self.name == "auto" else self.name
        if reader != "matching":
            found["reader.window"] = "choose {group}name matching, or leave it out"
        if reader not in ("matching", "emma"):
            found["reader.sharpness"] = "choose {group}name matching or emma, or leave it out"
        return found


@dataclass(frozen=True)
class EmmaConfig:
    """Widths and options of the network. The defaults are the paper's where it gives them."""

    features: PositiveInt = 256
    """Width d of keys, values and symbols."""
    channels: PositiveInt = 64
    """Number of output channels of the convolution, whose kernel is 2 x 2."""
    hidden_size: PositiveInt = 128
    """Width of both hidden layers of policy and value."""
    averages_sentences: bool = False
    """Whether the text features are divided by the number of sentences, as in the released code; activations then
    differ in scale between stages."""
    shares_hidden: bool = False
    """Whether policy and value share the second hidden layer, as in the released code."""


RELEASED = EmmaConfig(averages_sentences=True, shares_hidden=True)
"""EMMA of the release; with 768 wide tokens and its 25 symbols it has 1,942,984 parameters."""


Reads = Literal["pairs", "vector"]
"""Features of nodes from a document: of pairs, or, in an ablation, the words around their mentions as vectors."""


@dataclass(frozen=True)
class MatchingOptions:
    """Options of the mention-matching reader for an experiment's user."""

    word_features: PositiveInt = 32
    """Width of a word's vector."""
    node_features: PositiveInt = 32
    """Width of a node's state; a node is a thing that is shown, or the goal."""
    features: PositiveInt = 128
    """Width of the two output layers, which the heads see."""
    window: PositiveInt = 4
    """Number of words to either side of a mention that are compared with the other nodes."""
    sharpness: PositiveFloat = 4.0
    """Sharpness of the attention to mentions at the start, above 0; it is learned."""
    sees_names: bool = False
    """Whether nodes hold the vectors of their names, which are untrained for names that training never showed."""
    unit_words: bool = True
    """Whether vectors of words have length 1, so that a word that training never showed matches itself as well as a
    known one does."""
    learns_words: bool = True
    """Whether the vectors of words are learned; if not, they stay random."""
    has_two_tables: bool = False
    """Whether documents have their own table of word vectors, an ablation: names are then not comparable with words."""
    reads: Reads = "pairs"
    """Features that nodes get from the document: pairs, comparisons of the words around one node's mention with the
    other node; or vector, the words around the own mention, an ablation without these comparisons."""


Activation = Literal["tanh", "relu"]


FirstSummary = Literal["linear_of_max", "max_of_linear"]


def check_channels(channels: tuple[int, ...]) -> None:
    """Check the channels of a stack; raises ValueError."""
    if not channels:
        raise ValueError("a stack needs at least one layer: give the channels of each layer")
    if len(channels) > 2 and channels[-2] != channels[-3]:
        raise ValueError(
            f"the last layer takes the sum of the two before it: give these two equal channels, not {channels}"
        )


CHANNELS = (16, 32, 64, 64, 64)


@dataclass(frozen=True)
class SilgConfig:
    """Configuration of SILG's shared model (Zhong et al., 2021), which is wider and has one encoder for all texts.

    With RTFM's texts and the 30,522 word pieces of the released code it has 4,890,514 parameters, all of them used.
    """

    hidden_size: PositiveInt = 200
    """Width of a word's state in one direction."""
    word_features: PositiveInt = 100
    """Width of a word's embedding."""
    channels: tuple[PositiveInt, ...] = CHANNELS
    """Number of channels of each layer over the grid."""
    features: PositiveInt = 400
    """Width of the features that the heads receive."""
    activation: Activation = "tanh"
    """Activation function of the features that the heads receive: tanh or relu."""


@dataclass(frozen=True)
class CommandedUnitsConfig:
    """Widths of the network; the defaults are the released ones."""

    channels: PositiveInt = 256
    """Number of channels of the convolutions over the map."""
    unit_features: PositiveInt = 256
    """Width of a commanded unit's features."""
    other_features: PositiveInt = 128
    """Width of the features of all other units, of cells and of what can be spent."""
    embedding: PositiveInt = 32
    """Width of the vectors of kinds, health and of each part of a present command."""
    history_features: PositiveInt = 64
    """Width of the LSTM over a unit's last commands."""
    word_features: PositiveInt = 64
    """Width of the embedding of a word."""
    sentence_features: PositiveInt = 128
    """Width of the LSTM over an instruction's words."""
    slot_features: PositiveInt = 16
    """Width of the vectors of an instruction's position and age."""
    hidden_size: PositiveInt = 128
    """Width of the hidden layers of the heads."""

    def quarter(self) -> CommandedUnitsConfig:
        """About a quarter as wide, for a laptop."""
        return CommandedUnitsConfig(64, 64, 32, 8, 16, 32, 64, 16, 32)


@dataclass(frozen=True)
class SamaNetworkConfig:
    """Widths of the network; the paper gives those of EMMA, but not those of the grid."""

    features: PositiveInt = 32
    """Width d of symbols, keys and values."""
    channels: tuple[PositiveInt, ...] = (32, 32)
    """Number of channels of each convolution; all kernels are 3 x 3, and the last one has no padding."""
    hidden_size: PositiveInt = 64
    """Width of both hidden layers of policy and value."""
