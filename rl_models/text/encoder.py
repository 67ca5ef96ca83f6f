"""Protocol of a text encoder: it turns sentence ids into one vector per token.

The sentences of a world are finite, so an encoder stores all of them, and observations hold their numbers. Some
encoders learn with the policy, others are frozen; a network uses both in the same way.
"""

from typing import Protocol

from torch import Tensor


class SentenceEncoder(Protocol):
    """A module that stores and encodes D sentences.

    Attributes:
        num_sentences: D.
        features: F, width of a token's vector.
        length: L, number of tokens of the longest sentence.
    """

    num_sentences: int
    features: int
    length: int

    def __call__(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers of U sentences [U] int -> states [U, l, F] float32 and lengths [U] int64, from 1 to l <= L.

        States after the end of a sentence have no meaning.
        """
