"""Joint policy over collective actions: selected units, then one command for all of them (RED, section 3).

An agent first draws whether anything is commanded at all (`stop`), and draws a flag for each unit. The command and its
arguments are then drawn from distributions that depend on the flags, so the log-probability is a chain of conditionals
and needs the flags: while learning they are recomputed from the recorded ones. With `used_heads_only` it is the exact
log-probability of what happens: nothing after `stop`, nothing after empty flags, and of the arguments those that the
drawn command has. Without, it is the sum over all factors as in the released code, where the advantage also trains
factors without effect.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from rl_models.distributions.joint_policy import inverse_cdf

Later: TypeAlias = Callable[[dict[str, Tensor], Tensor], dict[str, Tensor]]
"""Inputs [..., N, ...] and flags [..., N, U] int64 -> factor -> log-probabilities [..., N, A], the command first."""


@dataclass(frozen=True)
class CollectiveFactors:
    """Names and meanings of the factors of an action.

    Attributes:
        stop: 1 if nothing is commanded.
        flags: U names, 1 for a selected unit.
        command: the command's name.
        arguments: name -> numbers of the commands that have this argument.
    """

    stop: str
    flags: tuple[str, ...]
    command: str
    arguments: Mapping[str, tuple[int, ...]]

    @property
    def num_uniforms(self) -> int:
        """Numbers that one agent's sample takes."""
        return len(self.flags) + 2 + len(self.arguments)


@dataclass(frozen=True)
class CollectivePolicy:
    """N agents that choose a collective action each, independently of one another.

    Attributes:
        factors: names of an action's factors.
        log_stop: [..., N, 2] float32, normalised.
        log_flags: [..., N, U, 2] float32, normalised; a unit that cannot be selected has probability 0 of 1.
        inputs: name -> [..., N, ...], what the later factors are computed from.
        later: function that computes the later factors.
        used_heads_only: whether only factors with an effect count.
    """

    explores: ClassVar[bool] = False
    factors: CollectiveFactors
    log_stop: Tensor
    log_flags: Tensor
    inputs: dict[str, Tensor]
    later: Later
    used_heads_only: bool = True
    _known: list[tuple[Tensor, dict[str, Tensor]]] = field(init=False, repr=False, compare=False, default_factory=list)

    @property
    def num_agents(self) -> int:
        """N."""
        return self.log_stop.shape[-2]

    @property
    def num_uniforms(self) -> int:
        """U, number of uniform numbers that one sample takes."""
        return self.num_agents * self.factors.num_uniforms

    def first_steps(self, steps: int) -> CollectivePolicy:
        """The policy at the first `steps` steps of its batch shape [B, T]."""
        inputs = {name: value[:, :steps] for name, value in self.inputs.items()}
        cut = self.log_stop[:, :steps], self.log_flags[:, :steps], inputs
        return CollectivePolicy(self.factors, *cut, self.later, self.used_heads_only)

    # ----------------------------------------------------------------------------------------------------- actions

    def sample(self, uniforms: Tensor) -> tuple[dict[str, Tensor], Tensor]:
        """Uniforms [..., U] in [0, 1) -> factor -> actions [..., N] int64; component [...] int64, always 0."""
        drawn = uniforms.unflatten(-1, (self.num_agents, -1))
        units = len(self.factors.flags)
        stop = inverse_cdf(self.log_stop, drawn[..., 0])
        flags = inverse_cdf(self.log_flags, drawn[..., 1 : 1 + units])
        later = self._later(flags)
        rest = {
            name: inverse_cdf(found, drawn[..., 1 + units + number])
            for number, (name, found) in enumerate(later.items())
        }
        return self._joined(stop, flags, rest)

    def mode(self) -> tuple[dict[str, Tensor], Tensor]:
        """The likeliest choice of each factor in turn, factor -> [..., N] int64; component [...] int64."""
        flags = self.log_flags.argmax(-1)
        rest = {name: found.argmax(-1) for name, found in self._later(flags).items()}
        return self._joined(self.log_stop.argmax(-1), flags, rest)

    def _joined(self, stop: Tensor, flags: Tensor, rest: dict[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
        each = dict(zip(self.factors.flags, flags.unbind(-1), strict=True))
        return {self.factors.stop: stop, **rest, **each}, torch.zeros_like(stop[..., 0])

    # ------------------------------------------------------------------------------------------------ probabilities

    def log_prob(self, actions: dict[str, Tensor], decides: Tensor | None = None) -> Tensor:
        """Joint log-probability of the agents that decide ([..., N] bool; None: all), [...] float32.

        Actions are factor -> [..., N] int64.
        """
        each = self.agent_log_prob(actions)
        return (each if decides is None else each.masked_fill(~decides, 0.0)).sum(-1)

    def component_log_prob(self, actions: dict[str, Tensor], component: Tensor) -> Tensor:
        """Each agent's log-probability of its own action, [..., N] float32; the component [...] is not used.

        Actions are factor -> [..., N] int64.
        """
        return self.agent_log_prob(actions)

    def agent_log_prob(self, actions: dict[str, Tensor]) -> Tensor:
        """Each agent's log-probability of its own action, factor -> [..., N] int64 to [..., N] float32."""
        flags = torch.stack([actions[name] for name in self.factors.flags], -1)
        later = {name: _chosen(found, actions[name]) for name, found in self._later(flags).items()}
        stop, flagged = _chosen(self.log_stop, actions[self.factors.stop]), _chosen(self.log_flags, flags).sum(-1)
        if not self.used_heads_only:
            return stop + flagged + torch.stack(list(later.values())).sum(0)
        command = actions[self.factors.command]
        commanded = later[self.factors.command]
        for name, commands in self.factors.arguments.items():
            commanded = commanded + _where(is_member(command, commands), later[name])
        goes_on = actions[self.factors.stop] == 0
        return stop + _where(goes_on, flagged + _where(flags.any(-1), commanded))

    # ------------------------------------------------------------------------------------------------------ entropy

    def component_entropy(self) -> Tensor:
        """Entropy of each agent's action, [..., N] float32, in nats.

        `stop` and the flags are exact. What follows depends on the flags, of which there are 2**U: it is taken at those
        of the action last drawn or asked about, whose mean over draws is the exact entropy; before any, at the mode.
        Its gradient leaves out how the flags' probabilities change what follows.
        """
        return self.entropy_given(self._known[0][0] if self._known else self.log_flags.argmax(-1))

    def marginal_entropy(self) -> Tensor:
        """Same as `component_entropy`, [..., N] float32 in nats, since there is one component."""
        return self.component_entropy()

    def entropy_given(self, flags: Tensor) -> Tensor:
        """Entropy with the later factors at these flags [..., N, U] int64, [..., N] float32 in nats."""
        later = self._later(flags)
        of = {name: _entropy(found) for name, found in later.items()}
        flagged = _entropy(self.log_flags).sum(-1)
        if not self.used_heads_only:
            return _entropy(self.log_stop) + flagged + torch.stack(list(of.values())).sum(0)
        chances = later[self.factors.command].exp()
        commanded = of[self.factors.command]
        for name, commands in self.factors.arguments.items():
            chosen = torch.stack([chances[..., one] for one in commands]).sum(0)
            commanded = commanded + chosen * of[name]
        goes_on = self.log_stop[..., 0].exp()
        return _entropy(self.log_stop) + goes_on * (flagged + _where(flags.any(-1), commanded))

    def _later(self, flags: Tensor) -> dict[str, Tensor]:
        """Log-probabilities of command and arguments, in this order; those of the last flags are kept."""
        if not self._known or self._known[0][0] is not flags:
            found = self.later(self.inputs, flags)
            self._known[:] = [(flags, {name: found[name] for name in (self.factors.command, *self.factors.arguments)})]
        return self._known[0][1]


def _chosen(log_probabilities: Tensor, actions: Tensor) -> Tensor:
    return log_probabilities.gather(-1, actions[..., None]).squeeze(-1)


def _where(mask: Tensor, values: Tensor) -> Tensor:
    """Values where the mask is True, elsewhere 0 without gradient."""
    return torch.where(mask, values, 0.0)


def is_member(command: Tensor, commands: tuple[int, ...]) -> Tensor:
    """Whether numbers [...] int64 are among some, [...] bool; without a copy to the device."""
    return functools.reduce(torch.logical_or, [command == one for one in commands])


def _entropy(log_probabilities: Tensor) -> Tensor:
    """Over the last axis, in nats; impossible outcomes add nothing."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)
