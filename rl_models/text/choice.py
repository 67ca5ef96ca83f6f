"""Choice of a run's text encoder: the named one, or the best one on this machine. A sentence tells the user which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt

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

    @property
    def pretrained_model(self) -> str:
        """The encoder that a run records, if it is a pretrained one."""
        return "" if (name := resolve_encoder(self.name)[0]) == WORDS else name


def resolve_encoder(name: str) -> tuple[str, str]:
    """The encoder that `name` means on this machine, found without download: its name, and a sentence for the user."""
    from rl_models.text.pretrained import PretrainedError, encoder_folder

    if name == WORDS:
        return WORDS, "Texts: built-in word vectors, learned with the policy (no download)."
    if name != AUTO:
        return name, f"Texts: {name}, frozen; each sentence is encoded once and kept on disk."
    try:
        encoder_folder(BERT, may_download=False)
    except PretrainedError:
        return WORDS, (
            f"Texts: {BERT} is not on this machine, so word vectors are learned with the policy instead; name {BERT} "
            "as the text encoder to download it, or the folder of another one."
        )
    return BERT, f"Texts: {BERT} is on this machine and used, frozen; each sentence is encoded once and kept on disk."


def text_encoder(
    config: TextEncoderConfig, sentences: Sequence[str], training_sentences: Sequence[str]
) -> SentenceEncoder:
    """Build a text encoder.

    Args:
        config: configuration of the encoder.
        sentences: D sentences, all that can be shown.
        training_sentences: sentences whose words are learned; give those of all stages of a curriculum.

    Raises:
        PretrainedError: the encoder cannot be found or used.
    """
    from rl_models.text.frozen import frozen_encoder
    from rl_models.text.pretrained import PretrainedEncoder
    from rl_models.text.words import Vocabulary, WordEncoder

    name, _ = resolve_encoder(config.name)
    if name == WORDS:
        return WordEncoder(sentences, Vocabulary.of(training_sentences), config.word_features)
    folder = Path(config.folder).expanduser() if config.folder else None
    return frozen_encoder(PretrainedEncoder(name, config.padded_to), sentences, folder)
