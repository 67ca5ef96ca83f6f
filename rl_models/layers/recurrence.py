"""LSTM cell in two parts, so that the part that depends on the inputs alone is computed for all steps at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SteppedLstm(nn.LSTMCell):
    """`nn.LSTMCell` with separate methods for the input and the step; it takes any batch shape."""

    def input_gates(self, inputs: Tensor) -> Tensor:
        """The part of the gates that does not depend on the state: [..., F] -> [..., 4 * hidden_size] float32."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias_ih + self.bias_hh)

    def step(self, gates: Tensor, output: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """One step of the LSTM.

        Args:
            gates: [..., 4 * hidden_size] float32, as `input_gates` returns them.
            output: [..., hidden_size] float32, output of the last step.
            memory: [..., hidden_size] float32, cell state after the last step.

        Returns:
            output [..., hidden_size] and memory [..., hidden_size] after this step.
        """
        gates = gates + nn.functional.linear(output, self.weight_hh)
        input_gate, forget_gate, content, output_gate = gates.chunk(4, dim=-1)
        memory = torch.sigmoid(forget_gate) * memory + torch.sigmoid(input_gate) * torch.tanh(content)
        return torch.sigmoid(output_gate) * torch.tanh(memory), memory
