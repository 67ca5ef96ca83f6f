"""Training state as named tensors, so that checkpoints need nothing but safetensors and JSON."""

from __future__ import annotations

import torch
from torch import Tensor


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state, `INDEX.NAME` -> tensor; hyper-parameters belong to the configuration, not here."""
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{name}": torch.as_tensor(value).detach().cpu()
        for index, entries in state.items()
        for name, value in entries.items()
    }


def load_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put `optimiser_tensors` back into an optimiser over the same parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
