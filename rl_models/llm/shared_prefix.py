"""Prompts that begin with the same tokens, whose keys and values are computed once (a prefix cache).

A planner's prompts begin with the manual of the game, which is most of their length.
"""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rl_models.llm.scoring import UNSUPPORTED, Packed, encode, encodes_alike, inner_model
from rl_models.llm.tokens import Candidates, Ids


class SharedPrefix:
    """Encodes packed prompts that all go on after the same tokens (`rl_models.llm.scoring.Encode`)."""

    def __init__(self, tokens: Ids) -> None:
        """Take the tokens that every prompt begins with; at least one more must follow them in each."""
        self._tokens = tokens
        self._cache: Any = None

    def __call__(self, model: Any, packed: Packed, mask: Tensor, keys: Sequence[tuple[Ids, Candidates]]) -> Tensor:
        """States of the last layer, [R, S, F], 0 at the tokens of the prefix, under a mask [R, 1, S, S]."""
        length = len(self._tokens)
        if not length:
            return encode(model, packed, mask, keys)
        if self._cache is None:
            self._cache = _keys_and_values(model, self._tokens)
        cache = copy.deepcopy(self._cache)
        cache.batch_repeat_interleave(len(keys))
        states: Tensor = inner_model(model)(
            input_ids=packed.tokens[:, length:],
            attention_mask=mask[:, :, length:],
            position_ids=packed.positions[:, length:],
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
        return nn.functional.pad(states, (0, 0, length, 0))


def can_share_prefixes(model: Any) -> bool:
    """Whether a causal language model gives the same scores with a prefix cache."""
    try:
        return encodes_alike(model, SharedPrefix((1, 2, 3, 4)))
    except UNSUPPORTED:  # it has another kind of cache
        return False


@torch.no_grad()
def _keys_and_values(model: Any, tokens: Ids) -> Any:
    inputs = torch.tensor([tokens], device=model.device)
    return inner_model(model)(input_ids=inputs, use_cache=True).past_key_values
