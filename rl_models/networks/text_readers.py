"""Readers by name for texts of any game: `film2`, `emma`, `matching`, and `words`, which keeps no order of words.

A reader turns the texts that an agent sees, and a vector of everything else that it sees (the query), into features.
A text is one or more sentences; observations hold their rows as `texts.py` describes. The words' vectors come from a
table that is learned, or from a given frozen encoder (EMMA reads with BERT).

* `film2` (RTFM, section 4.1): a BiLSTM over all words, attention over its states, then FiLM² between text and query.
* `emma` (Hanjie et al., 2021, section 4): a key and a value of each sentence; the query attends over the keys.
* `matching`: the query attends over single words and reads the words around them (`matching.py`, simplified).
* `words`: the mean of all words' vectors beside the query, a baseline for readers.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from rl_models.layers.sentences import SentenceReader
from rl_models.layers.words import Bidirectional, SelfAttention
from rl_models.networks.film2_stack import Film2
from rl_models.networks.network_config import TextReaderConfig
from rl_models.runtime.device import longest
from rl_models.runtime.texts import Encoded, encode_texts, text_lengths


class WordTable(nn.Module):
    """One learned vector a word; that of padding is 0 and stays so."""

    def __init__(self, vocabulary: int, features: int) -> None:
        super().__init__()
        self.features = features
        self.table = nn.Embedding(vocabulary, features, padding_idx=0)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [D, L] int -> vectors [D, L, E] float32."""
        vectors: Tensor = self.table(tokens.long())
        return vectors


class TextReader(nn.Module):
    """Texts and a query -> features."""

    def __init__(self, config: TextReaderConfig, texts: Mapping[str, int], words: nn.Module, query: int) -> None:
        """Build the reader; `words` turns tokens [D, L] into states [D, L, E], and `query` is a width.

        `texts` are observation keys with the number S of their sentences; shorter texts have empty ones.
        """
        super().__init__()
        if config.name == "emma" and sum(texts.values()) == 1:
            raise ValueError(
                "the reader emma attends over sentences, and the text is one row of words: raise --max-sentences, or "
                "choose another --network.reader.name"
            )
        self.texts, self.words, self.features = dict(texts), words, config.features
        width = int(getattr(words, "features"))  # noqa: B009 (an attribute that modules do not declare)
        self.reader: _Reader = _READERS[config.name](config, width, query)

    def forward(self, obs: dict[str, Tensor], query: Tensor) -> Tensor:
        """Features of the texts for each query [B, T, N, Q] or [B, T, N, X, Q]: the same shape with F float32.

        Texts are rows [B, T, N] or [B, T, N, S] of `texts/KEY` [D, L].
        """
        frames = math.prod(query.shape[:3])
        parts = [self._sentences(obs, key, number, frames) for key, number in self.texts.items()]
        most = max(part["states"].shape[2] for part in parts) if "states" in parts[0] else 0
        sentences = {name: torch.cat([_padded(part[name], name, most) for part in parts], 1) for name in parts[0]}
        read: Tensor = self.reader(sentences, query.reshape(frames, -1, query.shape[-1]))
        return read.reshape(*query.shape[:-1], -1)

    def _sentences(self, obs: dict[str, Tensor], text: str, number: int, frames: int) -> Encoded:
        """Encodings of the K frames' sentences, name -> [K, S, ...]; each distinct sentence is encoded once."""

        def encode(key: str, tokens: Tensor) -> Encoded:
            width = longest(text_lengths(tokens), tokens.shape[1])
            return self.reader.encode(self.words(tokens[:, :width]), (tokens != 0).sum(-1))

        shown = obs[text]
        if shown.ndim == 5:  # tokens of several sentences, as in a replay
            obs = obs | {text: shown.flatten(2, 3)}
        found = encode_texts(obs, text, encode)
        return {name: found.of_frames(name).unflatten(0, (frames, number)) for name in found.encoded}


def _padded(values: Tensor, name: str, length: int) -> Tensor:
    return nn.functional.pad(values, (0, 0, 0, length - values.shape[2])) if name == "states" else values


class _Reader(nn.Module):
    """Reads the sentences of K frames: their words' states [K, S, L, E] and lengths [K, S], 0 for an empty one."""

    def encode(self, states: Tensor, lengths: Tensor) -> Encoded:
        """Encodings of D sentences, from states [D, L, E] and lengths [D]: name -> [D, ...]."""
        return {"states": states, "lengths": lengths}

    def forward(self, sentences: Encoded, query: Tensor) -> Tensor:
        """Encodings of sentences, name -> [K, S, ...], and query [K, X, Q] -> [K, X, F]."""
        raise NotImplementedError


class _Film2(_Reader):
    """All sentences as one text, and FiLM² on a grid of one cell."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.states = Bidirectional("lstm", words, config.features // 2)
        self.summary = SelfAttention(self.states.features)
        self.film = Film2(query, self.states.features, config.features, kernel_size=1)

    def forward(self, sentences: Encoded, query: Tensor) -> Tensor:
        words, length = _joined(sentences["states"], sentences["lengths"])
        summary = self.summary(self.states(words, length), length)
        read: Tensor = self.film(query[:, None], summary)[0]
        return read.squeeze(1)


class _Emma(_Reader):
    """A key and a value of each sentence; the query attends."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.sentences, self.query = SentenceReader(words, config.features), nn.Linear(query, config.features)
        self.scale = config.sharpness / math.sqrt(config.features)

    def encode(self, states: Tensor, lengths: Tensor) -> Encoded:
        read = self.sentences(states, lengths.clamp(min=1))
        return {"keys": read.keys, "values": read.values, "lengths": lengths}

    def forward(self, sentences: Encoded, query: Tensor) -> Tensor:
        scores = self.scale * (self.query(query) @ sentences["keys"].mT)
        weights = scores.masked_fill(sentences["lengths"][:, None] == 0, -1e9).softmax(-1)
        return weights @ sentences["values"]


class _Matching(_Reader):
    """The query attends over words and reads the words around them."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.query, self.output = nn.Linear(query, words), nn.Linear(words, config.features)
        self.window, self.scale = config.window, config.sharpness

    def encode(self, states: Tensor, lengths: Tensor) -> Encoded:
        size = 2 * self.window + 1
        around = nn.functional.avg_pool1d(states.mT, size, 1, self.window, count_include_pad=True).mT * size
        return {"states": torch.cat([states, around], -1), "lengths": lengths}

    def forward(self, sentences: Encoded, query: Tensor) -> Tensor:
        words, around = sentences["states"].flatten(1, 2).chunk(2, -1)
        is_word = _is_word(sentences["states"], sentences["lengths"]).flatten(1)
        scores = self.scale * (self.query(query) @ words.mT)
        # A frame without any word attends to all places alike, and reads zeros.
        weights = scores.masked_fill(~is_word[:, None], -1e9).softmax(-1)
        return torch.relu(self.output(weights @ around))


class _Words(_Reader):
    """The mean of the words."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.output = nn.Linear(words, config.features)

    def forward(self, sentences: Encoded, query: Tensor) -> Tensor:
        states, lengths = sentences["states"], sentences["lengths"]
        total = (states * _is_word(states, lengths)[..., None]).sum((1, 2))
        read = torch.relu(self.output(total / lengths.sum(1, keepdim=True).clamp(min=1)))
        return read[:, None].expand(-1, query.shape[1], -1)


_READERS = {"film2": _Film2, "emma": _Emma, "matching": _Matching, "words": _Words}


def _is_word(states: Tensor, lengths: Tensor) -> Tensor:
    """Places of the words of sentences, [K, S, L] bool, from states [K, S, L, E] and lengths [K, S]."""
    return torch.arange(states.shape[2], device=lengths.device) < lengths[..., None]


def _joined(states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """All words of a frame's sentences one after the other: states [K, L, E] and lengths [K], at least 1."""
    order = (~_is_word(states, lengths).flatten(1)).to(torch.uint8).argsort(dim=1, stable=True)
    total = lengths.sum(1).clamp(min=1)
    kept = order[:, : longest(total, order.shape[1])]
    words = states.flatten(1, 2)
    return words.gather(1, kept[..., None].expand(-1, -1, words.shape[-1])), total
