"""Frozen text encoder: every sentence is encoded once on a machine (`encoding_cache.py`), and then looked up.

A table of encodings becomes part of a network, not the pretrained model. The table is no parameter and is not stored in
checkpoints.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from rl_models.runtime.device import longest
from rl_models.text.encoding_cache import EncodingCache
from rl_models.text.pretrained import PretrainedEncoder


class FrozenEncoder(nn.Module):
    """A table of encodings. The sentences are concatenated, so short sentences need no padding."""

    def __init__(self, encodings: Sequence[Tensor]) -> None:
        """Build the table from the encoding [L, F] float32 of every sentence."""
        super().__init__()
        lengths = torch.tensor([len(encoding) for encoding in encodings])
        self.num_sentences = len(encodings)
        self.length, self.features = int(lengths.max()), encodings[0].shape[1]
        self.states = nn.Buffer(torch.cat(list(encodings)), persistent=False)
        self.lengths = nn.Buffer(lengths, persistent=False)
        self.first = nn.Buffer(lengths.cumsum(0) - lengths, persistent=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Sentence ids [U] int -> states [U, l, F] float32 and lengths [U] int64."""
        lengths, first = self.lengths[ids.long()], self.first[ids.long()]
        position = torch.arange(longest(lengths, self.length), device=ids.device)
        rows = first[:, None] + torch.minimum(position, lengths[:, None] - 1)
        return self.states[rows], lengths


def frozen_encoder(encoder: PretrainedEncoder, sentences: Sequence[str], folder: Path | None = None) -> FrozenEncoder:
    """Build the table of these sentences: read encodings from disk, encode the other sentences and write them.

    Raises PretrainedError where the encoder cannot be loaded and not all encodings are on disk, and EncodingCacheError
    where encodings cannot be read or written.
    """
    cache = EncodingCache(encoder.identity, folder)
    found = cache.get(sentences, encoder.encode)
    return FrozenEncoder([found[sentence] for sentence in sentences])
