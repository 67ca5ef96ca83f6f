"""Heads of a collective action: stop, selected units, command and arguments (RED, section 3).

Command and arguments are computed from the mean features of the selected units. A choice is legal if at least one of
them can take it; where nothing is legal, everything is, and has no effect.
"""

import math

import torch
from torch import Tensor, nn

from rl_models.distributions.collective import CollectiveFactors, CollectivePolicy
from rl_models.distributions.joint_policy import legal_logits, legal_or_all
from rl_models.heads.mixture_heads import LayeredValueHead
from rl_models.layers.weight_norm import NormalisedLinear
from rl_models.policy import Features
from rl_models.unit_spec import CELLS, CONTEXT, LEGAL, OWN_MASK, TARGETS, UNITS, UnitSpec, UnitWidths


class CollectiveHead(nn.Module):
    """Features of `CommandedUnits` -> `CollectivePolicy`."""

    components = 1

    def __init__(self, widths: UnitWidths, spec: UnitSpec, hidden_size: int, used_heads_only: bool = True) -> None:
        """Build the layers; hidden layers that point are as wide as what they point at."""
        super().__init__()
        self._spec, self._used_heads_only = spec, used_heads_only
        units, context = widths.units, widths.context
        self.num_actions = spec.num_commands
        self.stop = nn.Sequential(_hidden(widths.features, hidden_size), NormalisedLinear(hidden_size, 2))
        self.select = _classes(units + context, hidden_size, 1)
        self.command = _classes(units + context, hidden_size, spec.num_commands)
        self._pointers = {one.pointer: (one.name, one.targeted_by) for one in spec.others if one.pointer}
        self._cells = [one.factor for one in spec.arguments if not one.size]
        self.point = nn.ModuleDict({name: _hidden(units, widths.others) for name in (*self._pointers, *self._cells)})
        self.choose = nn.ModuleDict(
            {one.factor: _classes(units, hidden_size, one.size) for one in spec.arguments if one.size}
        )
        needed: dict[str, tuple[int, ...]] = {name: (command,) for name, (_, command) in self._pointers.items()}
        needed |= {one.factor: one.commands for one in spec.arguments}
        self._factors = CollectiveFactors(spec.stop, spec.flags, spec.commands, needed)

    def forward(self, features: Features) -> CollectivePolicy:
        """Features with the extras of `CommandedUnits` -> policy with batch shape [B, T]."""
        inputs = dict(features.extras)
        inputs[LEGAL] = self._legal_commands(inputs)
        units, context = inputs[UNITS], inputs[CONTEXT]
        beside = context.unsqueeze(-2).expand(*units.shape[:-1], -1)
        wish = self.select(torch.cat([units, beside], -1))
        selectable = inputs[LEGAL].any(-1)
        flags = torch.cat([torch.zeros_like(wish), legal_logits(wish, selectable[..., None])], -1)
        stop = self.stop(features.features)
        return CollectivePolicy(
            self._factors, stop.log_softmax(-1), flags.log_softmax(-1), inputs, self.later, self._used_heads_only
        )

    def later(self, inputs: dict[str, Tensor], flags: Tensor) -> dict[str, Tensor]:
        """Log-probabilities of the command and of its arguments, factor -> [B, T, N, A] float32.

        `inputs` are the features' extras, name -> [B, T, N, ...], and flags [B, T, N, U] int64 are 1 for selected
        units.
        """
        chosen = (flags > 0) & inputs[OWN_MASK]
        number = chosen.sum(-1, keepdim=True).clamp(min=1)
        mean = (inputs[UNITS] * chosen[..., None]).sum(-2) / number
        legal = {self._spec.commands: _any_selected(inputs[LEGAL], chosen)}
        legal |= {name: inputs[f"{LEGAL}{name}"] for name in self._pointers}
        for one in self._spec.arguments:
            if one.legal:
                mask = inputs[f"{LEGAL}{one.legal}"]
                legal[one.factor] = mask if mask.ndim == chosen.ndim else _any_selected(mask, chosen)
        logits = {self._spec.commands: self.command(torch.cat([mean, inputs[CONTEXT]], -1))}
        logits |= {name: layers(mean) for name, layers in self.choose.items()}
        logits |= {
            name: _point(self.point[name](mean), inputs[f"{TARGETS}{of}"]) for name, (of, _) in self._pointers.items()
        }
        if self._cells:  # all at once, because there are many more cells than pointing agents
            wanted = torch.stack([self.point[name](mean) for name in self._cells], -2)
            logits |= zip(self._cells, _point(wanted, inputs[CELLS]).unbind(-2), strict=True)
        return {
            name: legal_logits(each, legal_or_all(legal.get(name))).log_softmax(-1) for name, each in logits.items()
        }

    def _legal_commands(self, inputs: dict[str, Tensor]) -> Tensor:
        """[B, T, N, U, C] bool, commands that an agent's unit can take now, with their arguments; never to continue."""
        spec = self._spec
        legal = inputs[f"{LEGAL}{spec.legal_commands}"] & inputs[OWN_MASK][..., None]
        possible = [torch.ones_like(legal[..., 0]) for _ in range(spec.num_commands - 1)]
        for name, (_, command) in self._pointers.items():
            possible[command] = possible[command] & inputs[f"{LEGAL}{name}"].any(-1, keepdim=True)
        for one in spec.arguments:
            if one.legal:
                mask = inputs[f"{LEGAL}{one.legal}"]
                there = mask.any(-1) if mask.ndim == legal.ndim else mask.any(-1, keepdim=True)
                for command in one.commands:
                    possible[command] = possible[command] & there
        return legal & torch.stack([*possible, torch.zeros_like(legal[..., 0])], -1)


class NormalValueHead(LayeredValueHead):
    """A linear value of the global features, orthogonal with gain sqrt 2."""

    def __init__(self, features: int) -> None:
        super().__init__(features)
        weight, bias = self.value.parameters()
        nn.init.orthogonal_(weight, math.sqrt(2))
        nn.init.zeros_(bias)


def _hidden(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(NormalisedLinear(inputs, width), nn.ReLU())


def _classes(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(_hidden(inputs, width), nn.Linear(width, outputs, bias=False))


def _point(wanted: Tensor, places: Tensor) -> Tensor:
    """Vectors [..., F] or [..., P, F] and places [..., K, F] -> scaled products [..., K] or [..., P, K] float32."""
    vectors = wanted if wanted.ndim == places.ndim else wanted.unsqueeze(-2)
    return (vectors @ places.mT).view(*wanted.shape[:-1], places.shape[-2]) / math.sqrt(places.shape[-1])


def _any_selected(legal: Tensor, chosen: Tensor) -> Tensor:
    """[..., U, A] bool and selected units [..., U] -> [..., A] bool, what at least one of them may."""
    return (legal & chosen[..., None]).any(-2)
