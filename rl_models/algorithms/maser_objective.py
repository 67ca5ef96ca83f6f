"""MASER as an objective: QMIX whose rewards tell each agent how far it is from its sub-goal (`losses/maser.py`)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from torch import Tensor

from rl_models.algorithms.qmix import Qmix
from rl_models.batch import Batch
from rl_models.losses.maser import MaserConfig, MaserLoss, find_subgoals, proxy_reward
from rl_models.policy import TeamOutput


@dataclass(frozen=True, kw_only=True)
class Maser(Qmix):
    """QMIX on rewards that are shaped anew whenever a fragment is learned from; what is replayed stays as it is.

    Attributes:
        config: constants of the rewards.
    """

    config: MaserConfig = field(default_factory=MaserConfig)

    def team_reward(self, output: TeamOutput, batch: Batch) -> Tensor:
        """The proxy reward, [B, T] float32 without gradient.

        Args:
            output: of a policy with a representation, at all T + 1 observations.
            batch: of the replay.
        """
        return proxy_reward(batch, find_subgoals(output, batch, self.config), self.config)


def maser_objective(qmix: Qmix, config: MaserConfig) -> Maser:
    """MASER with the constants of a configured QMIX.

    Args:
        qmix: the constants that both share.
        config: MASER's own.
    """
    shared = {field.name: getattr(qmix, field.name) for field in dataclasses.fields(Qmix)}
    losses = (*qmix.extra_losses, MaserLoss(config, qmix.gamma))
    return Maser(**shared | {"extra_losses": losses}, config=config)
