"""What a text encoder is to a network: sentences by number in, one vector a token out.

A world's sentences are finite, so an encoder is built around all of them and observations carry their numbers. Some
encoders learn with the policy, others are frozen; a network cannot tell them apart. This file must not know either.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class SentenceEncoder(Protocol):
    """A module that holds D sentences.

    Attributes:
        num_sentences: D.
        features: F, width of a token's vector.
        length: L, tokens of the longest sentence.
    """

    num_sentences: int
    features: int
    length: int

    def __call__(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers of U sentences [U] int -> states [U, l, F] float32 and lengths [U] int64 from 1 to l <= L.

        Whatever stands behind a sentence's length means nothing.
        """
