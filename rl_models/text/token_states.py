"""A frozen Hugging Face encoder for texts not listed in advance: its tokens, and their states when they are needed.

`ModelTokens` numbers the tokens of texts where games are played; `TokenStates` turns those numbers into states where
policies act and learn. Only number 0 is padding, so every token of the encoder has its own number plus 1. Each text is
encoded once as long as it is among the last `_KEPT`. Neither is part of a checkpoint.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rl_models.text.pretrained import PretrainedEncoder

_KEPT = 8192


class ModelTokens:
    """Numbers of an encoder's tokens, as a world of texts wants them.

    Attributes:
        vocabulary: V, how many numbers there are.
    """

    def __init__(self, name: str) -> None:
        """Find the encoder.

        Args:
            name: a folder with a model and its tokenizer, or a hub id.

        Raises:
            PretrainedError: there is none.
        """
        self._encoder = PretrainedEncoder(name)
        self.vocabulary = len(self._encoder.tokenizer) + 1
        self._rows: dict[tuple[str, int], NDArray[np.int32]] = {}
        self._texts: dict[bytes, str] = {}

    def tokens(self, text: str, length: int) -> NDArray[np.int32]:
        """Numbers of a text's tokens with those at both ends, [length] int32, padded with 0; an empty text has none.

        Raises:
            ValueError: the text has more tokens.
        """
        if (text, length) not in self._rows:
            ids = self._encoder.tokenizer(text)["input_ids"] if text.strip() else []
            if len(ids) > length:
                raise ValueError(f"a text has {len(ids)} tokens and only {length} fit: raise max_words")
            row = np.zeros(length, np.int32)
            row[: len(ids)] = np.asarray(ids, np.int32) + 1
            self._rows[text, length] = row
            self._texts.setdefault(row.tobytes(), text)
        return self._rows[text, length]

    def text_of(self, tokens: NDArray[np.int32]) -> str:
        """The text that had these tokens; an empty one for tokens never seen."""
        return self._texts.get(np.asarray(tokens, np.int32).tobytes(), "")


class TokenStates(nn.Module):
    """States of tokens by a frozen encoder.

    Attributes:
        features: E, width of a state.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        # In a list, so that it is no submodule: its weights are neither trained nor saved.
        self._encoders = [PretrainedEncoder(name)]
        self.features = int(self._encoders[0].model.config.hidden_size)
        self._known: OrderedDict[bytes, Tensor] = OrderedDict()

    @torch.no_grad()
    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [D, L] int -> states [D, L, E] float32, 0 on padding."""
        rows = tokens.cpu().numpy().astype(np.int32)
        trimmed = [row[row != 0] for row in rows]
        for row in trimmed:
            if row.size and row.tobytes() not in self._known:
                ids = torch.from_numpy(row.astype(np.int64) - 1)[None]
                self._known[row.tobytes()] = self._encoders[0].model(input_ids=ids).last_hidden_state[0].float()
        states = torch.zeros(*rows.shape, self.features)
        for place, row in enumerate(trimmed):
            if row.size:
                self._known.move_to_end(row.tobytes())
                states[place, : row.size] = self._known[row.tobytes()]
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return states.to(tokens.device)
