"""QMIX as an objective: a replay of fragments, the squared error of the joint value, and what follows each step.

It differs from PPO and IMPALA in three methods of the protocol: it keeps fragments in a replay (`new_replay`), draws
its minibatches from there (`minibatches`), and after each optimiser step it sets epsilon and from time to time copies
the networks to their targets (`after_step`). RLlib no longer has QMIX; here it alternates sampling and learning as PPO
does, in PPO's loop.

Agents may leave the game before an episode ends. PyMARL gives an agent that is dead one action that does nothing, and
mixes its value. Here such an agent is mixed as 0, by the online and the target mixer, and takes no part in the best
joint action; an empty team has no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, cast

import torch
from torch import Tensor

from rl_models.algorithms.actor_critic import with_extra_losses
from rl_models.algorithms.learner_config import QmixConfig, QmixLearnerConfig
from rl_models.algorithms.replay import Replay
from rl_models.batch import ALONE, WHOLE, Batch, Learners, Share, alive_mask
from rl_models.configuration import list_constants
from rl_models.losses.extra_loss import ExtraLoss, Statistics
from rl_models.losses.q_learning import chosen_values, double_q_values, squared_td_error, td_targets
from rl_models.networks.qmix_policy import ONLINE, TARGET, QmixPolicy, make_mixing
from rl_models.policy import TeamOutput, TeamPolicy
from rl_models.runtime.device import move
from rl_models.schedule import Progress, Schedule

_BEFORE, _AFTER = slice(None, -1), slice(1, None)


def qmix_objective(config: QmixLearnerConfig, gamma: float, batch_env_steps: int, texts: tuple[str, ...] = ()) -> Qmix:
    """Build the objective of QMIX.

    `batch_env_steps` are played between two updates, of all worlds; `texts` are the observation keys that the team
    reads.
    """
    return Qmix(
        **list_constants(config, QmixConfig),
        gamma=gamma,
        epsilon=Schedule.linear(1.0, config.exploration_final_epsilon, config.exploration_env_steps),
        gradient_steps=max(1, batch_env_steps // config.train_every_env_steps),
        texts=texts,
    )


@dataclass(frozen=True, kw_only=True)
class Qmix(QmixConfig):
    """Double Q-learning of the team's joint value; the team's reward is the mean of its agents' rewards.

    A minibatch is that of all learners together.

    Attributes:
        gamma: discount of an env step.
        epsilon: probability of a random action.
        gradient_steps: minibatches after each fragment of all worlds; the paper has one after each episode.
        texts: observation keys whose texts the team reads. They are stored as tokens, other texts are dropped.
        extra_losses: declared additions; they read only batch keys that a replay keeps.
        agents_leave: whether agents may leave before an episode ends; not where an extra loss would count them.
    """

    takes_turns: ClassVar[bool] = True
    needs_values: ClassVar[bool] = False
    gradient_accumulation_steps: ClassVar[int] = 1
    target_kl: ClassVar[float] = 0.0
    gamma: float = 0.99
    epsilon: Schedule = field(default_factory=lambda: Schedule.linear(1.0, 0.05, 50_000))
    gradient_steps: int = 8
    texts: tuple[str, ...] = ()
    extra_losses: tuple[ExtraLoss, ...] = ()
    agents_leave: bool = True

    def new_replay(self) -> Replay:
        """An empty replay for a learner."""
        return Replay(self.buffer_size)

    def prepare(self, batch: Batch, learners: Learners = ALONE) -> Batch:
        """Replace row numbers of texts by tokens, because row numbers change with the next fragment."""
        lacking = [] if "actions" in batch else ["factored actions"]
        lacking += ["agents that carry on or wait while others decide"] if "obs/decides" in batch else []
        lacking += ["agents that leave"] if "obs/alive" in batch and not self.agents_leave else []
        if lacking:
            raise ValueError(
                "Q-learning of joint values needs agents that all choose one action at every step, and this "
                f"environment has {' and '.join(lacking)}: train there with PPO or IMPALA"
            )
        rows = {key.replace("texts/", "obs/", 1) for key in batch if key.startswith("texts/")}
        tokens = {f"obs/{key}": batch[f"texts/{key}"][batch[f"obs/{key}"].long()] for key in self.texts}
        return {key: value for key, value in batch.items() if key not in rows and not key.startswith("texts/")} | tokens

    def minibatches(
        self, batch: Batch, seed: int, replay: Replay | None = None, learners: Learners = ALONE
    ) -> Iterator[Batch]:
        """Add the batch to the replay (or to an empty one), and draw from there by a generator of this seed alone."""
        replay = self.new_replay() if replay is None else replay
        replay.add(batch)
        device = batch["is_first"].device
        held = learners.rows(len(replay), device)
        for drawn in replay.draws(self.gradient_steps, self.batch_size, seed, held):
            yield move(drawn, device)

    def loss(
        self, output: TeamOutput, batch: Batch, progress: Progress, share: Share = WHOLE
    ) -> tuple[Tensor, Statistics]:
        """Scalar to minimise on a batch of the replay, or on a part that holds this share of it, and numbers to log.

        `output` covers all T + 1 observations.
        """
        loss, statistics = self.loss_with_reward(output, batch, progress, batch["reward"].mean(-1))
        return share.steps * loss, statistics | {"loss/total": loss.detach()}

    def loss_with_reward(
        self, output: TeamOutput, batch: Batch, progress: Progress, reward: Tensor
    ) -> tuple[Tensor, Statistics]:
        """The loss, a scalar not weighted by a share, for a team's reward [B, T]; methods that shape rewards call it.

        The output is that of the policy at all T + 1 observations of a batch of the replay. Raises ValueError for a
        policy that does not act by action values.
        """
        extras = output.extras
        if f"q/{ONLINE}" not in extras:
            raise ValueError("QMIX needs a team that acts by action values: build it with `rl_models.teams.qmix_team`")
        online, target = extras[f"q/{ONLINE}"], extras[f"q/{TARGET}"]
        joint_values = make_mixing(extras, ONLINE, _BEFORE)(chosen_values(online[:, :-1], batch["actions"]))
        truncated, goes_on, counts = batch["truncated"], ~batch["terminated"], None
        if (alive := alive_mask(batch)) is not None:
            goes_on, counts = goes_on & (truncated | batch["obs/alive"][:, 1:].any(-1)), alive.any(-1)
        following = double_q_values(online[:, 1:], target[:, 1:], make_mixing(extras, TARGET, _AFTER))
        # The fragment lacks the final observation of a truncated episode. Its values are those at the time of play.
        at_end = make_mixing(extras, TARGET, _BEFORE)(batch["final_values"])
        following = torch.where(truncated, at_end, following)
        trace = self.td_lambda * (~truncated[:, :-1]).float() if self.td_lambda else None
        targets = td_targets(reward, self.gamma * goes_on.float(), following, trace)
        loss = squared_td_error(joint_values, targets, counts)
        statistics: Statistics = {
            "loss/td": loss.detach(),
            "policy/joint_value": joint_values.detach().mean(),
            "policy/joint_target": targets.mean(),
            "schedule/epsilon": self.epsilon.coefficient(progress),
        }
        loss, more = with_extra_losses(loss, self.extra_losses, output, batch, progress)
        return loss, statistics | more

    def after_step(self, policy: TeamPolicy, progress: Progress) -> None:
        """Set epsilon; update the targets every `update_target_every_updates` updates."""
        team = cast(QmixPolicy, policy)  # checked by the loss
        team.policy_head.epsilon.fill_(self.epsilon.at(progress))
        if progress.updates % self.update_target_every_updates == 0:
            team.copy_to_targets()
