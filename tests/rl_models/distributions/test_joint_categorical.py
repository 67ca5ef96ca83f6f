"""The joint categorical policy against its table: every quantity by enumeration of joint actions."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.joint_policy import as_whole_joint
from rl_models.distributions.mixture import MixtureOfMarginals
from tests.rl_models.training.factored_policy import FactoredPolicy

BATCH, ACTIONS = 3, 4
AGENTS = pytest.mark.parametrize("agents", [1, 2, 3])


def table(agents, actions=ACTIONS, batch=(BATCH,), seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(*batch, *[actions] * agents, generator=generator, dtype=torch.float64)
    return JointCategorical.from_logits(logits, agents), logits


def all_joint_actions(agents, actions=ACTIONS):
    return list(itertools.product(range(actions), repeat=agents))


@AGENTS
def test_probabilities_are_a_softmax_over_all_joint_actions(agents):
    policy, logits = table(agents)
    total = logits.exp().flatten(1).sum(1)
    for joint in all_joint_actions(agents):
        wanted = logits[(slice(None), *joint)].exp() / total
        actions = torch.tensor(joint)
        torch.testing.assert_close(policy.joint()[(slice(None), *joint)], wanted)
        torch.testing.assert_close(policy.log_prob(actions.expand(BATCH, -1)), wanted.log())
        torch.testing.assert_close(policy.log_joint_at(actions.expand(BATCH, 1, -1))[:, 0], wanted.log())


def test_log_joint_at_reads_other_entries_for_each_sample():
    policy, _ = table(3)
    entries = torch.randint(ACTIONS, (BATCH, 5, 3), generator=torch.Generator().manual_seed(1))
    for row in range(BATCH):
        torch.testing.assert_close(policy.log_joint_at(entries)[row], policy.log_joint()[row][tuple(entries[row].T)])


@AGENTS
@pytest.mark.parametrize("batch", [(8,), (2, 4)])
def test_only_deciding_agents_count(agents, batch):
    policy, _ = table(agents, batch=batch)
    actions = torch.randint(ACTIONS, (*batch, agents), generator=torch.Generator().manual_seed(2))
    rows = torch.arange(8).view(batch)
    decides = torch.stack([(rows >> agent) % 2 == 1 for agent in range(agents)], dim=-1)
    got = policy.log_prob(actions, decides)
    for row in itertools.product(*map(range, batch)):
        own = [range(ACTIONS) if not d else [a] for a, d in zip(actions[row].tolist(), decides[row], strict=True)]
        wanted = sum(policy.joint()[row][joint] for joint in itertools.product(*own))
        torch.testing.assert_close(got[row], wanted.log(), atol=1e-12, rtol=1e-9)


@AGENTS
def test_marginals_entropies_and_distance_follow_from_the_table(agents):
    policy, _ = table(agents)
    joint = policy.joint().numpy()
    assert policy.marginals().shape == (BATCH, agents, ACTIONS)
    for row in range(BATCH):
        marginals = np.zeros((agents, ACTIONS))
        for actions in all_joint_actions(agents):
            for agent, action in enumerate(actions):
                marginals[agent, action] += joint[row][actions]
        np.testing.assert_allclose(policy.marginals()[row], marginals)
        np.testing.assert_allclose(policy.marginal_entropy()[row], -(marginals * np.log(marginals)).sum(1))
        entropy = -sum(joint[row][actions] * np.log(joint[row][actions]) for actions in all_joint_actions(agents))
        np.testing.assert_allclose(policy.component_entropy()[row], np.full(agents, entropy / agents))
        distance = sum(
            abs(joint[row][actions] - np.prod([marginals[agent, action] for agent, action in enumerate(actions)]))
            for actions in all_joint_actions(agents)
        )
        np.testing.assert_allclose(policy.tvd()[row], distance / 2, atol=1e-12)


def test_a_mixtures_joint_tensor_has_the_same_numbers_as_a_table():
    generator = torch.Generator().manual_seed(6)
    mixture = MixtureOfMarginals.from_logits(
        torch.randn(BATCH, 2, generator=generator), torch.randn(BATCH, 3, 2, ACTIONS, generator=generator)
    )
    policy = JointCategorical.from_logits(mixture.log_joint(), 3)
    for name in ("joint", "marginals", "marginal_entropy", "tvd"):
        torch.testing.assert_close(getattr(policy, name)(), getattr(mixture, name)(), atol=1e-6, rtol=1e-4)


@AGENTS
def test_sampling_follows_the_table_with_one_uniform_number(agents):
    draws, actions = 40_000, 3
    policy, _ = table(agents, actions, batch=())
    assert policy.num_uniforms == 1
    uniforms = torch.rand(draws, 1, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    many = JointCategorical(policy.log_table.expand(draws, *policy.log_table.shape), agents)
    sampled, component = many.sample(uniforms)
    index = np.ravel_multi_index(tuple(sampled.T.numpy()), (actions,) * agents)
    counts = np.bincount(index, minlength=actions**agents)
    assert stats.chisquare(counts, policy.joint().flatten().numpy() * draws).pvalue > 1e-3
    assert component.shape == (draws,) and component.dtype == torch.int64 and not component.any()


def test_joint_actions_lie_in_row_major_order_on_half_open_intervals():
    policy = JointCategorical.from_logits(torch.zeros(5, 2, 2).double(), 2)
    uniforms = torch.tensor([[0.0], [0.25 - 1e-9], [0.25], [0.5], [0.75]], dtype=torch.float64)
    assert policy.sample(uniforms)[0].tolist() == [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-24, 1 - 2**-53])
def test_no_uniform_number_ever_picks_what_has_no_probability(uniform):
    logits = torch.full((1, 3, 3), -torch.inf)
    logits[0, 0, 1], logits[0, 2, 1] = 0.3, 1.7
    actions, _ = JointCategorical.from_logits(logits, 2).sample(torch.full((1, 1), uniform, dtype=torch.float64))
    assert actions.tolist() == [[0, 1] if uniform == 0.0 else [2, 1]]


def test_the_per_agent_form_is_the_joint_log_probability_for_everyone():
    """Its gradient with each agent's own advantage is log Pi's with the sum of them."""
    _, logits = table(3)
    logits.requires_grad_()
    policy = JointCategorical.from_logits(logits, 3)
    actions = torch.tensor([[0, 1, 2], [3, 3, 3], [2, 0, 1]])
    advantages = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64)
    each = (policy.component_log_prob(actions, torch.zeros(BATCH, dtype=torch.long)) * advantages).sum()
    summed = policy.log_prob(actions).sum() * advantages.sum()
    one, other = (torch.autograd.grad(loss, logits, retain_graph=True)[0] for loss in (each, summed))
    torch.testing.assert_close(one, other)


def test_parts_of_a_batch_are_those_worlds_and_steps():
    policy, _ = table(2, batch=(5, 6))
    torch.testing.assert_close(policy.first_steps(4).joint(), policy.joint()[:, :4])
    torch.testing.assert_close(policy.select_worlds(slice(1, 3)).tvd(), policy.tvd()[1:3])


def test_whoever_needs_whole_joint_actions_refuses_a_factored_policy_in_a_sentence():
    policy, _ = table(2)
    mixture = MixtureOfMarginals.from_logits(torch.zeros(1, 2), torch.zeros(1, 2, 2, 3))
    assert as_whole_joint(policy) is policy and as_whole_joint(mixture) is mixture
    with pytest.raises(TypeError, match="joint tensor is needed here, and this policy is a FactoredPolicy"):
        as_whole_joint(FactoredPolicy({"go": mixture}))


def test_the_gradient_of_the_entropies_is_finite_where_a_probability_is_too_small_to_be_told():
    logits = torch.zeros(3, 3)
    logits[2] = -500.0
    logits.requires_grad_()
    policy = JointCategorical.from_logits(logits, 2)
    (policy.marginal_entropy().sum() + policy.component_entropy().sum()).backward()
    assert logits.grad.isfinite().all()
