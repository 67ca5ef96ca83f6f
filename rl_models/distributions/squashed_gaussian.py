"""Diagonal Gaussians squashed by tanh and rescaled to finite bounds, one for each agent and mixture component.

Log-probabilities are computed from the stored sample u before tanh and never by inverting tanh, so they and their
gradients are finite at the bounds: log p(a) = log N(u; mean, std) - log(1 - tanh(u)^2) - log((high - low) / 2).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rl_models.distributions.joint_policy import select_component

LOG_STD_RANGE = -5.0, 1.0
"""Lowest and highest logarithm of a standard deviation; a wider Gaussian puts all of its mass on the two bounds."""
_AT_0 = math.log(-LOG_STD_RANGE[0] / LOG_STD_RANGE[1])
_NODES = 24
_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_NEARLY_0 = 2.0**-53
"""Smallest uniform number whose normal quantile is taken, so that a sample is finite."""


def bounded_log_std(outputs: Tensor) -> Tensor:
    """Logarithms of standard deviations within `LOG_STD_RANGE` [...] float32, of any numbers [...] float32.

    A scaled tanh, as implementations of SAC have it, with a gradient everywhere where a clamp has none outside of its
    bounds; it is shifted so that 0 becomes 0, a standard deviation of 1, around which its slope is nearly 1.
    """
    low, high = LOG_STD_RANGE
    return low + (high - low) / 2 * (((outputs + _AT_0) / 2).tanh() + 1)


@dataclass(frozen=True)
class SquashedGaussian:
    """Gaussians of N agents and M components over D numbers; a number whose bounds are equal is no choice.

    Attributes:
        mean, log_std: [..., N, M, D] float32, before tanh.
        low, high: [N, D] float32, bounds of the actions.
    """

    mean: Tensor
    log_std: Tensor
    low: Tensor
    high: Tensor

    def __getitem__(self, index: tuple[slice, ...] | slice) -> SquashedGaussian:
        """The Gaussians at an index of the batch shape."""
        return SquashedGaussian(self.mean[index], self.log_std[index], self.low, self.high)

    def repeat(self, times: int) -> SquashedGaussian:
        """The Gaussians of one step, [B, 1], as those of `times` equal steps."""
        shape = (-1, times, -1, -1, -1)
        return SquashedGaussian(self.mean.expand(shape), self.log_std.expand(shape), self.low, self.high)

    def sample(self, uniforms: Tensor, component: Tensor) -> Tensor:
        """Samples before tanh, [..., N, D] float32, by inverse CDF of uniforms [..., N, D] in [0, 1)."""
        normal = torch.special.ndtri(uniforms.double().clamp(_NEARLY_0, 1 - _NEARLY_0)).to(self.mean.dtype)
        return select_component(self.mean, component) + select_component(self.log_std, component).exp() * normal

    def squash(self, before_tanh: Tensor) -> Tensor:
        """Actions within the bounds: [..., N, D] before tanh -> [..., N, D] float32."""
        middle = (self.high + self.low) / 2
        return torch.clamp(middle + (self.high - self.low) / 2 * before_tanh.tanh(), self.low, self.high)

    def log_prob(self, before_tanh: Tensor) -> Tensor:
        """Log-density under each component, [..., N, M] float32, of samples before tanh [..., N, D]."""
        sample = before_tanh[..., None, :]
        normal = -0.5 * ((sample - self.mean) * (-self.log_std).exp()) ** 2 - self.log_std - _LOG_ROOT_2PI
        return self._sum_of_free(normal - _log_slope(sample) - self._log_scale())

    def entropy(self) -> Tensor:
        """Differential entropy of each component, [..., N, M] float32, in nats.

        H(a) = H(u) + E[log(1 - tanh(u)^2)] + log((high - low) / 2), the expectation by Gauss-Hermite quadrature.
        """
        nodes, weights = _quadrature(self.mean.device)
        points = self.mean[..., None] + self.log_std.exp()[..., None] * nodes
        slope = (_log_slope(points) * weights).sum(-1)
        return self._sum_of_free(self.log_std + 0.5 + _LOG_ROOT_2PI + slope + self._log_scale())

    def log_overlap(self) -> Tensor:
        """Log of the Bhattacharyya coefficient of each pair of components, [..., N, M, M] float32, as without tanh."""
        variance = (2 * self.log_std).exp()
        both = variance[..., :, None, :] + variance[..., None, :, :]
        between = (self.mean[..., :, None, :] - self.mean[..., None, :, :]) ** 2
        log_stds = self.log_std[..., :, None, :] + self.log_std[..., None, :, :]
        distance = between / (4 * both) + 0.5 * ((both / 2).log() - log_stds)
        return -(distance * self._is_free()[:, None, None, :]).sum(-1)

    def _is_free(self) -> Tensor:
        """[N, D] bool, numbers that an agent chooses."""
        return self.high > self.low

    def _log_scale(self) -> Tensor:
        """[N, 1, D], log of half the distance of the bounds."""
        half = torch.where(self._is_free(), (self.high - self.low) / 2, 1.0)
        return half.log()[:, None, :]

    def _sum_of_free(self, each: Tensor) -> Tensor:
        """Sum over the numbers that an agent chooses, [..., N, M, D] -> [..., N, M]."""
        return torch.where(self._is_free()[:, None, :], each, 0.0).sum(-1)


def _log_slope(before_tanh: Tensor) -> Tensor:
    """log(1 - tanh(u)^2), finite for every u."""
    return 2 * (math.log(2) - before_tanh - torch.nn.functional.softplus(-2 * before_tanh))


@functools.cache
def _quadrature(device: torch.device) -> tuple[Tensor, Tensor]:
    """Nodes and weights of the expectation under a standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    with torch.inference_mode(False):
        pair = torch.tensor(np.stack([nodes, weights / weights.sum()]), dtype=torch.float32, device=device)
    return pair[0], pair[1]
