"""Readers by name for texts of any game: `film2`, `emma`, `matching`, and `words`, which keeps no order of words.

A reader turns the texts that an agent sees, and a vector of everything else that it sees (the query), into features.
A text is one or more sentences; observations hold their rows as `texts.py` describes. The words' vectors come from a
table that is learned, or from a frozen encoder that is handed in (EMMA reads with BERT).

* `film2` (RTFM, section 4.1): a BiLSTM over all words, attention over its states, then FiLM² between text and query.
* `emma` (Hanjie et al., 2021, section 4): a key and a value of each sentence; the query attends over the keys.
* `matching`: the query attends over single words, and what is read stands around them (`matching.py`, in short).
* `words`: the mean of all words' vectors beside the query; what a reader must beat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.layers.attention import SelfAttention, SentenceReader, padding_scores
from rl_models.layers.bidirectional import Bidirectional
from rl_models.networks.film2_stack import Film2
from rl_models.networks.network_config import TextReaderConfig
from rl_models.runtime.device import longest
from rl_models.runtime.texts import encode_texts, text_lengths


@dataclass(frozen=True)
class TextPart:
    """One text of an agent's observation.

    Attributes:
        key: observation key.
        sentences: S, number of its sentences; shorter texts have empty ones.
    """

    key: str
    sentences: int = 1


class WordTable(nn.Module):
    """One learned vector a word; that of padding is 0 and stays so.

    Attributes:
        features: E, width of a vector.
    """

    def __init__(self, vocabulary: int, features: int) -> None:
        super().__init__()
        self.features = features
        self.table = nn.Embedding(vocabulary, features, padding_idx=0)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [D, L] int -> vectors [D, L, E] float32."""
        vectors: Tensor = self.table(tokens.long())
        return vectors


class TextReader(nn.Module):
    """Texts and a query -> features.

    Attributes:
        features: F, width of the features.
    """

    def __init__(self, config: TextReaderConfig, texts: Sequence[TextPart], words: nn.Module, query: int) -> None:
        """Build the reader.

        Args:
            config: which one, and its widths.
            texts: texts that an agent reads.
            words: tokens [D, L] -> states [D, L, E], with an attribute `features`.
            query: width of the query.
        """
        super().__init__()
        if config.name == "emma" and sum(text.sentences for text in texts) == 1:
            raise ValueError(
                "the reader emma attends over sentences, and the text is one row of words: raise --max-sentences, or "
                "choose another --network.reader.name"
            )
        self.texts, self.words, self.features = tuple(texts), words, config.features
        width = int(getattr(words, "features"))  # noqa: B009 (an attribute that modules do not declare)
        self.reader = _READERS[config.name](config, width, query)

    def forward(self, obs: dict[str, Tensor], query: Tensor) -> Tensor:
        """Features of the texts for each agent's query, [B, T, N, F] float32.

        Args:
            obs: the texts' rows [B, T, N] or [B, T, N, S], and `texts/KEY` [D, L].
            query: [B, T, N, Q] float32.
        """
        frames = math.prod(query.shape[:3])
        parts = [self._sentences(obs, text, frames) for text in self.texts]
        most = max(states.shape[2] for states, _ in parts)
        states = torch.cat([nn.functional.pad(one, (0, 0, 0, most - one.shape[2])) for one, _ in parts], 1)
        lengths = torch.cat([lengths for _, lengths in parts], 1)
        read: Tensor = self.reader(states, lengths, query.flatten(0, 2))
        return read.unflatten(0, query.shape[:3])

    def _sentences(self, obs: dict[str, Tensor], text: TextPart, frames: int) -> tuple[Tensor, Tensor]:
        """States [K, S, L, E] of the K frames' sentences, and their lengths [K, S]; an empty one has length 0."""

        def encode(key: str, tokens: Tensor) -> dict[str, Tensor]:
            width = longest(text_lengths(tokens), tokens.shape[1])
            return {"states": self.words(tokens[:, :width]), "lengths": (tokens != 0).sum(-1)}

        shown = obs[text.key]
        if shown.ndim == 5:  # tokens of several sentences, as in a replay
            obs = obs | {text.key: shown.flatten(2, 3)}
        found = encode_texts(obs, text.key, encode)
        shape = (frames, text.sentences)
        return found.of_frames("states").unflatten(0, shape), found.of_frames("lengths").unflatten(0, shape)


class _Film2(nn.Module):
    """All sentences as one text, and FiLM² on a grid of one cell."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.states = Bidirectional("lstm", words, config.features // 2)
        self.summary = SelfAttention(self.states.features)
        self.film = Film2(query, self.states.features, config.features, kernel_size=1)

    def forward(self, states: Tensor, lengths: Tensor, query: Tensor) -> Tensor:
        """States [K, S, L, E], lengths [K, S] and query [K, Q] -> [K, F]."""
        words, length = _joined(states, lengths)
        summary = self.summary(self.states(words, length), length)
        _, read = self.film(query[:, None, None], summary)
        return read


class _Emma(nn.Module):
    """A key and a value of each sentence; the query attends."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.sentences, self.query = SentenceReader(words, config.features), nn.Linear(query, config.features)
        self.scale = config.sharpness / math.sqrt(config.features)

    def forward(self, states: Tensor, lengths: Tensor, query: Tensor) -> Tensor:
        """States [K, S, L, E], lengths [K, S] and query [K, Q] -> [K, F]."""
        shape = lengths.shape
        read = self.sentences(states.flatten(0, 1), lengths.flatten().clamp(min=1))
        keys, values = (one.unflatten(0, shape) for one in (read.keys, read.values))
        scores = self.scale * (keys @ self.query(query)[..., None]).squeeze(-1)
        weights = scores.masked_fill(lengths == 0, -1e9).softmax(-1)
        return (weights[..., None] * values).sum(1)


class _Matching(nn.Module):
    """The query attends over words; what stands around them is read."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.query, self.output = nn.Linear(query, words), nn.Linear(words, config.features)
        self.window, self.scale = config.window, config.sharpness

    def forward(self, states: Tensor, lengths: Tensor, query: Tensor) -> Tensor:
        """States [K, S, L, E], lengths [K, S] and query [K, Q] -> [K, F]."""
        frames, sentences = lengths.shape
        each = states.flatten(0, 1)
        padding = padding_scores(each, lengths.flatten()).unflatten(0, (frames, sentences)).squeeze(2)
        padding = padding.clamp(min=-1e9)  # a frame without any word attends to all places alike, and reads zeros
        scores = self.scale * (states @ self.query(query)[:, None, :, None]).squeeze(-1) + padding
        weights = scores.flatten(1).softmax(-1)
        size = 2 * self.window + 1
        around = nn.functional.avg_pool1d(each.mT, size, 1, self.window, count_include_pad=True).mT * size
        read = (weights[..., None] * around.unflatten(0, (frames, sentences)).flatten(1, 2)).sum(1)
        return torch.relu(self.output(read))


class _Words(nn.Module):
    """The mean of the words."""

    def __init__(self, config: TextReaderConfig, words: int, query: int) -> None:
        super().__init__()
        self.output = nn.Linear(words, config.features)

    def forward(self, states: Tensor, lengths: Tensor, query: Tensor) -> Tensor:
        """States [K, S, L, E], lengths [K, S] and query [K, Q], not used -> [K, F]."""
        is_word = torch.arange(states.shape[2], device=lengths.device) < lengths[..., None]
        total = (states * is_word[..., None]).sum((1, 2))
        return torch.relu(self.output(total / lengths.sum(1, keepdim=True).clamp(min=1)))


_READERS = {"film2": _Film2, "emma": _Emma, "matching": _Matching, "words": _Words}


def _joined(states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """All words of a frame's sentences one after the other: states [K, L, E] and lengths [K], at least 1."""
    is_word = torch.arange(states.shape[2], device=lengths.device) < lengths[..., None]
    order = (~is_word.flatten(1)).to(torch.uint8).argsort(dim=1, stable=True)
    total = lengths.sum(1).clamp(min=1)
    kept = order[:, : longest(total, order.shape[1])]
    words = states.flatten(1, 2)
    return words.gather(1, kept[..., None].expand(-1, -1, words.shape[-1])), total
