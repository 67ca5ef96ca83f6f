"""Dual-clip PPO (Ye et al., 2020, eq. 5): `--learner.algorithm examples.dual_clip:DualClipPpo`."""

from torch import Tensor

from rl_models.algorithms.ppo import Ppo
from rl_models.losses.policy_gradient import team_mean


class DualClipPpo(Ppo):
    """PPO whose surrogate is at least `dual_clip` times the advantage, where that is negative."""

    dual_clip = 3.0

    def policy_loss(self, log_ratio: Tensor, advantages: Tensor, mask: Tensor | None) -> Tensor:
        """Dual-clipped surrogate loss, a scalar."""
        ratio = log_ratio.exp()
        surrogate = (ratio * advantages).minimum(ratio.clamp(1 - self.clip_range, 1 + self.clip_range) * advantages)
        return -team_mean(surrogate.where(advantages >= 0, surrogate.maximum(self.dual_clip * advantages)), mask)
