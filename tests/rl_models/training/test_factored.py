"""Factored actions from rollout to loss: a world that is told where to go and what to say at once."""

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.fragment import Fragment
from rl_models.heads.mixture_heads import MarginalHead, SyncHead, ValueHead
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import ConstantNetwork
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tests.rl_models.training.factored_policy import FactoredPolicy
from tests.rl_models.training.small import ratio_error
from tests.toy_worlds import Errands


class FactoredHead(torch.nn.Module):
    """One head for each factor of an action: features [B, T, N, F] -> factored policy with batch shape [B, T]."""

    def __init__(self, heads):
        super().__init__()
        self.heads = torch.nn.ModuleDict(heads)

    def forward(self, features):
        return FactoredPolicy({name: head(features) for name, head in self.heads.items()})


def factored_team():
    torch.manual_seed(0)
    network = ConstantNetwork(2, 8, 8)
    heads = {"go": SyncHead(8, 3, 4, 2, 8), "say": MarginalHead(8, 5)}
    return TeamPolicy(network, FactoredHead(heads), ValueHead(8))


def random_policy():
    generator = torch.Generator().manual_seed(1)
    mixture = MixtureOfMarginals.from_logits(
        torch.randn(6, 4, generator=generator), torch.randn(6, 2, 4, 3, generator=generator)
    )
    product = MixtureOfMarginals.from_logits(torch.zeros(6, 1), torch.randn(6, 2, 1, 5, generator=generator))
    return FactoredPolicy({"go": mixture, "say": product})


def test_a_factored_policys_log_probability_is_the_sum_of_its_factors():
    policy = random_policy()
    actions, component = policy.sample(torch.rand(6, policy.num_uniforms, dtype=torch.float64))
    assert policy.num_uniforms == 6 and component.shape == (6, 2)
    parts = [policy.factors[name].log_prob(actions[name]) for name in ("go", "say")]
    torch.testing.assert_close(policy.log_prob(actions), parts[0] + parts[1])
    own = policy.factors["go"].component_log_prob(actions["go"], component[:, 0])
    own = own + policy.factors["say"].component_log_prob(actions["say"], component[:, 1])
    torch.testing.assert_close(policy.component_log_prob(actions, component), own)


def test_acting_equals_training_with_factored_actions_macros_texts_and_deaths():
    collector = Collector(Errands(6, num_agents=2), factored_team(), 12)
    collector.reset(0)
    fragment = Fragment.join([collector.collect(), collector.collect()])
    assert fragment.steps["actions/go"].shape == (12, 12, 2)
    assert (fragment.steps["terminated"] | fragment.steps["truncated"]).any()
    for objective in (Ppo(), Ppo(joint_ratio=False), Impala(), Impala(joint_ratio=False)):
        assert ratio_error(objective, collector.policy, fragment) < 1e-5


@pytest.mark.long
def test_a_team_learns_where_to_go():
    collector = Collector(Errands(32, num_agents=2, gusts=0.0), factored_team(), 8)
    collector.reset(0)
    objective = Ppo(gamma=0.95, num_minibatches=2, value_coef=0.125)
    learner = Learner(collector.policy, objective, OptimiserSettings())
    first = collector.collect().steps["reward"].mean()
    for _ in range(40):
        learner.update([collector.collect()])
    assert collector.collect().steps["reward"].mean() > first + 0.05
    assert np.isfinite(first)
