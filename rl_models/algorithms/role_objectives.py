"""Objectives of ROMA, LDSA and MASER: QMIX with other extra losses, or with another reward.

MASER's reward tells each agent how far it is from its sub-goal (`losses/maser.py`).
"""

import dataclasses
from dataclasses import dataclass, field

from torch import Tensor

from rl_models.algorithms.qmix import Qmix
from rl_models.batch import WHOLE, Batch, Share
from rl_models.configuration import list_constants
from rl_models.losses.extra_loss import Statistics
from rl_models.losses.maser import find_subgoals, maser_losses, proxy_reward
from rl_models.losses.roles import RoleLoss
from rl_models.losses.subtasks import SubtaskLoss
from rl_models.networks.role_team_config import MaserConfig, RoleMethod, RoleTeamConfig
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress


def role_objective(config: RoleTeamConfig, method: RoleMethod, qmix: Qmix) -> Qmix:
    """Build the objective of a team of `role_team`, from the constants of Q-learning."""
    if method == "qmix":
        return qmix
    qmix = dataclasses.replace(qmix, agents_leave=False)  # what is added to its loss counts all agents at all steps
    if method == "maser":
        return Maser(**list_constants(qmix, Qmix), config=config.maser)
    added = RoleLoss(config.roma_losses) if method == "roma" else SubtaskLoss(config.ldsa_losses)
    return dataclasses.replace(qmix, extra_losses=(*qmix.extra_losses, added))


@dataclass(frozen=True, kw_only=True)
class Maser(Qmix):
    """QMIX on rewards that are shaped at each update; the replay buffer holds the original rewards.

    `config` has the constants of the rewards and of the losses that are added.
    """

    config: MaserConfig = field(default_factory=MaserConfig)

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """QMIX's loss with the proxy reward, and MASER's three losses: a scalar weighted by the share, and numbers.

        The policy has a representation, and its output covers all T + 1 observations of a batch of the replay.
        """
        subgoals = find_subgoals(output, batch, self.config)
        reward = proxy_reward(batch, subgoals, self.config)
        loss, statistics = self.loss_with_reward(output, batch, progress, reward)
        addition, more = maser_losses(output, batch, subgoals, self.config, self.gamma)
        loss = loss + addition
        return share.steps * loss, statistics | more | {"loss/total": loss.detach()}
