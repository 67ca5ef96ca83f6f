"""EMMA: entities attend to the sentences of a manual (Hanjie et al., 2021, section 4).

Symbols are queries; each sentence has a key and a value (`layers/sentences.py`). Input keys: `symbols` and
`cells` [B, T, N, moments, E] uint8, entities of the last time steps, oldest first; `agent_symbols` and `agent_cells`
[B, T, N, moments, N] uint8, the agent's own first; `manual` [B, T, N, n] int, sentence ids. The text encoder
stores the sentences. Each sentence is encoded once a batch, or once an episode if a collector keeps the encodings.

Attention is linear in the values, and so is the convolution. So the values of a few hundred sentences pass through the
convolution before attention mixes them, and not every cell does. The result equals the released network except for its
moments: there, by an error of memory layout, three neighbouring cells replace the paper's three moments of one cell.

With `sees_movement` a sprite's query is the sum of its symbol's and of its movement's in the observed time steps:
nearer to the agent, farther from it, or neither (`layers/tracks.py`). It is not in the paper. In stage 3 two entities
have the same symbol, and the manual tells them apart by their movements alone.

`GameId` is the Game-ID baseline (section 5): EMMA's body with the symbols of the roles in place of a manual.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.sentences import SentenceReader, attend_to_manual, score_table, scores_in_manual, shares_of_cells
from rl_models.layers.tracks import MOVEMENTS, movements
from rl_models.networks.emma_body import EmmaBody, EmmaSizes, EntityNetwork
from rl_models.networks.network_config import EmmaConfig
from rl_models.runtime.texts import TEXTS, Encoded, EncodedTexts, encode_texts
from rl_models.text.encoder import SentenceEncoder

MANUAL = "manual"
SCORES, SENTENCES, SPRITES = "grounding/scores", "grounding/sentences", "grounding/sprites"
"""Extras while gradients are enabled, for losses on grounding: scores of the newest time step's sprites with all U
sentences of the batch [B, T, N, E, U], the sentences of each manual among them [B, T, N, n], and the numbers of the
sprites' queries [B, T, N, E], 0 for a sprite that is gone.
"""
MOVEMENT_SCORES, MOVED = "grounding/movement_scores", "grounding/moved"
"""Extras of queries with movements while gradients are enabled: for each sprite of the newest time step and each
movement, the scores of its symbol and that movement with the sentences of its own manual [B, T, N, E, 3, n], and its
observed movement [B, T, N, E], 0 for a sprite that is gone.
"""


@dataclass(frozen=True)
class SentenceNumbers:
    """All sentences as texts of one token, their number [D, 1] int64, so that collectors keep their encodings."""

    table: NDArray[np.int64]

    def look_up(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Texts of sentence numbers: [...] int -> [..., 1] int64."""
        return self.table[rows]


@dataclass(frozen=True)
class Sprites:
    """Entities and manuals of K frames.

    Attributes:
        queries: [K, T, E] int, number of each sprite's query, its symbol or that with a movement; 0 if it is gone.
        cells: [K, T, E] uint8.
        manual: [K, n] int64, the manual's sentences among the encoded ones.
    """

    queries: Tensor
    cells: Tensor
    manual: Tensor


def attend(table: Tensor, sprites: Sprites, shown: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Attention of sprites over the sentences of their manual, from scores of queries and sentences [V, U].

    Returns attention [K, T, E, n] float32 and each sprite's share in its cell, [K, T, E, 1] float32: the shares of a
    cell sum to 1, and that of a sprite that is gone is 0. `shown` is that of `shares_of_cells`.
    """
    shares = shares_of_cells(sprites.queries, sprites.cells, table.dtype, shown)
    attention = attend_to_manual(table, sprites.queries, shares, sprites.manual)
    return attention, shares.diagonal(dim1=-2, dim2=-1)[..., None]


class Emma(EntityNetwork):
    """Entity-conditioned attention over a manual."""

    def __init__(
        self, config: EmmaConfig, sizes: EmmaSizes, encoder: SentenceEncoder, sees_movement: bool = False
    ) -> None:
        super().__init__(EmmaBody(config, sizes), sizes.num_agents)
        assert isinstance(encoder, nn.Module)
        self.encoder = encoder
        self.reader = SentenceReader(encoder.features, config.features)
        glorot_matrices_(self.reader)
        self.numbers = nn.Buffer(torch.arange(encoder.num_sentences)[:, None], persistent=False)
        self.own_texts: Mapping[str, SentenceNumbers] = {MANUAL: SentenceNumbers(self.numbers.numpy())}
        self._averages, self._side = config.averages_sentences, sizes.side
        self.movements = nn.Embedding(MOVEMENTS, config.features, padding_idx=0) if sees_movement else None
        if self.movements is not None:
            nn.init.zeros_(self.movements.weight)

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Encodings of sentence ids [D, 1] int: `keys` [D, d] and `shares` [D, ...], the values after the convolution.

        If the network shows attention, also `key_words` and `value_words` [D, L].
        """
        states, lengths = self.encoder(tokens[:, 0])
        read = self.reader(states, lengths)
        encoded = {"keys": read.keys} | self._encode_values(read.values)
        if self.shows_attention:
            padding = (0, self.encoder.length - states.shape[1])
            words = {"key_words": read.key_words, "value_words": read.value_words}
            encoded |= {name: nn.functional.pad(weights, padding) for name, weights in words.items()}
        return encoded

    def _encode_values(self, values: Tensor) -> Encoded:
        """Encodings of the values [D, d] of D sentences, name -> [D, ...]."""
        return {"shares": self.body.convolution.project(values)}

    def _forward_frames(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        texts = encode_texts(obs | {f"{TEXTS}{MANUAL}": self.numbers}, MANUAL, self.encode_text)
        manual = texts.rows.unflatten(0, (-1, obs[MANUAL].shape[-1]))
        sprites = Sprites(self._query_numbers(obs), obs["cells"].flatten(0, 2), manual)
        table = score_table(self._queries(), texts.encoded["keys"])
        features, attention, more = self._attend_and_convolve(obs, sprites, table, texts)
        return features, self._extras(table, sprites.queries[:, -1], manual, attention[:, -1], texts) | more

    def _queries(self) -> Tensor:
        """Queries of all symbols [V, d] float32, or of all symbols with each movement [4 V, d]; query 0 is 0."""
        symbols = self.body.symbol_vectors()
        if self.movements is None:
            return symbols
        numbers = torch.arange(MOVEMENTS, device=symbols.device)
        return (symbols + self.movements(numbers)[:, None]).flatten(0, 1)

    def _query_numbers(self, obs: dict[str, Tensor]) -> Tensor:
        """Which of the queries each sprite of K frames has, [K, T, E] int."""
        symbols = obs["symbols"].flatten(0, 2)
        if self.movements is None:
            return symbols
        cells, agent = obs["cells"].flatten(0, 2), obs["agent_cells"].flatten(0, 2)[..., 0]
        return symbols + self.body.symbols.num_embeddings * movements(symbols, cells, agent, self._side)

    def _attend_and_convolve(
        self, obs: dict[str, Tensor], sprites: Sprites, table: Tensor, texts: EncodedTexts
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Features [K, F], attention to the manual [K, T, E, n], and extras, name -> [K, ...]."""
        attention, part = attend(table, sprites)
        mixed = self._mixed(attention * part, self._shares(texts, sprites.manual.shape))
        return self.body((mixed, sprites.cells), self.body.agents(obs)), attention, {}

    def _shares(self, texts: EncodedTexts, shape: torch.Size) -> Tensor:
        """Shares of each frame's sentences, `shape` [K, n], in the convolution, [K, T, n, window * C]."""
        return self.body.convolution.by_moment(texts.of_frames("shares")).unflatten(0, shape).transpose(1, 2)

    def _mixed(self, attention: Tensor, shares: Tensor) -> Tensor:
        """Shares of sprites in the convolution [K, T, E, window * C], by their attention [K, T, E, n]."""
        mixed = attention @ shares
        return mixed / shares.shape[2] if self._averages else mixed

    def _extras(
        self, table: Tensor, queries: Tensor, manual: Tensor, attention: Tensor, texts: EncodedTexts
    ) -> dict[str, Tensor]:
        extras: dict[str, Tensor] = {}
        if torch.is_grad_enabled():
            scores = nn.functional.embedding(queries.long(), table)
            extras |= {SCORES: scores, SENTENCES: manual, SPRITES: queries}
            if self.movements is not None:
                extras |= self._movement_extras(table, queries, manual)
        if self.shows_attention:
            extras["attention/manual"] = attention * (queries != 0)[..., None]
            for name in ("key_words", "value_words"):
                extras[f"attention/{name}"] = texts.of_frames(name).unflatten(0, manual.shape)
        return extras

    def _movement_extras(self, table: Tensor, queries: Tensor, manual: Tensor) -> dict[str, Tensor]:
        """`MOVEMENT_SCORES` [K, E, 3, n] and `MOVED` [K, E] of queries [K, E] with scores [4 V, U]."""
        count = self.body.symbols.num_embeddings
        others = (queries % count)[..., None] + count * torch.arange(1, MOVEMENTS, device=table.device)
        return {MOVEMENT_SCORES: scores_in_manual(table, others, manual), MOVED: queries // count}


ROLES = "roles"


class GameId(EntityNetwork):
    """The Game-ID baseline: a network without a manual (Hanjie et al., 2021, section 5).

    In place of a manual it reads `roles` [B, T, N, R] uint8, the symbol of every role; its other input keys are EMMA's.
    Entities enter the convolution as their symbols, and the roles' symbols are inputs of the towers beside the grid.
    Nothing ties a role's symbol to its sprite, so the network has to learn each game separately.
    """

    def __init__(self, config: EmmaConfig, sizes: EmmaSizes, roles: int = 3) -> None:
        """Build the network for R roles; the options of attention have no effect."""
        super().__init__(EmmaBody(config, sizes, roles * config.features), sizes.num_agents)

    def _forward_frames(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        symbols, cells = obs["symbols"].flatten(0, 2).long(), obs["cells"].flatten(0, 2)
        # Each sprite contributes its share to the mean of the symbols in its cell.
        shares = shares_of_cells(symbols, cells, self.body.symbols.weight.dtype)
        part = shares.diagonal(dim1=-2, dim2=-1)[..., None]
        roles = self.body.symbols(obs[ROLES].flatten(0, 2).long()).flatten(1)
        return self.body((self.body.project_symbols(symbols) * part, cells), self.body.agents(obs), roles), {}
