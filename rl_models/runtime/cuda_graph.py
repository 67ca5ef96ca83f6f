"""Functions of tensors that a GPU captures as CUDA graphs and replays, in place of hundreds of launches.

A step of acting, or the gradients of a minibatch, are hundreds of small kernels, which take ten times as long to launch
as to run. `Graphed` calls such a function normally the first two times that it gets inputs of some shapes, captures it
the third time, and replays it from then on. The second call is monitored: a function that waits for a value of the GPU,
or copies between host and GPU, is never captured. On the CPU nothing is captured.

Each replay reads the present inputs, weights and coefficients of schedules. Everything else stays as captured. So the
key of a capture holds shapes and types of the inputs, what the function decided by the value of a schedule or by counts
of training, and the module's weights and precision. Attributes of modules and losses must not change between two calls.
"""

import contextlib
import functools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from rl_models.runtime import device as devices
from rl_models.schedule import Decision, Progress, Schedule, observed_by

logger = logging.getLogger(__name__)

Inputs: TypeAlias = dict[str, Tensor]
Outputs: TypeAlias = dict[str, Any]
"""Name -> tensor, or a number that depends on schedules only."""
Function: TypeAlias = Callable[[Inputs], Outputs]

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
"""Operations that copy a value from the device to the host, as indexing by a mask does."""
INDEXING = frozenset({"index", "index_put", "index_put_", "_index_put_impl_"})
"""Names of the operations that `x[index]` becomes."""
_COPIES = frozenset({"_to_copy", "copy_"})
_AFTER_HIDDEN_COPY = "lift_fresh"
"""Operation that follows torch's hidden copies of Python numbers to a device."""
_KEPT = 4
"""Maximum number of captures of a function: minibatches of several learners have three sizes and more."""

_IS_CAPTURING: ContextVar[bool] = ContextVar("is_capturing", default=False)
_ONE_AT_A_TIME = threading.Lock()
"""torch allows one capture at a time in a process, and IMPALA learns in a thread of its own."""


def is_capturing() -> bool:
    """Whether a function is, or is about to be, captured: its results must not be cached."""
    return _IS_CAPTURING.get()


@contextlib.contextmanager
def _capturing() -> Iterator[None]:
    token = _IS_CAPTURING.set(True)
    try:
        yield
    finally:
        _IS_CAPTURING.reset(token)


@functools.cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """Stream on which this process makes all captures: cuBLAS keeps memory for every stream that it was called on."""
    return torch.cuda.Stream(device)


class Capture:
    """A function as a CUDA graph: with the same addresses of inputs, outputs and gradients at every replay."""

    def __init__(self, work: Callable[[], Outputs], device: torch.device) -> None:
        """Capture what `work` launches, without running it; weights must have no gradients yet."""
        self._graph = torch.cuda.CUDAGraph()
        with _ONE_AT_A_TIME:
            stream = _stream(device)
            stream.wait_stream(torch.cuda.current_stream(device))
            with torch.cuda.stream(stream):
                # Other threads of this process, such as a learner's, continue.
                self._graph.capture_begin(capture_error_mode="thread_local")
                try:
                    self.outputs = work()
                finally:
                    self._graph.capture_end()
            torch.cuda.current_stream(device).wait_stream(stream)

    def replay(self) -> None:
        """Compute the outputs, and the gradients if there are any, for the present inputs."""
        self._graph.replay()


@dataclass
class _Known:
    """State of a function for one set of input shapes.

    Attributes:
        was_watched: whether a call was monitored and did not wait.
        capture: None until it is captured.
        inputs: tensors from which a capture reads its inputs.
        gradients: tensors into which a capture writes gradients, in the order of the weights.
    """

    was_watched: bool = False
    capture: Capture | None = None
    inputs: Inputs = field(default_factory=dict)
    gradients: list[Tensor | None] = field(default_factory=list)


class _Schedules:
    """The schedules that a function reads, and the coefficients on the device."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[Decision, Schedule], None] = {}
        self._places: dict[Schedule, Tensor] = {}
        self._reads_counts = False
        self.device = torch.device("cpu")

    def decides(self, kind: Decision, schedule: Schedule) -> None:
        """See `ScheduleObserver`."""
        self._decisions[kind, schedule] = None

    def reads_counts(self) -> None:
        """See `ScheduleObserver`."""
        self._reads_counts = True

    def coefficient(self, schedule: Schedule, value: float) -> Tensor:
        """See `ScheduleObserver`; raises RuntimeError where a capture reads a schedule that the call before did not."""
        if schedule not in self._places:
            if self.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
                raise RuntimeError("a function has read other schedule coefficients than at its last call")
            self._places[schedule] = torch.full((), value, device=self.device)
        return self._places[schedule]

    def set_to(self, progress: Progress | None) -> None:
        """Write the present values of all coefficients."""
        if progress is not None:
            for schedule, place in self._places.items():
                place.fill_(schedule.at(progress))

    def decided(self, progress: Progress | None) -> Hashable:
        """Present values of the schedules and counts of training that the function depends on."""
        if progress is None:
            return ()
        counts = tuple(vars(progress).values()) if self._reads_counts else ()
        decisions = (getattr(one, "at" if kind == "value" else kind)(progress) for kind, one in self._decisions)
        return counts, tuple(decisions)

    def kept(self, outputs: Outputs) -> Outputs:
        """Outputs with copies of coefficient tensors, which change later."""
        places = {place.data_ptr() for place in self._places.values()}
        return {
            name: one.clone() if isinstance(one, Tensor) and one.data_ptr() in places else one
            for name, one in outputs.items()
        }


class Graphed:
    """A function of tensors, which a GPU replays from its third call with inputs of the same shapes on."""

    def __init__(self, module: nn.Module, leaves_gradients: bool) -> None:
        """Wrap a function that reads weights and buffers of this module alone; nothing is captured yet.

        `leaves_gradients`: the function sets gradients of the weights, which have none before each call.
        """
        self._module = module
        self._leaves_gradients = leaves_gradients
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._schedules = _Schedules()
        self.never = False
        """Whether the function waits for the GPU, so that it is never captured."""
        self._device = torch.device("cpu")
        self._weights: list[nn.Parameter] = []
        self._state: Hashable = ()

    def refresh_weights(self, device: torch.device) -> None:
        """Read the addresses of the module's weights and buffers; to be called once per fragment or update."""
        self._device = device
        if devices.can_capture(device):
            self._weights = list(self._module.parameters())
            tensors = [*self._weights, *self._module.buffers()]
            self._state = tuple((one.data_ptr(), one.requires_grad) for one in tensors)

    def __call__(self, function: Function, inputs: Inputs, progress: Progress | None = None) -> Outputs:
        """The function's outputs; the caller may keep the tensors.

        The function is always the same one, of its inputs (on the weights' device), of weights and of schedules alone,
        and keeps nothing of what it computes. Schedules are read at `progress`.
        """
        if self.never or not devices.can_capture(self._device):
            return function(inputs)
        self._schedules.device = self._device
        self._schedules.set_to(progress)
        key = self._key(inputs, progress)
        known = self._known.get(key)
        if known is None:
            return self._first(function, inputs, progress)
        self._known.move_to_end(key)
        if not known.was_watched:
            return self._watched(known, function, inputs)
        if known.capture is None and not self._is_captured(known, function, inputs):
            return function(inputs)
        return self._replayed(known, inputs)

    def _key(self, inputs: Inputs, progress: Progress | None) -> Hashable:
        """Key of a capture: it may be replayed only while all of this is equal."""
        shapes = tuple((name, value.shape, value.dtype) for name, value in inputs.items())
        precision = getattr(self._module, "precision", None)
        return shapes, self._schedules.decided(progress), precision, self._state

    def _first(self, function: Function, inputs: Inputs, progress: Progress | None) -> Outputs:
        """Call the function and record which schedules it reads, for the key."""
        with observed_by(self._schedules):
            outputs = function(inputs)
        self._known[self._key(inputs, progress)] = _Known()
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return self._schedules.kept(outputs)

    def _watched(self, known: _Known, function: Function, inputs: Inputs) -> Outputs:
        """Call the function and check whether it can be captured."""
        with _capturing(), Watch() as watch, observed_by(self._schedules):
            outputs = function(inputs)
        known.was_watched, self.never = True, watch.waits
        return self._schedules.kept(outputs)

    def _is_captured(self, known: _Known, function: Function, inputs: Inputs) -> bool:
        """Capture the function; False from then on if the driver refuses."""
        known.inputs = {name: torch.empty_like(value).copy_(value) for name, value in inputs.items()}
        try:
            with _capturing(), observed_by(self._schedules):
                known.capture = Capture(lambda: function(dict(known.inputs)), self._device)
        except RuntimeError as error:
            logger.warning("the GPU cannot capture this step as a graph, which only costs time: %s", error)
            self.never = True
            self._known.clear()
            for weight in self._weights if self._leaves_gradients else ():
                weight.grad = None
            return False
        known.gradients = [weight.grad for weight in self._weights] if self._leaves_gradients else []
        return True

    def _replayed(self, known: _Known, inputs: Inputs) -> Outputs:
        assert known.capture is not None
        torch._foreach_copy_(list(known.inputs.values()), list(inputs.values()))
        known.capture.replay()
        for weight, gradient in zip(self._weights, known.gradients, strict=False):
            weight.grad = gradient
        outputs = known.capture.outputs
        return {name: one.clone() if isinstance(one, Tensor) else one for name, one in outputs.items()}


class Watch(TorchDispatchMode):
    """Detects host waits, and copies between host and device, in this thread and its backward passes."""

    waits = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with self:  # in inference mode composite operations are not decomposed
            parts = func.decompose(*args, **kwargs)
        if parts is not NotImplemented:
            return parts
        found = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        asks = name in WAITS or (name in INDEXING and _has_mask(args[1]))
        hidden = name == _AFTER_HIDDEN_COPY and args[0].device.type != "cpu"
        self.waits = self.waits or asks or hidden or _crosses((args, kwargs, found), name in _COPIES)
        return found


def _has_mask(indices: Iterable[Tensor | None]) -> bool:
    return any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in indices)


def _crosses(tree: Any, counts_numbers: bool) -> bool:
    """Whether an operation mixes tensors of host and device, except scalars."""
    tensors = [one for one in _pytree.tree_leaves(tree) if isinstance(one, Tensor) and (one.ndim or counts_numbers)]
    return len({one.device.type for one in tensors}) > 1
