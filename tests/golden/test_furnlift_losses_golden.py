"""Imitation, actor-critic losses, invalid probability and distance to a product against the authors' FurnLift."""

import json

import pytest
import torch

from rl_envs.furnlift.actions import coordination_matrix
from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.joint_policy import l1_to_product
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.cordial import CoordinationSet
from rl_models.losses.imitation import imitation_loss
from rl_models.losses.policy_gradient import Steps, following_values, gae, policy_gradient_loss, team_mean, value_loss
from tests.golden.cases import own_or_golden

LOSSES = own_or_golden("losses*.jsonl", "furnlift")
GAMMA, GAE_LAMBDA, ENTROPY_COEF, VALUE_COEF = 0.99, 1.0, 0.01, 0.25


class Rollout:
    """One recorded rollout as our losses take it: a batch of one world, [1, T, ...] float64."""

    def __init__(self, recorded):
        self.recorded, self.steps = recorded, recorded["steps"]
        self.is_central = recorded["kind"] == "central"
        self.actions = self.column("actions").long()
        self.rewards = self.column("rewards")[..., : 1 if self.is_central else 2]
        self.values = self.of_net("value_all")[..., 0]
        self.took_expert = any(step["took_expert"] for step in self.steps)
        self.policy = self.team_policy()

    def column(self, name):
        return torch.tensor([[step[name] for step in self.steps]], dtype=torch.float64)

    def of_net(self, name):
        return torch.tensor([[step["net"][name] for step in self.steps]], dtype=torch.float64)

    def team_policy(self):
        if self.is_central:
            return JointCategorical.from_logits(self.of_net("logit_all").unflatten(-1, (5, 5)).squeeze(2), 2)
        if self.recorded["kind"] == "marginal":
            logits = self.of_net("logit_all")
            return MixtureOfMarginals.from_logits(torch.zeros(*logits.shape[:2], 1).double(), logits[:, :, :, None])
        logits = self.of_net("coordinated_logits").unflatten(-1, (self.recorded["m"], 5))
        return MixtureOfMarginals.from_logits(self.of_net("randomization_logits").squeeze(2), logits)

    def log_prob(self):
        """[1, T, 2], or [1, T, 1] for the central policy."""
        if self.is_central:
            return self.policy.log_prob(self.actions)[..., None]
        component = torch.tensor([[step["component"] or 0 for step in self.steps]])
        return self.policy.component_log_prob(self.actions, component)

    def entropy(self):
        return self.policy.component_entropy() if self.is_central else self.policy.marginal_entropy()

    def advantages(self):
        bootstrap, after = self.recorded["bootstrap_value"], torch.zeros_like(self.values[:, -1])
        if bootstrap is not None:
            after = torch.tensor(bootstrap, dtype=torch.float64).reshape(after.shape)
        never = torch.zeros_like(self.values, dtype=torch.bool)
        following = following_values(self.values, after, self.values, never)
        steps = Steps(self.rewards, torch.full_like(self.rewards, GAMMA), torch.ones_like(self.rewards), following)
        return gae(steps, self.values, GAE_LAMBDA)

    def losses(self):
        """The losses that were recorded, by their names."""
        expert = torch.tensor([[step["expert"] or [-1, -1] for step in self.steps]])
        is_advised = (expert >= 0).all(-1)
        found = {"xe_loss": imitation_loss(self.policy.log_prob(expert.clamp(min=0)), is_advised)}
        if self.took_expert:
            return found
        advantages = self.advantages()
        targets = advantages + self.values
        return found | {
            "a3c_policy_loss": policy_gradient_loss(self.log_prob(), advantages),
            "a3c_value_loss": VALUE_COEF * value_loss(self.values, targets),
            "a3c_entropy_loss": -ENTROPY_COEF * team_mean(self.entropy(), None),
        }


def rollouts(path):
    return [Rollout(json.loads(line)) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("path", LOSSES)
def test_losses_are_the_authors(path):
    for rollout in rollouts(path):
        ours, theirs = rollout.losses(), rollout.recorded["losses"]
        if not any(step["expert"] for step in rollout.steps):
            del ours["xe_loss"]
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            assert float(ours[name]) == pytest.approx(value, rel=1e-6, abs=1e-6), (rollout.recorded["kind"], name)


@pytest.mark.parametrize("path", LOSSES)
def test_probabilities_of_actions_and_coordination_metrics_are_the_authors(path):
    coordination = CoordinationSet.from_matrices(torch.from_numpy(coordination_matrix())[None].long())
    for rollout in rollouts(path):
        which = torch.zeros(1, len(rollout.steps), dtype=torch.long)
        listed = coordination.log_probabilities(rollout.policy, which)
        ours = {
            "log_prob_of_action": rollout.log_prob(),
            "invalid_prob_mass": coordination.invalid_probability(listed, which),
            "dist_to_low_rank": l1_to_product(rollout.policy.joint(), rollout.policy.marginals()),
        }
        for name, value in ours.items():
            theirs = rollout.column(name)
            torch.testing.assert_close(value, theirs, rtol=1e-6, atol=1e-6, msg=lambda text, n=name: f"{n}: {text}")
