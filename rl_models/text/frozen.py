"""A frozen text encoder: every sentence is encoded once in its life, kept on disk, and looked up from then on.

Not the pretrained model but a table of its encodings becomes part of a network; the table is no weight and never part
of a checkpoint. This file must not know what the sentences are for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.progress import track
from torch import Tensor, nn

from rl_models.text.encoding_cache import FOLDER_VARIABLE, EncodingCache
from rl_models.text.pretrained import PretrainedEncoder

_SENTENCES_AT_ONCE = 32


class FrozenEncoder(nn.Module):
    """A table of encodings. Sentences lie end to end, so short ones take no room for the longest.

    Attributes:
        num_sentences, features, length: as `SentenceEncoder` has them.
    """

    def __init__(self, encodings: Sequence[Tensor]) -> None:
        """Lay them out.

        Args:
            encodings: [L, F] float32 of every sentence.
        """
        super().__init__()
        lengths = torch.tensor([len(encoding) for encoding in encodings])
        self.num_sentences = len(encodings)
        self.length, self.features = int(lengths.max()), encodings[0].shape[1]
        self.states: Tensor
        self.lengths: Tensor
        self.first: Tensor
        self.register_buffer("states", torch.cat(list(encodings)), persistent=False)
        self.register_buffer("lengths", lengths, persistent=False)
        self.register_buffer("first", lengths.cumsum(0) - lengths, persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers [U] -> states [U, l, F] and lengths [U]."""
        lengths, first = self.lengths[ids.long()], self.first[ids.long()]
        place = torch.arange(int(lengths.max()), device=ids.device)
        rows = first[:, None] + torch.minimum(place, lengths[:, None] - 1)
        return self.states[rows], lengths


def frozen_encoder(encoder: PretrainedEncoder, sentences: Sequence[str], folder: Path | None = None) -> FrozenEncoder:
    """The table of these sentences; what is on disk is read, the rest is encoded and written.

    Args:
        encoder: whose encodings.
        sentences: D of them.
        folder: of all encodings; by default the one that `CONCORD_ENCODINGS` names, or one in the user's cache.

    Raises:
        PretrainedError: the encoder cannot be loaded, and not all sentences are on disk.
        EncodingCacheError: a file of encodings is damaged or cannot be written.
    """
    cache = EncodingCache((folder or default_folder()) / encoder.identity)
    found = cache.find(dict.fromkeys(sentences))
    new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in found]
    batches = [new[first : first + _SENTENCES_AT_ONCE] for first in range(0, len(new), _SENTENCES_AT_ONCE)]
    title = f"encoding {len(new)} sentences with {encoder.name}"
    for batch in track(batches, title, disable=not batches):
        encoded = dict(zip(batch, encoder.encode(batch), strict=True))
        cache.add(encoded)
        found |= encoded
    return FrozenEncoder([found[sentence] for sentence in sentences])


def default_folder() -> Path:
    """Where encodings are kept unless somebody says otherwise."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "concord" / "encodings"
