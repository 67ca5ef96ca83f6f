"""A profiler of CPU time whose parts add up to the whole, backward passes included.

It patches functions from outside. Time belongs to the innermost watched part that runs, and the outermost one is its
phase, so acting and learning are reported separately. A node of autograd's graph belongs to the part whose forward
computation created it; the time of a backward pass is split where nodes start.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.autograd.graph import Node

from benchmarks.harness.tensors import tensors_in

Part = tuple[str, str]
"""Phase and part within it, such as ("acting", "heads")."""
BACKWARD = "backward"
"""The phase of the backward pass."""
PROFILER_COST: Part = ("watching", "graph")
"""The profiler's own cost: recording which part created which node."""


@dataclass(frozen=True)
class Watch:
    """A function to watch: the attribute `name` of a module, class or object; several functions can share one part."""

    target: Any
    name: str
    part: str


class Profiler:
    """CPU time by phase and part, in `seconds`."""

    def __init__(self) -> None:
        self.seconds: dict[Part, float] = {}
        self._open: list[Part] = []
        self._since = 0.0
        self._makers: dict[Node, str] = {}

    @contextmanager
    def watching(self, watches: Sequence[Watch]) -> Iterator[None]:
        """Within this context, measure these functions and the backward passes of tensors."""
        patches = [patch.object(w.target, w.name, self._watched(w.part, getattr(w.target, w.name))) for w in watches]
        patches.append(patch.object(torch.Tensor, "backward", self._watched_backward(torch.Tensor.backward)))
        for each in patches:
            each.start()
        try:
            yield
        finally:
            for each in reversed(patches):
                each.stop()

    def _watched(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*arguments: Any, **named: Any) -> Any:
            phase = self._open[0][0] if self._open else part
            with self._opened((phase, part)):
                result = function(*arguments, **named)
            with self._opened(PROFILER_COST):
                self._claim(part, arguments, result)
            return result

        return watched

    def _watched_backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(loss: Tensor, *arguments: Any, **named: Any) -> Any:
            with self._opened(PROFILER_COST):
                for node, part in self._makers.items():
                    node.register_prehook(functools.partial(self._node_starts, part))
                self._makers = {}
            with self._opened((BACKWARD, "rest")):
                return function(loss, *arguments, **named)

        return watched

    @contextmanager
    def _opened(self, part: Part) -> Iterator[None]:
        self._mark()
        self._open.append(part)
        try:
            yield
        finally:
            self._mark()
            self._open.pop()

    def _mark(self) -> None:
        """Add the time since the last mark to the part that ran."""
        now = process_time()
        if self._open:
            self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    def _node_starts(self, part: str, _: Any) -> None:
        self._mark()
        self._open[-1] = (BACKWARD, part)

    def _claim(self, part: str, arguments: Any, result: Any) -> None:
        """Record the nodes between a part's arguments and its result that have no part yet."""
        outside = {tensor.grad_fn for tensor in tensors_in(arguments)}
        ahead = [tensor.grad_fn for tensor in tensors_in(result)]
        while ahead:
            node = ahead.pop()
            if node is not None and node not in outside and node not in self._makers:
                self._makers[node] = part
                ahead += [following for following, _ in node.next_functions]
