"""Recurrent cells over the steps of a fragment, in which episodes begin and end.

`run_gru` steps a GRU cell and clears its state where an episode begins. `SteppedLstm` is an LSTM cell in two parts, so
that the part that depends on the inputs alone is computed for all steps at once.
"""

from typing import Any

import torch
from torch import Tensor, nn


class SteppedLstm(nn.LSTMCell):
    """`nn.LSTMCell` with separate methods for the input and the step; it takes any batch shape."""

    def input_gates(self, inputs: Tensor) -> Tensor:
        """The part of the gates that does not depend on the state: [..., F] -> [..., 4 * hidden_size] float32."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias_ih + self.bias_hh)

    def step(self, gates: Tensor, output: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Output and cell state [..., hidden_size] after a step.

        From gates [..., 4 * hidden_size] of `input_gates`, and output [..., hidden_size] and cell state [...,
        hidden_size] of the step before.
        """
        gates = gates + nn.functional.linear(output, self.weight_hh)
        input_gate, forget_gate, content, output_gate = gates.chunk(4, dim=-1)
        memory = torch.sigmoid(forget_gate) * memory + torch.sigmoid(input_gate) * torch.tanh(content)
        return torch.sigmoid(output_gate) * torch.tanh(memory), memory


def run_gru(cell: nn.GRUCell, inputs: Tensor, hidden: Tensor, is_first: Tensor) -> Tensor:
    """Hidden states after each step, [B, T, N, hidden_size] float32; the last one is the state to go on from.

    Inputs are [B, T, N, F], the state before them [B, N, hidden_size], cleared where `is_first` [B, T] says that an
    episode begins.
    """
    by_step = inputs.transpose(0, 1).flatten(0, 2)
    gates = nn.functional.linear(by_step, cell.weight_ih, cell.bias_ih).to(hidden.dtype)  # autocast narrows them
    steps = gates.view(inputs.shape[1], -1, gates.shape[-1])
    goes_on = ~is_first.T[..., None].expand(-1, -1, inputs.shape[2]).flatten(1)[..., None]
    states: Tensor = _GruSteps.apply(steps, hidden.flatten(0, 1), goes_on, cell.weight_hh, cell.bias_hh)
    return states.unflatten(1, hidden.shape[:2]).transpose(0, 1).contiguous()


class _GruSteps(torch.autograd.Function):
    """The steps of a GRU, whose backward pass is written out: a graph of all steps costs as much as their arithmetic.

    With s the state before a step (0 where an episode begins), x the gates' input part and y = W s + b, of the gates r,
    z and n: r = sigmoid(x_r + y_r), z = sigmoid(x_z + y_z), n = tanh(x_n + r y_n), and the state is n + z (s - n).
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, hidden: Tensor, goes_on: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """States [T, K, H] from the gates' input parts [T, K, 3 H], the state before [K, H] and goes_on [T, K, 1]."""
        size = hidden.shape[-1]
        both, last = gates.split((2 * size, size), -1)
        reached, before = torch.empty_like(gates), torch.empty_like(last)
        reset_update, new, states = torch.empty_like(both), torch.empty_like(last), torch.empty_like(last)
        for step in range(len(gates)):
            torch.mul(hidden, goes_on[step], out=before[step])
            y = torch.addmm(bias, before[step], weight.T, out=reached[step])
            reset_update_now = torch.add(both[step], y[:, : 2 * size], out=reset_update[step]).sigmoid_()
            reset, update = reset_update_now.split(size, -1)
            new_now = torch.addcmul(last[step], reset, y[:, 2 * size :], out=new[step]).tanh_()
            hidden = torch.lerp(new_now, before[step], update, out=states[step])
        ctx.save_for_backward(goes_on, weight, reached, before, reset_update, new)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the gates' input parts, of the state before, of the weight and of the bias."""
        goes_on, weight, reached, before, reset_update, new = ctx.saved_tensors
        size, (of_states,) = before.shape[-1], gradients
        reset, update = reset_update.split(size, -1)
        # What the gradient of a state is multiplied by to become that of the gates, reached and as input.
        of_new = (1 - update) * (1 - new.square())
        of_update = (before - new) * update * (1 - update)
        of_reset = of_new * reached[..., 2 * size :] * reset * (1 - reset)
        of_reached = torch.stack([of_reset, of_update, of_new * reset], 2)
        totals, parts, carried = torch.empty_like(of_states), torch.empty_like(of_reached), torch.zeros_like(before[0])
        for step in reversed(range(len(of_states))):
            torch.add(of_states[step], carried, out=totals[step])
            torch.mul(totals[step][:, None], of_reached[step], out=parts[step])
            kept = totals[step] * update[step]
            carried = kept.addmm_(parts[step].flatten(1), weight).mul_(goes_on[step])
        parts = parts.flatten(2)
        of_gates = torch.cat([parts[..., : 2 * size], totals * of_new], -1)
        parts = parts.flatten(0, 1)
        return of_gates, carried, None, parts.T @ before.flatten(0, 1), parts.sum(0)


def states_before(states: Tensor, hidden: Tensor, is_first: Tensor) -> Tensor:
    """Hidden states before each step, [B, T, N, hidden_size] float32, 0 where an episode begins.

    From the states of `run_gru` [B, T, N, hidden_size], that before the first step [B, N, hidden_size] and `is_first`
    [B, T] bool.
    """
    return torch.cat([hidden[:, None], states[:, :-1]], 1).masked_fill(is_first[:, :, None, None], 0.0)
