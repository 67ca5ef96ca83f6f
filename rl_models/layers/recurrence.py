"""Recurrent cells over the steps of a fragment, in which episodes begin and end.

`run_gru` steps a GRU cell and clears its state where an episode begins. `SteppedLstm` is an LSTM cell in two parts, so
that the part that depends on the inputs alone is computed for all steps at once.
"""

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


def run_gru(cell: nn.GRUCell, inputs: Tensor, hidden: Tensor, is_first: Tensor) -> Tensor:
    """Hidden states after each step, [B, T, N, hidden_size] float32; the last one is the state to go on from.

    Args:
        cell: the cell, with the same weights for all agents.
        inputs: [B, T, N, F] float32.
        hidden: [B, N, hidden_size] float32, state before the first step.
        is_first: [B, T] bool, an episode begins at this step, so the state is cleared before it.
    """
    states = []
    for step, begins in enumerate(is_first.unbind(1)):
        hidden = hidden.masked_fill(begins[:, None, None], 0.0)
        hidden = cell(inputs[:, step].flatten(0, 1), hidden.flatten(0, 1)).view_as(hidden)
        states.append(hidden)
    return torch.stack(states, 1)


def states_before(states: Tensor, hidden: Tensor, is_first: Tensor) -> Tensor:
    """Hidden states before each step, [B, T, N, hidden_size] float32, 0 where an episode begins.

    Args:
        states: [B, T, N, hidden_size] float32, states after each step, as `run_gru` returns them.
        hidden: [B, N, hidden_size] float32, state before the first step.
        is_first: [B, T] bool, an episode begins at this step.
    """
    return torch.cat([hidden[:, None], states[:, :-1]], 1).masked_fill(is_first[:, :, None, None], 0.0)
