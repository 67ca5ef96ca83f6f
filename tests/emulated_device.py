"""An accelerator made of the CPU, for tests where there is none.

Tensors on the device `emulated` wrap tensors of the CPU and compute with them, so a whole training loop runs there with
its real numbers. As on CUDA, an operation on tensors of both places is refused, `.numpy()` is refused, and what makes
the host wait is possible and counted:

* copies: transfers of a tensor from one place to the other;
* syncs: numbers that the host asks for, copies to the host, which waits for what it reads, and operations whose result
  has a size that only the device knows.

torch's own Python backend (`privateuse1`) makes the device known to autograd and to `torch.device`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from rl_envs.core.array_library import TorchArrays
from rl_models.runtime.cuda_graph import INDEXING, WAITS

NAME = "emulated"


class _Backend(backend_registration._DummyBackendModule):
    """What torch asks of any accelerator. Random numbers are the CPU's."""

    def get_rng_state(self, device: Any = None) -> Tensor:
        """Nothing to keep."""
        return torch.empty(0, dtype=torch.uint8)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Types of autocast."""
        return [torch.bfloat16]

    def set_rng_state(self, state: Tensor, device: Any = None) -> None:
        """Nothing to bring back."""


backend_registration._setup_privateuseone_for_python_backend(NAME, _Backend())
DEVICE = torch.device(NAME, 0)
CPU = torch.device("cpu")


@dataclass
class Counts:
    """What has made the host wait."""

    copies: int = 0
    syncs: int = 0


_counts = Counts()


class _Emulated(Tensor):
    """A tensor of the device; `inner` holds its numbers on the CPU."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> _Emulated:
        # A view of a weight is no inference tensor, even where it is made while acting.
        with torch.inference_mode(False):
            made: _Emulated = Tensor._make_wrapper_subclass(
                cls,
                inner.size(),
                strides=inner.stride(),
                storage_offset=inner.storage_offset(),
                dtype=inner.dtype,
                device=DEVICE,
            )
        made.inner = inner
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{self.inner!r} on {NAME}"

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.detach().clone().requires_grad_(self.requires_grad)

    def data_ptr(self) -> int:
        """Where its numbers are."""
        return self.inner.data_ptr()

    def tolist(self) -> Any:
        """Numbers for the host, which waits for them."""
        _counts.syncs += 1
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with _Dispatch():
            return func(*args, **(kwargs or {}))


class _Dispatch(TorchDispatchMode):
    """Operations of torch, also those that make a tensor from nothing."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with _Dispatch():  # in inference mode composite operations arrive whole
            decomposed = func.decompose(*args, **kwargs)
        return _run(func, args, kwargs) if decomposed is NotImplemented else decomposed


class _Functions(TorchFunctionMode):
    """Functions that make a tensor from Python's numbers inside torch, where no operation is seen."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        if func is Tensor.new_tensor and isinstance(args[0], _Emulated):
            return torch.tensor(args[1], **{"dtype": args[0].dtype, **kwargs}).to(DEVICE)
        return func(*args, **kwargs)


@contextmanager
def emulated_device() -> Iterator[Counts]:
    """Make the device; yields the counts, which begin at 0."""
    _counts.copies = _counts.syncs = 0
    # A weight that moves stays the same object, as on CUDA: peft's layers and our adapters share theirs.
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with _Functions(), _Dispatch():
            yield _counts
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func._schema.name.removeprefix("aten::")
    tensors = _tensors((args, kwargs))
    is_there = [isinstance(tensor, _Emulated) for tensor in tensors]
    goes_there = any(is_there)
    if kwargs.get("device") is not None:
        goes_there = torch.device(kwargs["device"]).type == NAME
        kwargs = {**kwargs, "device": CPU if goes_there else kwargs["device"]}
    if name in ("_to_copy", "copy_"):
        goes_there = is_there[0] if name == "copy_" else goes_there
        _counts.copies += is_there[-1] != goes_there
        _counts.syncs += is_there[-1] and not goes_there
    elif any(is_there):
        _check_places(name, tensors, is_there)
        by_mask = name in INDEXING and any(one is not None and one.dtype is torch.bool for one in args[1])
        _counts.syncs += name in WAITS or by_mask
    result = _computed(name, func, _mapped(_inner, args), _mapped(_inner, kwargs))
    if torch.Tag.inplace_view in func.tags and is_there[0]:
        return _with_shape_of_inner(tensors[0])
    owners = {id(_inner(tensor)): tensor for tensor in tensors}
    return _mapped(lambda one: _wrapped(one, owners), result) if goes_there else result


def _mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same arguments or results with every leaf changed; torch's own functions for trees take far longer."""
    if isinstance(tree, list | tuple):
        return type(tree)([_mapped(change, one) for one in tree])
    if isinstance(tree, dict):
        return {name: _mapped(change, one) for name, one in tree.items()}
    return change(tree)


def _tensors(tree: Any) -> list[Tensor]:
    """The tensors among arguments or results."""
    found: list[Tensor] = []
    _mapped(lambda one: found.append(one) if isinstance(one, Tensor) else None, tree)
    return found


_Step: TypeAlias = tuple[Callable[..., Any], Any, Any, Any]
"""Function, arguments, named arguments and result of an operation, all on the CPU."""
_tape: list[_Step] | None = None
_changed: list[tuple[Tensor, Tensor]] = []
"""Tensors that a capture has changed in place, and what they held before each change."""


def _computed(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """An operation's result; it is noted where a graph is being captured."""
    compute = _FUSED.get(name, func)
    if _tape is None or torch.Tag.inplace_view in func.tags:
        return compute(*args, **kwargs)
    if _counts.copies or _counts.syncs:
        raise RuntimeError(f"{name}: operation not permitted when stream is capturing")
    seen = _views((args, kwargs))  # as they are now: an operation in place may change their shapes later
    _changed.extend((one, one.clone()) for one in _tensors(_written(func, *seen)))
    result = compute(*args, **kwargs)
    _tape.append((compute, *seen, _views(result)))
    return result


def _views(tree: Any) -> Any:
    def view(one: Any) -> Any:
        return one.as_strided(one.size(), one.stride(), one.storage_offset()) if isinstance(one, Tensor) else one

    with torch._C._AutoDispatchBelowAutograd():
        return _mapped(view, tree)


_UNWRITTEN = 99
"""What the results of a capture hold before its first replay, where a GPU's memory holds anything."""


class EmulatedCapture:
    """What `cuda_graph.Capture` is on a GPU: all operations with their addresses, and nothing of Python.

    A copy, or a number that the host asks for, is refused while it captures.
    """

    def __init__(self, work: Callable[[], dict[str, Any]], device: torch.device) -> None:
        """Capture what `work` computes, and leave everything as it was."""
        global _tape
        self._steps: list[_Step] = []
        before, (_counts.copies, _counts.syncs) = (_counts.copies, _counts.syncs), (0, 0)
        _tape = self._steps
        try:
            with mock.patch.object(TorchArrays, "is_capturing", return_value=True):
                self.outputs = work()
        finally:
            _tape = None
            _counts.copies, _counts.syncs = before
            _undo()
        with _disable_current_modes(), torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            for _, args, kwargs, results in self._steps:
                read = _storages((args, kwargs))
                for one in _tensors(results):
                    if _storage(one) not in read:
                        one.fill_(_UNWRITTEN)

    def replay(self) -> None:
        """Compute all again, and write it where it was."""
        with _disable_current_modes(), torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            for compute, args, kwargs, results in self._steps:
                read = _storages((args, kwargs))
                found = _tensors(compute(*args, **kwargs))
                for result, new in zip(_tensors(results), found, strict=True):
                    if _storage(new) not in read:  # else it is there already
                        result.copy_(new)


def _written(func: Any, args: Any, kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that an operation changes in place."""
    schema = func._schema.arguments
    given = {argument.name: one for argument, one in zip(schema, args, strict=False)} | kwargs
    return [given[one.name] for one in schema if one.alias_info and one.alias_info.is_write and one.name in given]


def _undo() -> None:
    with _disable_current_modes(), torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
        while _changed:
            changed, before = _changed.pop()
            changed.copy_(before)


def _storages(tree: Any) -> set[int]:
    return {_storage(one) for one in _tensors(tree)}


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _check_places(name: str, tensors: list[Tensor], is_there: list[bool]) -> None:
    """Refuse tensors of both places, as CUDA does; it takes numbers from the CPU and copies the index of `x[index]`."""
    for tensor, there in zip(tensors, is_there, strict=True):
        if there or tensor.dim() == 0:
            continue
        if name not in INDEXING or tensor.is_floating_point():
            raise RuntimeError(f"{name}: expected all tensors on {DEVICE}, found {tuple(tensor.shape)} on the CPU")
        _counts.copies += 1


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, _Emulated) else value


def _wrapped(value: Any, owners: dict[int, Tensor]) -> Any:
    """A result on the device; one of an operation in place is the argument itself."""
    if not isinstance(value, Tensor):
        return value
    return owners[id(value)] if id(value) in owners else _Emulated(value)


def _with_shape_of_inner(tensor: Any) -> Tensor:
    """A tensor whose shape was changed in place (`transpose_`)."""
    inner = tensor.inner
    with torch._C._DisableTorchDispatch():
        torch.ops.aten.as_strided_.default(tensor, inner.size(), inner.stride(), inner.storage_offset())
    return tensor


def _lstm_cell(inputs: Tensor, hidden: Tensor, memory: Tensor, *biases: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Output, memory and gates of the cell that accelerators compute in one operation."""
    kept, forgotten, content, shown = sum((hidden, *biases), inputs).chunk(4, -1)
    kept, forgotten, content, shown = kept.sigmoid(), forgotten.sigmoid(), content.tanh(), shown.sigmoid()
    after = forgotten * memory + kept * content
    return shown * after.tanh(), after, torch.cat([kept, forgotten, content, shown], -1)


def _lstm_cell_backward(
    output: Tensor | None, memory: Tensor | None, before: Tensor, after: Tensor, gates: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of the gates, the memory before and the bias from those of output and memory after."""
    kept, forgotten, content, shown = gates.chunk(4, -1)
    squashed = after.tanh()
    output = torch.zeros_like(after) if output is None else output
    of_memory = output * shown * (1 - squashed**2) + (0 if memory is None else memory)
    parts = (
        of_memory * content * kept * (1 - kept),
        of_memory * before * forgotten * (1 - forgotten),
        of_memory * kept * (1 - content**2),
        output * squashed * shown * (1 - shown),
    )
    of_gates = torch.cat(parts, -1)
    return of_gates, of_memory * forgotten, of_gates.sum(0) if has_bias else None


def _gru_cell(inputs: Tensor, hidden: Tensor, state: Tensor, *biases: Tensor) -> tuple[Tensor, Tensor]:
    """State and what its gradient needs of the cell that accelerators compute in one operation."""
    of_inputs, of_hidden = biases or (torch.zeros(()), torch.zeros(()))
    reset, update, content = (inputs + of_inputs).chunk(3, -1)
    reset_h, update_h, content_h = (hidden + of_hidden).chunk(3, -1)
    reset, update = (reset + reset_h).sigmoid(), (update + update_h).sigmoid()
    content = (content + reset * content_h).tanh()
    return content + update * (state - content), torch.cat([reset, update, content, state, content_h], -1)


def _gru_cell_backward(gradient: Tensor, kept: Tensor, has_bias: bool) -> tuple[Tensor | None, ...]:
    """Gradients of inputs, hidden, state and both biases."""
    reset, update, content, state, content_h = kept.chunk(5, -1)
    of_update = gradient * (state - content) * update * (1 - update)
    of_content = gradient * (1 - update) * (1 - content**2)
    of_reset = of_content * content_h * reset * (1 - reset)
    of_inputs = torch.cat([of_reset, of_update, of_content], -1)
    of_hidden = torch.cat([of_reset, of_update, of_content * reset], -1)
    biases = (of_inputs.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_inputs, of_hidden, gradient * update, *biases


_FUSED: dict[str, Callable[..., Any]] = {
    "_thnn_fused_lstm_cell": _lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_cell_backward,
    "_thnn_fused_gru_cell": _gru_cell,
    "_thnn_fused_gru_cell_backward": _gru_cell_backward,
}
"""Operations that torch has for accelerators alone."""
