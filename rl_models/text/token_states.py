"""A frozen Hugging Face encoder for arbitrary texts: tokens, and their states on demand.

`ModelTokens` numbers the tokens of texts in env runners; `TokenStates` turns those numbers into states where
policies act and learn. `WordStates` does so for environments that number words: the state of a word is the mean over
its tokens. Number 0 is padding. Each text is encoded once on a machine (`encoding_cache.py`), and the last ones are
kept in memory. Nothing of it is trained or part of a checkpoint.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.text.encoding_cache import EncodingCache, Text
from rl_models.text.pretrained import PretrainedEncoder

_MEMORY_BYTES = 2**29
"""Memory for the states of the last texts."""
_TEXTS_KEPT = 2**15
"""Number of the last texts whose ids a process keeps."""
_TABLES, _SMALL_TABLE = 8, 1024
"""Number of cached tables of states, and largest size of one: names are looked up at every step."""
_SENTENCE_END = "."
_ONE_AT_A_TIME = threading.Lock()
"""Networks of one process share encodings, and IMPALA learns in a thread of its own."""


class ModelTokens:
    """Token ids of an encoder, for environments with texts."""

    def __init__(self, name: str) -> None:
        """Find the encoder; raises PretrainedError where there is none."""
        self._tokenizer = shared_encoder(name).tokenizer
        self.vocabulary = len(self._tokenizer) + 1
        self._rows: dict[tuple[str, int], NDArray[np.int32]] = {}

    def tokens(self, text: str, length: int) -> NDArray[np.int32]:
        """Ids of a text's tokens with those at both ends, [length] int32, padded with 0; an empty text has none.

        Raises ValueError where the text has more tokens.
        """
        row = self._rows.pop((text, length), None)
        if row is None:
            ids = self._tokenizer(text)["input_ids"] if text.strip() else []
            if len(ids) > length:
                raise ValueError(
                    f"a text has {len(ids)} tokens and only {length} fit: raise max_words (--max-words); it begins "
                    f"{text[:60]!r}"
                )
            row = np.zeros(length, np.int32)
            row[: len(ids)] = np.asarray(ids, np.int32) + 1
        self._rows[text, length] = row  # the last used come last
        if len(self._rows) > _TEXTS_KEPT:
            del self._rows[next(iter(self._rows))]
        return row

    def decode(self, tokens: NDArray[np.int32]) -> str:
        """The text that had these tokens, [L] int32; an empty one for tokens of none of the last texts."""
        return next((text for (text, _), row in self._rows.items() if np.array_equal(row, tokens)), "")


class _FrozenStates(nn.Module):
    """States of an environment's token numbers."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__()
        self._encodings = _shared_encodings(name, kind)
        self.features = shared_encoder(name).features
        self._tables: OrderedDict[bytes, Tensor] = OrderedDict()

    def _texts(self, row: list[int]) -> Iterable[Text]:
        """Texts, one after the other, of a row's numbers without padding."""
        raise NotImplementedError

    @torch.inference_mode(False)  # what is kept while acting is read while learning, too
    @torch.no_grad()
    def forward(self, tokens: Tensor) -> Tensor:
        """Numbers [D, L] int -> states [D, L, E] float32, 0 on padding."""
        if tokens.numel() > _SMALL_TABLE:
            return self._states(tokens)
        rows = tokens.cpu()
        key = f"{rows.dtype} {rows.shape} {tokens.device}".encode() + rows.numpy().tobytes()
        if key not in self._tables:
            self._tables[key] = self._states(tokens)
        self._tables.move_to_end(key)
        while len(self._tables) > _TABLES:
            self._tables.popitem(last=False)
        return self._tables[key]

    def _states(self, tokens: Tensor) -> Tensor:
        texts = [[*self._texts([number for number in row if number])] for row in tokens.tolist()]
        known = self._encodings.get(text for row in texts for text in row)
        states = torch.zeros(*tokens.shape, self.features)
        for place, row in enumerate(texts):
            if row:
                found = torch.cat([known[text] for text in row])
                states[place, : len(found)] = found
        return states.to(tokens.device)


class TokenStates(_FrozenStates):
    """States of an encoder's tokens, as `ModelTokens` numbers them."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "tokens")

    def _texts(self, row: list[int]) -> Iterable[Text]:
        return [tuple(number - 1 for number in row)] if row else []


class WordStates(_FrozenStates):
    """States of a world's words; each sentence is encoded by itself."""

    def __init__(self, name: str, vocabulary: Sequence[str]) -> None:
        """Find the encoder, or raise PretrainedError.

        Numbers are indices into the vocabulary, whose first word is the padding.
        """
        super().__init__(name, "words")
        self._vocabulary = tuple(vocabulary)

    def _texts(self, row: list[int]) -> Iterable[Text]:
        sentence: list[str] = []
        for number in row:
            sentence.append(self._vocabulary[number])
            if sentence[-1] == _SENTENCE_END:
                yield tuple(sentence)
                sentence = []
        if sentence:
            yield tuple(sentence)


class _Encodings:
    """In-memory cache of encodings, above the one on disk."""

    def __init__(self, cache: EncodingCache, encode: Callable[[Sequence[Any]], list[Tensor]]) -> None:
        self._cache, self._encode = cache, encode
        self._known: OrderedDict[Text, Tensor] = OrderedDict()
        self._num_bytes = 0

    def __deepcopy__(self, memo: Any) -> _Encodings:
        """Return itself, so that copies of a network share it."""
        return self

    def get(self, texts: Iterable[Text]) -> dict[Text, Tensor]:
        """The encodings of some texts."""
        with _ONE_AT_A_TIME:
            return self._get(dict.fromkeys(texts))

    def _get(self, wanted: dict[Text, None]) -> dict[Text, Tensor]:
        missing = [text for text in wanted if text not in self._known]
        if missing:
            for text, states in self._cache.get(missing, self._encode).items():
                self._known[text] = states
                self._num_bytes += states.nbytes
        for text in wanted:
            self._known.move_to_end(text)
        found = {text: self._known[text] for text in wanted}
        while self._num_bytes > _MEMORY_BYTES:
            self._num_bytes -= self._known.popitem(last=False)[1].nbytes
        return found


@functools.lru_cache(maxsize=4)
def shared_encoder(name: str) -> PretrainedEncoder:
    """The encoder of this name, one for all networks of a process."""
    return PretrainedEncoder(name)


@functools.lru_cache(maxsize=8)
def _shared_encodings(name: str, kind: str) -> _Encodings:
    """Encodings of an encoder, of its `tokens` or of `words`, one for all networks of a process."""
    encoder = shared_encoder(name)
    encode = encoder.encode_tokens if kind == "tokens" else encoder.encode_words
    return _Encodings(EncodingCache(encoder.identity), encode)
