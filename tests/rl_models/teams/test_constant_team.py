"""Teams without input: learned tables."""

import pytest
import torch

from rl_models.teams.constant_team import constant_team


def run(policy, batch=3, time=2):
    return policy({}, policy.initial_state(batch), torch.zeros(batch, time, dtype=torch.bool))


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("agents", [1, 2, 3])
def test_every_step_has_the_same_policy_and_every_parameter_a_gradient(agents, components):
    policy = constant_team(components, agents, 4, seed=1)
    output = run(policy)
    assert output.policy.log_marginals.shape == (3, 2, agents, components, 4)
    assert output.values.shape == (3, 2, agents)
    torch.testing.assert_close(output.policy.joint()[0, 0], output.policy.joint()[2, 1])
    (output.policy.log_prob(torch.zeros(3, 2, agents, dtype=torch.long)).sum() + output.values.sum()).backward()
    dead = [name for name, p in policy.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert dead == []
