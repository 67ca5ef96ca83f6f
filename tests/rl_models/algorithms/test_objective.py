"""What PPO and IMPALA minimise, put together: against the losses written out, and against hand numbers."""

import math

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import forward, select_worlds, to_batch
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule
from tests.rl_models.training.small import collector, cordial

WORLDS, TIME, AGENTS, COMPONENTS, ACTIONS = 2, 3, 2, 3, 4


def leaf_policy(moved=0.0):
    """A joint policy whose logits are leaves, so that gradients can be read off; `moved` makes another one near it."""
    generator = torch.Generator().manual_seed(0)

    def leaf(*shape):
        here, there = torch.randn(*shape, generator=generator), torch.randn(*shape, generator=generator)
        return (here + moved * there).requires_grad_()

    weights = leaf(WORLDS, TIME, COMPONENTS)
    marginals = leaf(WORLDS, TIME, AGENTS, COMPONENTS, ACTIONS)
    return MixtureOfMarginals.from_logits(weights, marginals), weights, marginals


def output_of(policy, time=TIME, values=None):
    values = torch.zeros(WORLDS, time, AGENTS) if values is None else values
    return TeamOutput(policy, values, {}, {})


def one_step_batch(policy):
    """Every step ends its episode, so that the advantage is the reward minus the value."""
    generator = torch.Generator().manual_seed(1)
    actions = torch.randint(ACTIONS, (WORLDS, TIME, AGENTS), generator=generator)
    component = torch.randint(COMPONENTS, (WORLDS, TIME), generator=generator)
    shape = (WORLDS, TIME, AGENTS)
    return {
        "actions": actions,
        "component": component,
        "log_prob": policy.log_prob(actions).detach(),
        "agent_log_prob": policy.component_log_prob(actions, component).detach(),
        "reward": torch.randn(*shape, generator=generator),
        "values": torch.zeros(shape),
        "final_values": torch.zeros(shape),
        "last_values": torch.zeros(WORLDS, AGENTS),
        "terminated": torch.ones(WORLDS, TIME, dtype=torch.bool),
        "truncated": torch.zeros(WORLDS, TIME, dtype=torch.bool),
        "is_first": torch.ones(WORLDS, TIME + 1, dtype=torch.bool),
    }


def gradients(objective, batch, leaves, output):
    loss, _ = objective.loss(output, objective.prepare(batch), Progress())
    return torch.autograd.grad(loss, leaves, retain_graph=True)


def longer(policy):
    """The policy with one more step, for V-trace, which looks at all T + 1 observations."""
    repeat = [torch.cat([part, part[:, -1:]], dim=1) for part in (policy.log_weights, policy.log_marginals)]
    return output_of(MixtureOfMarginals(*repeat), TIME + 1)


@pytest.mark.parametrize("kind", ["ppo", "impala"])
def test_in_the_per_agent_form_mixture_weights_receive_the_sum_of_all_agents_advantages(kind):
    policy, weights, marginals = leaf_policy()
    batch = one_step_batch(policy)
    plain = {"value_coef": 0.0, "joint_ratio": False}
    if kind == "ppo":
        objective, output = Ppo(normalize_advantages=False, **plain), output_of(policy)
    else:
        objective, output = Impala(**plain), longer(policy)
    got, of_marginals = gradients(objective, batch, (weights, marginals), output)
    advantages, component = batch["reward"], batch["component"]
    steps = WORLDS * TIME  # agents are summed, steps averaged
    alpha = weights.softmax(-1)
    drawn = torch.nn.functional.one_hot(component, COMPONENTS)
    wanted = -advantages.sum(-1, keepdim=True) * (drawn - alpha) / steps  # grad of log alpha_j is onehot - alpha
    torch.testing.assert_close(got, wanted, atol=1e-6, rtol=1e-5)
    for agent in range(AGENTS):
        probabilities = marginals[:, :, agent].softmax(-1)
        chosen = torch.nn.functional.one_hot(batch["actions"][:, :, agent], ACTIONS)[:, :, None]
        own = -advantages[:, :, agent, None, None] * drawn[..., None] * (chosen - probabilities) / steps
        torch.testing.assert_close(of_marginals[:, :, agent], own, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("joint_ratio", [True, False])
def test_ppo_is_surrogate_plus_weighted_value_error_minus_weighted_entropy(joint_ratio):
    policy, _, _ = leaf_policy()
    old, _, _ = leaf_policy(moved=0.3)
    batch = one_step_batch(old)
    batch["values"] = torch.full_like(batch["values"], 0.3)
    values = torch.full((WORLDS, TIME, AGENTS), 0.1)
    objective = Ppo(
        joint_ratio=joint_ratio, value_coef=0.5, entropy_coef=Schedule.constant(0.02), normalize_advantages=False
    )
    loss, statistics = objective.loss(output_of(policy, values=values), objective.prepare(batch), Progress())
    advantages = batch["reward"] - 0.3
    if joint_ratio:
        ratio = (policy.log_prob(batch["actions"]) - batch["log_prob"]).exp()[..., None]
        advantages = advantages.sum(-1, keepdim=True)
    else:
        ratio = (policy.component_log_prob(batch["actions"], batch["component"]) - batch["agent_log_prob"]).exp()
    surrogate = -np.mean(
        [
            min(r * a, min(max(r, 0.8), 1.2) * a)
            for r, a in zip(ratio.flatten().tolist(), advantages.flatten().tolist(), strict=True)
        ]
    )
    surrogate *= 1 if joint_ratio else AGENTS  # agents are summed, steps averaged
    value_loss = AGENTS * ((0.1 - batch["reward"]) ** 2).mean().item()
    entropy = policy.component_entropy().sum(-1).mean().item()
    assert loss.item() == pytest.approx(surrogate + 0.5 * value_loss - 0.02 * entropy, abs=1e-5)
    assert statistics["loss/policy"].item() == pytest.approx(surrogate, abs=1e-5)
    assert statistics["loss/value"].item() == pytest.approx(value_loss, abs=1e-5)
    clipped = ((ratio - 1).abs() > 0.2).float().mean().item()
    assert statistics["policy/clip_fraction"].item() == pytest.approx(clipped)
    assert 0 < clipped < 1


def test_the_clip_fraction_is_of_agents_that_decide():
    policy, _, _ = leaf_policy()
    old, _, _ = leaf_policy(moved=0.3)
    batch = one_step_batch(old)
    objective = Ppo(joint_ratio=False, normalize_advantages=False)
    values = torch.zeros(WORLDS, TIME, AGENTS)
    ratio = (policy.component_log_prob(batch["actions"], batch["component"]) - batch["agent_log_prob"]).exp()
    decides = torch.rand(WORLDS, TIME + 1, AGENTS, generator=torch.Generator().manual_seed(0)) < 0.5
    prepared = objective.prepare(batch | {"obs/decides": decides})
    _, statistics = objective.loss(output_of(policy, values=values), prepared, Progress())
    wanted = ((ratio - 1).abs() > 0.2)[decides[:, :TIME]].float().mean().item()
    assert statistics["policy/clip_fraction"].item() == pytest.approx(wanted)
    assert 0 < wanted < 1


def test_marginal_entropy_is_an_option():
    policy, _, _ = leaf_policy()
    batch = one_step_batch(policy)
    for kind, wanted in (("component", policy.component_entropy()), ("marginal", policy.marginal_entropy())):
        objective = Ppo(entropy_kind=kind, entropy_coef=Schedule.constant(1.0))
        _, statistics = objective.loss(output_of(policy), objective.prepare(batch), Progress())
        torch.testing.assert_close(statistics["policy/entropy"], wanted.sum(-1).mean())


def test_advantages_are_standardised_over_the_whole_batch_once():
    prepared = Ppo().prepare(to_batch(collector(length=9).collect()))
    advantages = prepared["advantages"]
    assert abs(advantages.mean()) < 1e-5
    assert abs(advantages.std(correction=0) - 1) < 1e-3
    assert abs(select_worlds(prepared, slice(0, 1))["advantages"].mean()) > 1e-3


def test_extra_losses_are_added_with_their_scheduled_weight_and_only_logged_at_weight_zero():
    one = collector()
    batch = to_batch(one.collect())
    results = {}
    for beta in (0.0, 0.5):
        objective = Impala(extra_losses=(cordial(one.world, beta),))
        one.policy.zero_grad()
        loss, statistics = objective.loss(forward(one.policy, batch), batch, Progress())
        loss.backward()
        results[beta] = loss.item(), statistics, one.policy.policy_head.policies.weight.grad.clone()
    with_, without = results[0.5], results[0.0]
    assert with_[0] == pytest.approx(without[0] + 0.5 * without[1]["loss/cordial"].item(), rel=1e-4)
    assert without[1]["loss/cordial"] == pytest.approx(math.log(169), abs=0.5)
    assert not torch.allclose(with_[2], without[2])
    plain = Impala()
    one.policy.zero_grad()
    plain.loss(forward(one.policy, batch), batch, Progress())[0].backward()
    torch.testing.assert_close(one.policy.policy_head.policies.weight.grad, without[2])


def test_entropy_counts_agents_that_choose_alone():
    policy, _, _ = leaf_policy()
    batch = one_step_batch(policy)
    decides = torch.zeros(WORLDS, TIME + 1, AGENTS, dtype=torch.bool)
    decides[:, 0] = True
    decides[:, 1, 0] = True
    batch["obs/decides"] = decides
    entropy = policy.component_entropy()
    wanted = (entropy[:, 0].sum() + entropy[:, 1, 0].sum()) / (2 * WORLDS)
    for joint_ratio in (True, False):
        _, statistics = Ppo(joint_ratio=joint_ratio).loss(
            output_of(policy), Ppo(joint_ratio=joint_ratio).prepare(batch), Progress()
        )
        torch.testing.assert_close(statistics["policy/entropy"], wanted.detach())
