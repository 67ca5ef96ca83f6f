"""QMIX as an objective: a replay of fragments, the squared error of the joint value, and what follows each step.

Beside PPO and IMPALA (`objective.py`) it differs in three places, which the learners ask every objective about: it
keeps what was played (`new_replay`), draws its minibatches from there (`loop.minibatches`), and after each optimiser
step it sets epsilon and from time to time copies the networks to their targets (`after_step`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from rl_models.algorithms.replay import Replay
from rl_models.batch import WHOLE, Batch, Share, decision_mask
from rl_models.losses.extra_loss import ExtraLoss, Statistics
from rl_models.losses.policy_gradient import OverLearners, alone
from rl_models.losses.q_learning import chosen_values, double_q_targets, squared_td_error
from rl_models.networks.qmix_policy import ONLINE, TARGET, QmixPolicy, mixing_of
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.schedule import Progress, Schedule

_BEFORE, _AFTER = slice(None, -1), slice(1, None)


@dataclass(frozen=True, kw_only=True)
class Qmix:
    """Double Q-learning of the team's joint value; the team's reward is the mean of its agents' rewards.

    Defaults are the paper's for StarCraft, with fragments where it has episodes.

    Attributes:
        gamma: discount of an env step.
        epsilon: probability of a random action.
        capacity: fragments that a learner keeps.
        fragments: in a minibatch, of all learners together.
        updates: minibatches after each fragment of all worlds; the paper has one after each episode.
        target_every_updates: when the targets are brought up to date.
        texts: observation keys whose texts the team reads. They are kept as tokens, all other texts are forgotten.
        extra_losses: declared additions; of a batch they find what a replay keeps.
    """

    needs_values: ClassVar[bool] = False
    gamma: float = 0.99
    epsilon: Schedule = field(default_factory=lambda: Schedule.linear(1.0, 0.05, 50_000))
    capacity: int = 5000
    fragments: int = 32
    updates: int = 8
    target_every_updates: int = 200
    texts: tuple[str, ...] = ()
    extra_losses: tuple[ExtraLoss, ...] = ()

    def new_replay(self) -> Replay:
        """An empty one for a learner."""
        return Replay(self.capacity)

    def prepare(self, batch: Batch, over_learners: OverLearners = alone) -> Batch:
        """Put tokens in the place of row numbers, which mean something else in the next fragment.

        Raises:
            ValueError: a world that Q-learning of joint actions does not fit.
        """
        if "actions" not in batch or decision_mask(batch) is not None:
            raise ValueError(
                "QMIX needs a world whose agents all choose one action at every step, and this one has factored "
                "actions, macro actions or agents that leave: train there with PPO or IMPALA"
            )
        rows = {key.replace("texts/", "obs/", 1) for key in batch if key.startswith("texts/")}
        told = {f"obs/{key}": batch[f"texts/{key}"][batch[f"obs/{key}"].long()] for key in self.texts}
        return {key: value for key, value in batch.items() if key not in rows and not key.startswith("texts/")} | told

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a batch of the replay, or on a part that holds this share of it, and numbers to log.

        `output` covers all T + 1 observations.

        Raises:
            ValueError: a team that does not act by action values.
        """
        extras = output.extras
        if f"q/{ONLINE}" not in extras:
            raise ValueError("QMIX needs a team that acts by action values: build it with `rl_models.teams.qmix_team`")
        online, target = extras[f"q/{ONLINE}"], extras[f"q/{TARGET}"]
        joint_values = mixing_of(extras, ONLINE, _BEFORE)(chosen_values(online[:, :-1], batch["actions"]))
        reward = batch["reward"].mean(-1)
        discounts = self.gamma * (~batch["terminated"]).float()
        following = mixing_of(extras, TARGET, _AFTER)
        targets = double_q_targets(reward, discounts, online[:, 1:], target[:, 1:], following)
        # Where an episode was merely stopped, what followed is not in the fragment: the step teaches nothing.
        loss = squared_td_error(joint_values, targets, ~batch["truncated"])
        statistics: Statistics = {
            "loss/td": loss.detach(),
            "policy/joint_value": joint_values.detach().mean(),
            "policy/joint_target": targets.mean(),
            "schedule/epsilon": self.epsilon.at(progress),
        }
        for extra in self.extra_losses:
            addition, more = extra(output, batch, progress)
            loss = loss + addition
            statistics |= more
        return share.steps * loss, statistics | {"loss/total": loss.detach()}

    def after_step(self, policy: TeamPolicy, progress: Progress) -> None:
        """Set epsilon for whoever acts next, and bring the targets up to date when it is time."""
        assert isinstance(policy, QmixPolicy)  # the loss has seen its values
        policy.policy_head.epsilon.fill_(self.epsilon.at(progress))
        if progress.updates % self.target_every_updates == 0:
            policy.copy_to_targets()
