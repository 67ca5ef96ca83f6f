"""Choice of a run's text encoder: the named one, or the best one on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt

from rl_models.configuration import Unread
from rl_models.hub.catalog import absolute_model_name

if TYPE_CHECKING:
    from rl_models.text.encoder import SentenceEncoder

WORDS, AUTO, BERT = "words", "auto", "bert-base-uncased"


@dataclass(frozen=True)
class TextEncoderConfig:
    """Configuration of the text encoder."""

    name: str = WORDS
    """Encoder of sentences: `words`, learned word vectors; a name of `concord models`, a folder or a hub id, a frozen
    encoder; `auto`, BERT if it is on this machine, else `words`."""
    word_features: PositiveInt = 64
    """Width of a learned word vector."""
    padded_to: NonNegativeInt = 0
    """Number of tokens to which a frozen encoder pads every sentence; it reads the padding like words, as in EMMA's
    released code (36 tokens). 0: no padding."""
    folder: str = ""
    """Folder of frozen encodings; by default the one that CONCORD_ENCODINGS names, or one in the user's cache."""

    def __post_init__(self) -> None:
        """Make folders absolute: a run is continued and evaluated from other folders, shells and machines, too."""
        name = self.name if self.name in (WORDS, AUTO) else absolute_model_name(self.name)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "folder", os.path.abspath(os.path.expanduser(self.folder)) if self.folder else "")

    def unread_by(self, method: str) -> Unread:
        """Settings of other encoders."""
        if self.name == WORDS:
            return dict.fromkeys(("padded_to", "folder"), "choose a frozen encoder with {group}name, or leave it out")
        return {} if self.name == AUTO else {"word_features": "choose {group}name words, or leave it out"}

    @property
    def pretrained_model(self) -> str:
        """The encoder that a run records, if it is a pretrained one."""
        return "" if (name := resolve_encoder(self.name)) == WORDS else name


def resolve_encoder(name: str) -> str:
    """The encoder that `name` means on this machine, found without download: `words`, or a pretrained one."""
    from rl_models.text.pretrained import PretrainedError, encoder_folder

    if name != AUTO:
        return name
    try:
        encoder_folder(BERT, may_download=False)
    except PretrainedError:
        return WORDS
    return BERT


def text_encoder(
    config: TextEncoderConfig, sentences: Sequence[str], training_sentences: Sequence[str]
) -> SentenceEncoder:
    """Build a text encoder of D sentences, all that can be shown.

    Words of the training sentences are learned; give those of all stages of a curriculum. Raises PretrainedError where
    the encoder cannot be found or used.
    """
    from rl_models.text.frozen import frozen_encoder
    from rl_models.text.pretrained import PretrainedEncoder
    from rl_models.text.words import Vocabulary, WordEncoder

    name = resolve_encoder(config.name)
    if name == WORDS:
        return WordEncoder(sentences, Vocabulary.of(training_sentences), config.word_features)
    folder = Path(config.folder) if config.folder else None
    return frozen_encoder(PretrainedEncoder(name, config.padded_to), sentences, folder)
