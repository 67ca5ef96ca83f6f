"""SILG's shared model (Zhong et al., 2021) over lists of sprites and a manual, EnDi's baseline in MESSENGER.

Nobody describes how that model sees MESSENGER, so this is our reading: its RTFM form on what MESSENGER shows now. The
grid is laid out from the newest moment, and a sprite's symbol is a word of its own; the sentences of the manual, one
behind the other, are the document; each avatar is a field of two words, whose it is and whether it has the message, in
place of goal and inventories. Input keys are `emma.py`'s. Moments before the newest are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.readers import DOCUMENT, GOAL, INVENTORY
from rl_models.networks.reading import Sizes
from rl_models.networks.txt2pi import SilgConfig, reading_network
from rl_models.policy import Features, State
from rl_models.text.words import Vocabulary

SELF, OTHER = 0, 1
_SIDES = 2


class SilgEntities(nn.Module):
    """Sprites and sentences in, features of every agent out.

    Attributes:
        features: F.
        shows_attention: add `attention/grid` [B, T, N, layers, words of the manual] to the extras.
    """

    def __init__(
        self, config: SilgConfig, sizes: EmmaSizes, sentences: Sequence[str], training_sentences: Sequence[str]
    ) -> None:
        """Build the network.

        Args:
            config: widths.
            sizes: of the world.
            sentences: D, everything that can be shown.
            training_sentences: those whose words are learned.
        """
        super().__init__()
        vocabulary = Vocabulary.of(training_sentences)
        self._side, self._symbols = sizes.side, sizes.symbols
        self._first_avatar = sizes.symbols - sizes.avatar_symbols
        names = _names(sizes, len(vocabulary))
        self.reading = reading_network(config, Sizes(sizes.num_agents, int(names.max()) + 1, names))
        self.num_agents, self.features = sizes.num_agents, self.reading.features
        self.tokens: Tensor
        self.register_buffer("tokens", vocabulary.tokens(sentences), persistent=False)

    @property
    def shows_attention(self) -> bool:
        """Add attention maps to the extras."""
        return self.reading.shows_attention

    @shows_attention.setter
    def shows_attention(self, value: bool) -> None:
        self.reading.shows_attention = value

    def initial_state(self, batch: int) -> State:
        """Nothing is remembered."""
        return {}

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features of every step [B, T, N, F]; `is_first` [B, T] and the state change nothing."""
        cells, symbols = (obs[f"avatar_{name}"][..., -1, :].long() for name in ("cells", "symbols"))
        avatars = self._avatar_names(symbols)
        seen = {
            "grid": self._grid(obs, cells, avatars),
            "position": torch.stack([cells // self._side, cells % self._side], -1),
            DOCUMENT: self._document(obs["manual"].long()),
            GOAL: self.reading.names[avatars[..., 0]],
            INVENTORY: avatars[..., 1:],
        }
        found: Features = self.reading(seen, state, is_first)
        return found

    def _avatar_names(self, symbols: Tensor) -> Tensor:
        """Names of avatars, oneself first, [..., N] int64; 0 for the dead."""
        side = torch.ones_like(symbols)
        side[..., 0] = SELF
        names = self._symbols + side * (self._symbols - self._first_avatar) + symbols - self._first_avatar
        return names * (symbols > 0)

    def _grid(self, obs: dict[str, Tensor], cells: Tensor, avatars: Tensor) -> Tensor:
        """Names in every cell, [..., H, W, 1 + N]: an entity, and each avatar in a place of its own."""
        entities, places = obs["symbols"][..., -1, :].long(), obs["cells"][..., -1, :].long()
        layers = [(places, entities), *((cells[..., [one]], avatars[..., [one]]) for one in range(self.num_agents))]
        blank = entities.new_zeros(*entities.shape[:-1], self._side**2)
        # What is gone stands in cell 0 as 0, so that of all in a cell the highest number is seen.
        laid = [blank.scatter_reduce(-1, where, what, "amax") for where, what in layers]
        return torch.stack(laid, -1).unflatten(-2, (self._side, self._side))

    def _document(self, manual: Tensor) -> Tensor:
        """Words of the sentences [..., n] one behind the other, [..., words]."""
        words = self.tokens[manual].flatten(-2)
        order = (words == 0).to(torch.uint8).argsort(dim=-1, stable=True)
        joined = words.gather(-1, order)
        return joined[..., : max(1, int((joined != 0).sum(-1).max()))]


def _names(sizes: EmmaSizes, first_word: int) -> Tensor:
    """[K, 2] int64, words of every name: symbols as they are numbered, then one's own avatar's, then others'."""
    entities = torch.arange(sizes.symbols - sizes.avatar_symbols)
    words = torch.where(entities > 0, first_word + entities - 1, 0)
    whose = first_word + len(entities) - 1
    states = whose + _SIDES + torch.arange(sizes.avatar_symbols)
    avatars = [torch.stack([torch.full_like(states, whose + side), states], -1) for side in (SELF, OTHER)]
    plain = torch.stack([words, torch.zeros_like(words)], -1)
    unused = plain.new_zeros(sizes.avatar_symbols, 2)
    return torch.cat([plain, unused, *avatars])
