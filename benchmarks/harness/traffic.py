"""Operations of torch and the memory that they read and write: what bounds a loop that never waits for the host."""

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_PICKED = ("aten.index.", "aten.gather.", "aten.take.", "aten.index_select.")
_WRITTEN_IN_PART = ("aten.index_copy_.", "aten.index_put_.", "aten.scatter_add_.")


class Traffic(TorchDispatchMode):
    """Counts the operations on tensors (each a kernel at least) and the `bytes` of their inputs and outputs.

    Views cost nothing. Where an operation reads or writes entries of a tensor, these count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operation, and count it."""
        result = function(*args, **(kwargs or {}))
        inputs, outputs = (
            [one for one in tree_leaves(some) if isinstance(one, Tensor)] for some in ((args, kwargs), result)
        )
        writes = any(one.alias_info and one.alias_info.is_write for one in function._schema.arguments)
        places = {one.data_ptr() for one in inputs}
        if not writes and all(one.data_ptr() in places for one in outputs):
            return result
        name = str(function)
        if name.startswith(_WRITTEN_IN_PART):
            inputs, outputs = inputs[1:], inputs[1:]
        elif name.startswith(_PICKED):
            inputs = [*inputs[1:], *outputs]
        self.operations += 1
        self.bytes += sum(one.nbytes for one in [*inputs, *outputs])
        return result
