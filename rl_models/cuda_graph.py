"""Functions of tensors that a GPU repeats by itself, as one CUDA graph in place of hundreds of launches.

A step of acting, or the gradients of a minibatch, are hundreds of small kernels. To launch them takes the host ten
times as long as the GPU takes to run them. `Replayed` runs such a function as it is at its first call with inputs of
some shapes, records it at the second, and has the GPU repeat the record from then on. On the CPU, and where a function
asks for a number of the GPU or copies from the host (its first call of all is watched), it only ever runs the function.

What a record holds besides the inputs: the addresses of weights, and what the function decided by the value of a
schedule. Where one of them differs, the function runs as it is and may be recorded anew. Coefficients of schedules are
inputs like others: a replay computes with their values of the moment.
"""

from __future__ import annotations

import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from rl_models.schedule import Progress, Reading, Schedule, read_by

logger = logging.getLogger(__name__)

Inputs: TypeAlias = dict[str, Tensor]
Outputs: TypeAlias = dict[str, Any]
"""Name -> tensor, or a number that schedules alone decide."""

WAITS = frozenset(
    {
        "_local_scalar_dense",
        "nonzero",
        "_unique2",
        "unique_dim",
        "unique_consecutive",
        "masked_select",
        "equal",
        "bincount",
        "repeat_interleave",
    }
)
"""Operations after which the host knows something of the device. Indexing by a mask is one, too."""
_INDEXING = frozenset({"index", "index_put", "index_put_", "_index_put_impl_"})
_KEPT = 2
"""Records that a function keeps: minibatches have two sizes, which differ by one sequence."""

_RECORDING: ContextVar[bool] = ContextVar("recording", default=False)


def is_recording() -> bool:
    """Whether a function is, or is about to be, recorded: nothing of what it computes may be kept for later calls."""
    return _RECORDING.get()


@contextlib.contextmanager
def _recording() -> Iterator[None]:
    token = _RECORDING.set(True)
    try:
        yield
    finally:
        _RECORDING.reset(token)


def can_record(device: torch.device) -> bool:
    """Whether this kind of device can repeat what it recorded."""
    return device.type == "cuda"


class Record:
    """A function as a CUDA graph: with the same addresses of inputs, outputs and gradients at every replay."""

    def __init__(self, work: Callable[[], Outputs], device: torch.device) -> None:
        """Record what `work` launches, without running it; weights must have no gradients yet."""
        self._graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            # Other threads of this process, such as a learner's, go on meanwhile.
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                self.outputs = work()
            finally:
                self._graph.capture_end()
        torch.cuda.current_stream(device).wait_stream(stream)

    def replay(self) -> None:
        """Compute the outputs, and the gradients if there are any, of what the inputs hold now."""
        self._graph.replay()


@dataclass
class _Known:
    """What is known of a function with inputs of some shapes.

    Attributes:
        record: None until it is recorded.
        inputs: where a record reads its inputs.
        gradients: where a record writes them, in the order of the weights.
    """

    record: Record | None = None
    inputs: Inputs = field(default_factory=dict)
    gradients: list[Tensor | None] = field(default_factory=list)


class _Schedules:
    """The schedules that a function reads, and where on the device it finds those that it multiplies by."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[Reading, Schedule], None] = {}
        self._places: dict[Schedule, Tensor] = {}
        self.device = torch.device("cpu")

    def reads(self, kind: Reading, schedule: Schedule) -> None:
        """See `Reader`."""
        self._decisions[kind, schedule] = None

    def coefficient(self, schedule: Schedule, value: float) -> Tensor:
        """See `Reader`.

        Raises:
            RuntimeError: a record reads a schedule that the call before it has not read.
        """
        if schedule not in self._places:
            if self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
                raise RuntimeError("what a function multiplies by has changed between two equal calls")
            self._places[schedule] = torch.full((), value, device=self.device)
        return self._places[schedule]

    def set_to(self, progress: Progress | None) -> None:
        """Let all coefficients have their values of now."""
        if progress is not None:
            for schedule, place in self._places.items():
                place.fill_(schedule.at(progress))

    def decided(self, progress: Progress | None) -> Hashable:
        """What the function decides by schedules now."""
        if progress is None:
            return ()
        return tuple(getattr(one, "at" if kind == "value" else kind)(progress) for kind, one in self._decisions)


class Replayed:
    """A function of tensors that a GPU repeats by itself from its third call with inputs of the same shapes on.

    The function must be one of its inputs, of weights and of schedules alone, and must not keep what it computes.
    Where it leaves gradients, the weights have none before each call.
    """

    def __init__(self, function: Callable[[Inputs], Outputs], weights: Sequence[nn.Parameter], gives: bool) -> None:
        """Know the function.

        Args:
            function: name -> tensor to name -> tensor or number.
            weights: all that it reads.
            gives: whether it leaves gradients of the weights.
        """
        self._function = function
        self._weights = weights
        self._gives = gives
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._schedules = _Schedules()
        self._is_watched = self._never = False

    def __call__(self, inputs: Inputs, progress: Progress | None = None) -> Outputs:
        """The function's outputs; tensors are the caller's to keep.

        Args:
            inputs: name -> tensor, all on the weights' device.
            progress: what schedules are read at, if the function reads any.
        """
        device = self._weights[0].device if self._weights else torch.device("cpu")
        if self._never or not can_record(device):
            return self._function(inputs)
        self._schedules.device = device
        self._schedules.set_to(progress)
        key = self._key(inputs, progress)
        known = self._known.get(key)
        if known is None:
            return self._first(inputs, progress)
        self._known.move_to_end(key)
        if known.record is None and not self._recorded(known, inputs, device):
            return self._function(inputs)
        return self._replayed(known, inputs)

    def _key(self, inputs: Inputs, progress: Progress | None) -> Hashable:
        """What must be equal for a record to hold."""
        shapes = tuple((name, value.shape, value.dtype) for name, value in inputs.items())
        return shapes, self._schedules.decided(progress), tuple(weight.data_ptr() for weight in self._weights)

    def _first(self, inputs: Inputs, progress: Progress | None) -> Outputs:
        """Run the function as it is, and find out which schedules it reads; once, whether it can be recorded."""
        watch = contextlib.nullcontext() if self._is_watched else _Watch()
        with _recording(), watch, read_by(self._schedules):
            outputs = self._function(inputs)
        if isinstance(watch, _Watch):
            self._is_watched, self._never = True, watch.waits
        self._known[self._key(inputs, progress)] = _Known()
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return outputs

    def _recorded(self, known: _Known, inputs: Inputs, device: torch.device) -> bool:
        """Record the function; False where the driver refuses, and then for ever."""
        known.inputs = {name: torch.empty_like(value).copy_(value) for name, value in inputs.items()}
        try:
            with _recording(), read_by(self._schedules):
                known.record = Record(lambda: self._function(dict(known.inputs)), device)
        except RuntimeError as error:
            logger.warning("the GPU cannot repeat this step by itself, which costs time alone: %s", error)
            self._never = True
            self._known.clear()
            for weight in self._weights if self._gives else ():
                weight.grad = None
            return False
        known.gradients = [weight.grad for weight in self._weights] if self._gives else []
        return True

    def _replayed(self, known: _Known, inputs: Inputs) -> Outputs:
        assert known.record is not None
        torch._foreach_copy_(list(known.inputs.values()), list(inputs.values()))
        known.record.replay()
        for weight, gradient in zip(self._weights, known.gradients, strict=False):
            weight.grad = gradient
        outputs = known.record.outputs
        return {name: one.clone() if isinstance(one, Tensor) else one for name, one in outputs.items()}


class _Watch(TorchDispatchMode):
    """Notices what makes the host wait, or copies between host and device, in this thread and its backward passes."""

    waits = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with self:  # in inference mode composite operations arrive whole
            parts = func.decompose(*args, **kwargs)
        if parts is not NotImplemented:
            return parts
        found = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        self.waits = self.waits or name in WAITS or (name in _INDEXING and _has_mask(args[1])) or _crosses(args, found)
        return found


def _has_mask(indices: Iterable[Tensor | None]) -> bool:
    return any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in indices)


def _crosses(args: Any, found: Any) -> bool:
    """Whether tensors of both places are among what an operation reads and gives; numbers count for nothing."""
    tensors = [one for one in (*args, found) if isinstance(one, Tensor) and one.ndim]
    return len({one.device.type for one in tensors}) > 1
