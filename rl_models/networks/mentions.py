"""Features of pairs of things from a document: is one of them mentioned beside the other? Part of `matching.py`.

1. Words. One table holds a vector of length 1 of every word, for names and documents alike. Different words begin
   nearly orthogonal, and a word with itself always gives 1. So a word that training never showed matches itself as well
   as a known one does. The vector of a name or goal n is the sum of its words:

       e_n = sum over its words w of E[w]                                                                (1)

2. Mentions. The match of a thing with every word j of the document; where the thing is mentioned; and how much of that
   is in each sentence s:

       M[n, j] = e_n . E[j]                                                                              (2)
       a[n, j] = softmax over j of beta M[n, j],   a[n, s] = sum over j in s of a[n, j]                  (3)

3. Pairs. Is m mentioned o words after n, and in the same sentence as n? Both comparisons are of words with words, with
   no learned projection in between, so they hold for documents that were never seen:

       r_o(n, m) = sum over j of a[n, j] M[m, j + o],   o = -R .. R                                      (4)
       s(n, m)   = sum over s of a[n, s] (sum over j in s of M[m, j])                                    (5)
       f(n, m)   = [r(n, m), r(m, n), e_n . e_m, (s(n, m) + s(m, n)) / 2]                                (6)

Things are compared group by group, as products of matrices. A group is a document with all things that occur with it
in however many frames, or a frame, whichever gives fewer pairs.

Three ablations. With `unit_words=False` vectors of words keep the length that training gives them. Two take one
comparison out: with a table of its own for documents, (2) compares vectors that no training has made equal, and
`reads="vector"` leaves only e_n . e_m of (6); nodes get the words around their mention as vectors instead:

       c_o(n) = sum over j of a[n, j] E[j + o],   o = -R .. R                                            (7)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rl_models.networks.network_config import MatchingOptions
from rl_models.runtime.texts import Encoded, EncodedTexts

SCORES, DOCUMENTS = "matching/scores", "matching/document"
"""Extras: [B, T, N, U] float32, how well the things of a frame fit each of U documents; [B, T, N] int64, which of them
is the frame's own, U for none."""
MAX_CONTRASTED = 64
"""Number of documents of a minibatch that are contrasted, at most."""
_NEVER = -1e9
"""Score of padding. Its weight is 0 in every precision; it is finite, so an empty document gives no NaN."""


@dataclass(frozen=True)
class PairFeatures:
    """Features of all pairs of things that occur in K frames.

    Attributes:
        features: [U, F] float32, f of every pair of things of a group.
        of_frames: [K, X, X] int64, row in `features` of each pair (n, m) of a frame's X things.
        attention: [P, L] float32, where each thing of a group is mentioned.
        attention_of_frames: [K, X] int64, row in `attention` of each thing of a frame.
        around: [P, (2 R + 1) F] float32, words around the mention of each thing; None if pairs are read.
    """

    features: Tensor
    of_frames: Tensor
    attention: Tensor
    attention_of_frames: Tensor
    around: Tensor | None = None


@dataclass(frozen=True)
class Groups:
    """G groups of S things each, of one document each.

    Attributes:
        things: [G, S] int64, things of each group; after the last of them some thing, which no frame points at.
        documents: [G] int64, the group's document.
        of_frames: [K, X] int64, which of the G S things each thing of a frame is.
    """

    things: Tensor
    documents: Tensor
    of_frames: Tensor

    @classmethod
    def of(cls, rows: Tensor, shown: Tensor, num_things: int) -> Groups:
        """Group the things [K, X] of K frames with documents [K], of `num_things` things."""
        if shown.device.type == "cpu":  # on an accelerator the number of groups would be read back
            keys, of_frames = (rows[:, None] * num_things + shown).unique(return_inverse=True)  # type: ignore[no-untyped-call]
            documents, group = keys.div(num_things, rounding_mode="floor").unique_consecutive(return_inverse=True)
            count = group.bincount()
            size = int(count.max())
            if len(documents) * size**2 <= shown.numel() * shown.shape[1]:
                place = group * size + torch.arange(len(keys)) - (count.cumsum(0) - count)[group]
                things = keys.new_zeros(len(documents) * size).index_put((place,), keys % num_things)
                return cls(things.view(-1, size), documents, place[of_frames])
        return cls(shown, rows, torch.arange(shown.numel(), device=shown.device).view_as(shown))


class Mentions(nn.Module):
    """Compares things with the words of documents, and pairs of things through what stands beside their mentions.

    Attributes:
        word_features: width of a word's vector.
        num_features: F, numbers of a pair.
        num_around: width of the words around a mention, 0 if pairs are read.
    """

    def __init__(self, options: MatchingOptions, vocabulary: int) -> None:
        """Draw the words of a vocabulary, of which word 0 is the padding."""
        super().__init__()
        self.unit_words, self.reads, self.window = options.unit_words, options.reads, options.window
        self.word_features, offsets = options.word_features, 2 * options.window + 1
        self.words = _words(vocabulary, options)
        self.document_words = _words(vocabulary, options) if options.has_two_tables else None
        self.sharpness = nn.Parameter(torch.tensor(options.sharpness))
        self.num_features = 2 * offsets + 2 if options.reads == "pairs" else 1
        self.num_around = 0 if options.reads == "pairs" else offsets * options.word_features

    def vectors(self, tokens: Tensor) -> Tensor:
        """Names or goals [K, L] int, padded with 0 -> their vectors e (eq. 1), [K, F] float32."""
        return nn.functional.embedding(tokens.long(), self._table(self.words), padding_idx=0).sum(1)

    def forward(self, document: EncodedTexts, things: Tensor, shown: Tensor) -> PairFeatures:
        """Features of all pairs of things [K, X] in K frames, of vectors [Q, F] and documents by `document_words`."""
        groups = Groups.of(document.rows, shown, len(things))
        size = groups.things.shape[1]
        words, sentences = (
            document.encoded[name].index_select(0, groups.documents).repeat_interleave(size, 0)
            for name in ("words", "sentences")
        )
        vectors = nn.functional.embedding(groups.things, things)
        matches, attention = self._mentions(vectors.flatten(0, 1), words)
        one = groups.of_frames[:, :, None]
        of_pairs = one * size + (groups.of_frames % size)[:, None]
        product = vectors @ vectors.mT
        if product.requires_grad:
            # Its gradient is a slice of the features', which a batched product would take one group after another.
            product.register_hook(Tensor.contiguous)
        equal = product[..., None]
        if self.reads == "vector":
            around = self._around(attention, words)
            return PairFeatures(equal.flatten(0, 2), of_pairs, attention, groups.of_frames, around)
        beside = self._beside(attention.unflatten(0, (-1, size)), matches.unflatten(0, (-1, size)))
        same = _by_sentence(attention, sentences).unflatten(0, (-1, size))
        same = same @ _by_sentence(matches, sentences).unflatten(0, (-1, size)).mT
        features = torch.cat([beside, beside.transpose(1, 2), equal, ((same + same.mT) / 2)[..., None]], -1)
        return PairFeatures(features.flatten(0, 2), of_pairs, attention, groups.of_frames)

    def contrast(self, document: EncodedTexts, things: Tensor, shown: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of K frames with U documents: sum over things n of logsumexp over words j of beta M[n, j].

        Inputs are those of `forward`, and `exists` [K, X] bool. Returns [K, U] float32 and the own document of each
        frame, [K] int64, U for one that is not among the U.
        """
        used, rows = document.rows.unique(return_inverse=True)
        words = document.encoded["words"].index_select(0, used[:MAX_CONTRASTED])
        matches = self.sharpness * (things @ self.document_table().T)[:, words]
        best = matches.masked_fill(words == 0, _NEVER).logsumexp(-1)
        scores = (nn.functional.embedding(shown, best) * exists[..., None]).sum(1)
        return scores, rows.clamp(max=len(words))

    def document_table(self) -> Tensor:
        """Vectors of the words of documents, [V, F] float32."""
        return self._table(self.words if self.document_words is None else self.document_words)

    def _table(self, words: nn.Embedding) -> Tensor:
        return nn.functional.normalize(words.weight, dim=1) if self.unit_words else words.weight

    def _mentions(self, things: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Matches M and attention a (eqs. 2 and 3) of P things [P, F] with P documents [P, L], [P, L] float32 each."""
        is_padding = words == 0
        matches = (things @ self.document_table().T).gather(1, words).masked_fill(is_padding, 0.0)
        return matches, (self.sharpness * matches).masked_fill(is_padding, _NEVER).softmax(-1)

    def _beside(self, attention: Tensor, matches: Tensor) -> Tensor:
        """R of all pairs of S things of G groups (eq. 4): [G, S, L] float32 each -> [G, S, S, 2 R + 1] float32."""
        length, offsets = attention.shape[-1], 2 * self.window + 1
        padded = nn.functional.pad(matches, (self.window, self.window))
        shifted = torch.stack([padded[..., shift : shift + length] for shift in range(offsets)], 2)
        return (attention @ shifted.flatten(1, 2).mT).unflatten(-1, (-1, offsets))

    def _around(self, attention: Tensor, words: Tensor) -> Tensor:
        """Words c around P things (eq. 7): attention and words [P, L] -> [P, (2 R + 1) F] float32."""
        length = words.shape[1]
        vectors = nn.functional.embedding(words, self.document_table(), padding_idx=0)
        padded = nn.functional.pad(vectors, (0, 0, self.window, self.window))
        shifts = range(2 * self.window + 1)
        return torch.cat([(attention[:, None] @ padded[:, shift : shift + length])[:, 0] for shift in shifts], -1)


def document_words(tokens: Tensor, sentence_end: int) -> Encoded:
    """`words` and `sentences`, the number of each word's sentence, [D, L] int64 each; `sentence_end` belongs to it."""
    words = tokens.long()
    is_end = words == sentence_end
    return {"words": words, "sentences": is_end.cumsum(1) - is_end.long()}


def _by_sentence(values: Tensor, sentences: Tensor) -> Tensor:
    """Sums over the words of each sentence: [P, L] float32 and the words' sentences [P, L] -> [P, L] float32."""
    return torch.zeros_like(values).scatter_add(1, sentences, values)


def _words(vocabulary: int, options: MatchingOptions) -> nn.Embedding:
    """Random words, N(0, 1 / word_features), whose padding is 0."""
    words = nn.Embedding(vocabulary, options.word_features, padding_idx=0)
    nn.init.normal_(words.weight, std=options.word_features**-0.5)
    with torch.no_grad():
        words.weight[0] = 0
    return words.requires_grad_(options.learns_words)
