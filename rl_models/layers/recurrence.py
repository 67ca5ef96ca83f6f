"""An LSTM taken apart: what depends on its inputs alone is computed for all steps at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SteppedLstm(nn.LSTMCell):
    """`nn.LSTMCell` with its input side and its step apart; the batch shape is free."""

    def input_gates(self, inputs: Tensor) -> Tensor:
        """[..., F] -> [..., 4 hidden], the part of the gates that does not depend on the state."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias_ih + self.bias_hh)

    def step(self, gates: Tensor, output: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """One step.

        Args:
            gates: [..., 4 hidden], of `input_gates`.
            output: [..., hidden], what the LSTM said last.
            memory: [..., hidden], its cell.

        Returns:
            output and memory afterwards.
        """
        gates = gates + nn.functional.linear(output, self.weight_hh)
        write, forget, content, show = gates.chunk(4, dim=-1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(write) * torch.tanh(content)
        return torch.sigmoid(show) * torch.tanh(memory), memory
