"""The base of a language model, whose weights are in memory once per process and device.

A learner, a runner and validation in one process build a team each. Each has a copy of the base's module tree, to which
adapters can be added, over the same frozen weights. Weights are freed with the last module that uses them.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from rl_models.llm.base_model import load_base_model
from rl_models.llm.frozen_layers import FrozenLayers
from rl_models.llm.tokens import Ids
from rl_models.runtime.device import building_device

_WRITERS_KEPT = 4


class SharedBase:
    """A causal language model without adapters.

    Attributes:
        model: the model; never modified.
        tokenizer: its tokenizer.
        name: folder and age of its files, None for a model that was made in memory.
        supports_masks: whether 4-D masks and positions are obeyed; None until checked.
    """

    def __init__(self, model: Any, tokenizer: Any, name: tuple[str, int] | None = None) -> None:
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self.supports_masks: bool | None = None
        self._frozen: dict[int, FrozenLayers] = {}
        self._messages: OrderedDict[Hashable, dict[Ids, Ids]] = OrderedDict()

    def frozen_layers(self, last_layers: int, max_bytes: int) -> FrozenLayers:
        """The layers below the last ones, with the states shared by all models of the process on this base."""
        layers = self._frozen.setdefault(last_layers, FrozenLayers(last_layers, max_bytes))
        layers.max_bytes = max_bytes
        return layers

    def messages(self, writer: Hashable) -> dict[Ids, Ids]:
        """Greedy messages by prompt, of all teams of the process that write with the same weights and settings.

        A policy that is validated or tested is a copy of the one that learns, and reads the same prompts.
        """
        kept = self._messages.setdefault(writer, {})
        self._messages.move_to_end(writer)
        if len(self._messages) > _WRITERS_KEPT:
            self._messages.popitem(last=False)
        return kept

    def tree(self) -> Any:
        """A copy of the module tree over the same weights."""
        return copy.deepcopy(self.model, {id(weight): weight for weight in self.model.parameters()})

    def moved(self, move: Callable[[Tensor], Tensor]) -> SharedBase:
        """The same model with the device and dtype that `move` gives a tensor, from the process's cache if possible."""
        there = move(torch.empty(0, dtype=self.model.dtype, device=self.model.device))
        if (there.device, there.dtype) == (self.model.device, self.model.dtype):
            return self
        known = _KNOWN.get((self.name, str(there.device), there.dtype)) if self.name else None
        if known is not None:
            return known
        weights: dict[int, Any] = {
            id(weight): nn.Parameter(move(weight.detach()), requires_grad=False) for weight in self.model.parameters()
        }
        other = SharedBase(move_buffers(copy.deepcopy(self.model, weights), move), self.tokenizer, self.name)
        other.supports_masks = self.supports_masks
        return _known(other)

    def replace_weights(self, tree: nn.Module, other: SharedBase) -> None:
        """Replace the weights of a module tree by those of `other`."""
        new = dict(zip(map(id, self.model.parameters()), other.model.parameters(), strict=True))
        for module in tree.modules():
            for name, weight in module._parameters.items():
                module._parameters[name] = new.get(id(weight), weight)

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedBase:
        """Return itself, so that copies of a team share the weights."""
        memo |= {id(weight): weight for weight in self.model.parameters()}
        return self


_KNOWN: WeakValueDictionary[Any, SharedBase] = WeakValueDictionary()
"""(name, device, dtype) -> the base, while it is referenced."""


def shared_base(name: str, dtype: torch.dtype) -> SharedBase:
    """The base of a hub id or folder on the default device, read from disk unless this process has it already.

    Raises LanguageModelError where there is no such model, or it cannot be used here.
    """
    version, device = (name, _age(name)), torch.empty(0, device=building_device()).device  # with its number
    known = _KNOWN.get((version, str(device), dtype))
    if known is not None:
        return known
    model, tokenizer = load_base_model(name, dtype)
    return _known(SharedBase(model.to(device), tokenizer, version))


def move_buffers(tree: Any, move: Callable[[Tensor], Tensor]) -> Any:
    """Move the buffers of a module tree, such as the frequencies of positions; the same tree."""
    for module in tree.modules():
        for name, buffer in module._buffers.items():
            module._buffers[name] = None if buffer is None else move(buffer)
    return tree


def _known(base: SharedBase) -> SharedBase:
    if base.name is not None:
        _KNOWN[base.name, str(base.model.device), base.model.dtype] = base
    return base


def _age(name: str) -> int:
    """When the files of a folder were written last, in nanoseconds; 0 of a model of the hub."""
    return max((path.stat().st_mtime_ns for path in Path(name).glob("*") if path.is_file()), default=0)
