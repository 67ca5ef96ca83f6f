"""Factored actions from rollout to loss: a world that is told where to go and what to say at once."""

import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Fragment
from rl_models.distributions.factored_mixture import ActionParts
from rl_models.heads.factored_heads import FactoredHead
from rl_models.heads.mixture_heads import ValueHead
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import ConstantNetwork
from tests.rl_models.training.small import begun, ratio_error
from tests.toy_worlds import Errands


def factored_team():
    """The team's network tells everybody the same, and SYNC's weights are computed from it."""
    torch.manual_seed(0)
    head = FactoredHead(8, ActionParts({"go": 3, "say": 5}), 4, 2, 8)
    return TeamPolicy(ConstantNetwork(2, 8, 8), head, ValueHead(8))


def test_acting_equals_training_with_factored_actions_macros_texts_and_deaths():
    collector = begun(Errands(6, num_agents=2), factored_team(), 12, seed=0)
    fragment = Fragment.join([collector.collect(), collector.collect()])
    assert fragment.steps["actions/go"].shape == (12, 12, 2)
    assert (fragment.steps["terminated"] | fragment.steps["truncated"]).any()
    for objective in (Ppo(), Ppo(joint_ratio=False), Impala(), Impala(joint_ratio=False)):
        assert ratio_error(objective, collector.policy, fragment) < 1e-5
