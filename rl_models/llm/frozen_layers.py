"""The layers below the adapters, whose states are computed once for each prompt with its candidates.

With adapters in the last K of L layers alone, the first L - K never change: acting, learning and every adapter read the
same states of them. They are cached up to a number of bytes; the least recently used are dropped first.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from rl_models.llm.scoring import Packed, inner_model
from rl_models.llm.tokens import Candidates, Ids

Key: TypeAlias = tuple[Ids, Candidates]
_ONE_AT_A_TIME = threading.Lock()
"""Models of one process share states, and IMPALA learns in a thread of its own."""


class FrozenLayers:
    """Encodes packed prompts in two parts, and caches the states of the first part.

    Attributes:
        last_layers: K, layers with adapters.
        max_bytes: bound of the memory for states.
        num_bytes: memory that they take.
        hits, misses: rows that were found, and rows that were computed.
    """

    def __init__(self, last_layers: int, max_bytes: int) -> None:
        self.last_layers, self.max_bytes = last_layers, max_bytes
        self.num_bytes = self.hits = self.misses = 0
        self._kept: OrderedDict[Key, Tensor] = OrderedDict()

    def __call__(self, model: Any, packed: Packed, mask: Tensor, keys: Sequence[Key]) -> Tensor:
        """States of the last layer, [R, S, F], under a mask [R, 1, S, S]; `rl_models.llm.scoring.Encode`."""
        lower, upper = _parts(inner_model(model), self.last_layers)
        with _ONE_AT_A_TIME:
            inputs = self._lower_states(lower, packed, mask, keys)
        states: Tensor = upper(
            inputs_embeds=inputs, attention_mask=mask, position_ids=packed.positions, use_cache=False
        ).last_hidden_state
        return states

    @torch.no_grad()
    def _lower_states(self, lower: Any, packed: Packed, mask: Tensor, keys: Sequence[Key]) -> Tensor:
        """Inputs of the layers with adapters, [R, S, F]; 0 after a row's end."""
        found = {key: self._kept[key] for key in keys if key in self._kept}
        for key in found:
            self._kept.move_to_end(key)
        missing = {key: row for row, key in enumerate(keys) if key not in found}
        self.hits, self.misses = self.hits + len(keys) - len(missing), self.misses + len(missing)
        if missing:
            rows = list(missing.values())
            computed = lower(
                input_ids=packed.tokens[rows],
                attention_mask=mask[rows],
                position_ids=packed.positions[rows],
                use_cache=False,
            ).last_hidden_state
            for (key, row), states in zip(missing.items(), computed, strict=True):
                found[key] = states[: packed.lengths[row]].clone()
                self._keep(key, found[key])
        return nn.utils.rnn.pad_sequence([found[key] for key in keys], batch_first=True)

    def _keep(self, key: Key, states: Tensor) -> None:
        self._kept[key] = states
        self.num_bytes += states.nbytes
        while self.num_bytes > self.max_bytes:
            _, dropped = self._kept.popitem(last=False)
            self.num_bytes -= dropped.nbytes


def can_be_split(model: nn.Module) -> bool:
    """Whether a causal language model has the parts that are run separately here: a list of layers and a final norm."""
    inner = inner_model(model)
    return isinstance(getattr(inner, "layers", None), nn.ModuleList) and isinstance(
        getattr(inner, "norm", None), nn.Module
    )


def _parts(inner: Any, last_layers: int) -> tuple[Any, Any]:
    """The transformer's layers below the adapters and those with them, as two models over the same modules."""
    lower, upper = copy.copy(inner), copy.copy(inner)
    first = len(inner.layers) - last_layers
    lower._modules = inner._modules | {"layers": inner.layers[:first], "norm": nn.Identity()}
    upper._modules = inner._modules | {"layers": inner.layers[first:]}
    kinds = getattr(inner.config, "layer_types", None)
    if kinds:  # read by a layer's place in its list
        upper.config = copy.copy(inner.config)
        vars(upper.config)["layer_types"] = kinds[first:]
    return lower, upper
