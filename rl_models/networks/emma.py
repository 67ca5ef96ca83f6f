"""EMMA: entities find the sentence that tells of them, and become what it says (Hanjie et al., 2021, section 4).

Symbols are queries; each sentence has a key and a value (`layers/sentence_reader.py`). Input keys: `symbols` and
`cells` [B, T, N, moments, E] uint8, entities of the last moments, oldest first; `avatar_symbols` and `avatar_cells`
[B, T, N, moments, N] uint8, oneself first; `manual` [B, T, N, n] int, numbers of sentences. The sentences themselves
are the text encoder's. Each is read once a batch, and once an episode by whoever keeps encodings.

Attention is linear in values, and so is the convolution: sentences pass through the convolution before attention mixes
them, a few hundred instead of every cell. Equal to the released network but for its frames: there a view of memory puts
three neighbouring cells where the paper has three moments of one cell.

`GameId` is the Game-ID baseline (section 5): EMMA's body, told who is who by symbols and not by texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.layers.initialisation import glorot_matrices_
from rl_models.layers.manual_attention import attend_to_manual, score_table, shares_of_cells
from rl_models.layers.sentence_reader import SentenceReader
from rl_models.networks.emma_body import EmmaBody, EmmaConfig, EmmaSizes, EntityNetwork
from rl_models.networks.texts import TEXTS, Encoded, Shown, shown_texts
from rl_models.text.encoder import SentenceEncoder

MANUAL = "manual"
SCORES, SENTENCES, SPRITES = "grounding/scores", "grounding/sentences", "grounding/sprites"
"""Extras while gradients are computed, for losses on who is told where: scores of the newest moment's sprites with all
U sentences of the batch [B, T, N, E, U], each manual's sentences among them [B, T, N, n], symbols [B, T, N, E]."""


@dataclass(frozen=True)
class SentenceNumbers:
    """All sentences as texts of one token each, their number, so that encodings are kept as those of other texts are.

    Attributes:
        table: [D, 1] int64.
    """

    table: NDArray[np.int64]

    def look_up(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Numbers of any shape -> the same with an axis of 1 more."""
        return self.table[rows]


@dataclass(frozen=True)
class Sprites:
    """Entities of K frames, and what each frame's manual is made of.

    Attributes:
        symbols, cells: [K, T, E] uint8.
        manual: [K, n] int64, sentences among those that were encoded.
    """

    symbols: Tensor
    cells: Tensor
    manual: Tensor


def attend(table: Tensor, sprites: Sprites, shown: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Attention of sprites over the sentences of their frame's manual.

    Args:
        table: [V, U], scores of symbols and sentences.
        sprites: who asks.
        shown: [K, T, E] bool, as `shares_of_cells` has it.

    Returns:
        attention [K, T, E, n]; each sprite's part in its cell [K, T, E, 1]. What a cell adds is added once, in parts by
        all who stand in it; nothing is added for those that are gone.
    """
    shares = shares_of_cells(sprites.symbols, sprites.cells, table.dtype, shown)
    attention = attend_to_manual(table, sprites.symbols, shares, sprites.manual)
    return attention, shares.diagonal(dim1=-2, dim2=-1)[..., None]


class Emma(EntityNetwork):
    """Entity-conditioned attention over a manual.

    Attributes:
        own_texts: the sentences, for whoever keeps encodings.
        encoder: text encoder.
        reader: keys and values.
    """

    def __init__(self, config: EmmaConfig, sizes: EmmaSizes, encoder: SentenceEncoder) -> None:
        super().__init__(EmmaBody(config, sizes), sizes.num_agents)
        assert isinstance(encoder, nn.Module)
        self.encoder = encoder
        self.reader = SentenceReader(encoder.features, config.features)
        glorot_matrices_(self.reader)
        self.numbers: Tensor
        self.register_buffer("numbers", torch.arange(encoder.num_sentences)[:, None], persistent=False)
        self.own_texts: Mapping[str, SentenceNumbers] = {MANUAL: SentenceNumbers(self.numbers.numpy())}
        self._averages = config.averages_sentences

    def encode_text(self, key: str, tokens: Tensor) -> Encoded:
        """Numbers of D sentences [D, 1] -> `keys` [D, d], and `shares` [D, ...], values beyond the convolution.

        When attention is shown, also `key_words` and `value_words` [D, L].
        """
        states, lengths = self.encoder(tokens[:, 0])
        read = self.reader(states, lengths)
        encoded = {"keys": read.keys} | self._of_values(read.values)
        if self.shows_attention:
            behind = (0, self.encoder.length - states.shape[1])
            words = {"key_words": read.key_words, "value_words": read.value_words}
            encoded |= {name: nn.functional.pad(weights, behind) for name, weights in words.items()}
        return encoded

    def _of_values(self, values: Tensor) -> Encoded:
        """What becomes of the values of D sentences [D, d]."""
        return {"shares": self.body.convolution.project(values)}

    def _look(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        told = shown_texts(obs | {f"{TEXTS}{MANUAL}": self.numbers}, MANUAL, self.encode_text)
        manual = told.rows.unflatten(0, (-1, obs[MANUAL].shape[-1]))
        sprites = Sprites(obs["symbols"].flatten(0, 2), obs["cells"].flatten(0, 2), manual)
        table = score_table(self.body.symbol_vectors(), told.encoded["keys"])
        features, attention, more = self._see(obs, sprites, table, told)
        return features, self._extras(table, sprites.symbols[:, -1], manual, attention[:, -1], told) | more

    def _see(
        self, obs: dict[str, Tensor], sprites: Sprites, table: Tensor, told: Shown
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Features [K, F], attention to the manual [K, T, E, n], and extras, name -> [K, ...]."""
        attention, part = attend(table, sprites)
        read = self._read(attention * part, self._shares(told, sprites.manual.shape))
        return self.body((read, sprites.cells), self.body.avatars(obs)), attention, {}

    def _shares(self, told: Shown, shape: torch.Size) -> Tensor:
        """What each frame's sentences, `shape` [K, n], add to the convolution, [K, T, n, window M]."""
        return self.body.convolution.by_moment(told.of_frames("shares")).unflatten(0, shape).transpose(1, 2)

    def _read(self, attention: Tensor, shares: Tensor) -> Tensor:
        """What sprites add to the convolution, [K, T, E, window M], by their attention [K, T, E, n]."""
        read = attention @ shares
        return read / shares.shape[2] if self._averages else read

    def _extras(
        self, table: Tensor, symbols: Tensor, manual: Tensor, attention: Tensor, told: Shown
    ) -> dict[str, Tensor]:
        extras: dict[str, Tensor] = {}
        if torch.is_grad_enabled():
            scores = nn.functional.embedding(symbols.long(), table)
            extras |= {SCORES: scores, SENTENCES: manual, SPRITES: symbols}
        if self.shows_attention:
            extras["attention/manual"] = attention * (symbols != 0)[..., None]
            for name in ("key_words", "value_words"):
                extras[f"attention/{name}"] = told.of_frames(name).unflatten(0, manual.shape)
        return extras


ROLES = "roles"


class GameId(EntityNetwork):
    """Grid and roles in, features out: the Game-ID baseline (Hanjie et al., 2021, section 5).

    In place of a manual it sees `roles` [B, T, N, R] uint8, the symbol of every role; its other input keys are EMMA's.
    Entities enter the convolution as their symbols, and the roles' symbols reach the towers beside the grid. Nothing
    ties a role's symbol to the sprite that bears it, so it learns each game for itself.
    """

    def __init__(self, config: EmmaConfig, sizes: EmmaSizes, roles: int = 3) -> None:
        """Build the network.

        Args:
            config: widths; options of attention have no meaning here.
            sizes: of the world.
            roles: R.
        """
        super().__init__(EmmaBody(config, sizes, roles * config.features), sizes.num_agents)

    def _look(self, obs: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        symbols, cells = obs["symbols"].flatten(0, 2).long(), obs["cells"].flatten(0, 2)
        # The mean of the symbols in a cell, in parts by all who stand in it.
        shares = shares_of_cells(symbols, cells, self.body.symbols.weight.dtype)
        part = shares.diagonal(dim1=-2, dim2=-1)[..., None]
        roles = self.body.symbols(obs[ROLES].flatten(0, 2).long()).flatten(1)
        return self.body((self.body.of_symbols(symbols) * part, cells), self.body.avatars(obs), roles), {}
