"""Policies over actions of several parts, against `torch.distributions` and exact sums."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from rl_models.distributions.dependence import measure_dependence
from rl_models.distributions.factored_mixture import BEFORE_TANH, CONTINUOUS, ActionParts, FactoredMixture
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.distributions.squashed_gaussian import SquashedGaussian, bounded_log_std
from rl_models.heads.factored_heads import FactoredHead
from rl_models.policy import Features

SIZES = {"move": 3, "hand": 2}
LOW, HIGH = torch.tensor([[-1.0, 0.0], [-2.0, 5.0]]), torch.tensor([[1.0, 4.0], [2.0, 5.0]])
"""The second number of the second agent is no choice."""


def mixture(components=3, sizes=SIZES, numbers=True, batch=64, seed=0):
    """A random policy of two agents with batch shape [B, 1]; its parts have gradients."""
    torch.manual_seed(seed)
    lead = (batch, 1, 2, components)
    weights = torch.randn(batch, 1, components, requires_grad=True)
    choices = {name: torch.randn(*lead, size, requires_grad=True) for name, size in sizes.items()}
    mean, log_std = torch.randn(*lead, 2, requires_grad=True), (torch.randn(*lead, 2) / 3).requires_grad_()
    policy = FactoredMixture(
        weights.log_softmax(-1),
        {name: logits.log_softmax(-1) for name, logits in choices.items()},
        SquashedGaussian(mean, log_std, LOW, HIGH) if numbers else None,
    )
    return policy, [weights, *choices.values(), *([mean, log_std] if numbers else [])]


def drawn(policy):
    """A sample of a policy."""
    shape = (*policy.log_weights.shape[:2], policy.num_uniforms)
    with torch.no_grad():
        return policy.sample(torch.rand(shape, dtype=torch.float64))


def test_the_density_of_a_stored_sample_is_that_of_a_mixture_of_gaussians_and_the_slope():
    policy, _ = mixture(sizes={})
    actions, component = drawn(policy)
    before, gaussian = actions[BEFORE_TANH].double(), policy.gaussian
    slope = torch.log(1 - before.tanh() ** 2)
    each = [[], []]
    for agent, numbers in ((0, [0, 1]), (1, [0])):
        own = Independent(
            Normal(gaussian.mean[:, :, agent, :, numbers], gaussian.log_std[:, :, agent, :, numbers].exp()), 1
        )
        half = ((HIGH - LOW) / 2)[agent, numbers].log().sum()
        correction = slope[:, :, agent, numbers].sum(-1) + half
        each[agent] = own.log_prob(before[:, :, agent, None, numbers].float()) - correction[..., None]
        marginal = MixtureSameFamily(Categorical(logits=policy.log_weights), own)
        expected = marginal.log_prob(before[:, :, agent, numbers].float()) - correction
        torch.testing.assert_close(
            policy.marginal_log_prob(actions)[..., agent], expected.float(), atol=1e-5, rtol=1e-5
        )
    joint = torch.logsumexp(policy.log_weights + each[0] + each[1], -1)
    torch.testing.assert_close(policy.log_prob(actions), joint.float(), atol=1e-5, rtol=1e-5)
    chosen = torch.stack(each, -2).gather(-1, component[..., None, None].expand(-1, -1, 2, 1)).squeeze(-1)
    weight = policy.log_weights.gather(-1, component[..., None])
    torch.testing.assert_close(
        policy.component_log_prob(actions, component), (chosen + weight).float(), atol=1e-5, rtol=1e-5
    )


def test_samples_at_the_bounds_have_finite_probabilities_and_gradients():
    policy, leaves = mixture(batch=4)
    shape = (4, 1, policy.num_uniforms)
    for uniforms in (torch.zeros(shape, dtype=torch.float64), torch.full(shape, 1 - 2**-53, dtype=torch.float64)):
        with torch.no_grad():
            actions, component = policy.sample(uniforms)
        assert ((actions[CONTINUOUS] >= LOW) & (actions[CONTINUOUS] <= HIGH)).all()
        far = actions | {BEFORE_TANH: actions[BEFORE_TANH] * 5}
        assert torch.equal(policy.gaussian.squash(far[BEFORE_TANH])[..., 0, 0].abs(), torch.ones(4, 1))
        total = policy.log_prob(far).sum() + policy.component_log_prob(far, component).sum()
        assert torch.isfinite(total)
        for gradient in torch.autograd.grad(total, leaves, retain_graph=True):
            assert torch.isfinite(gradient).all()


def test_agents_that_do_not_decide_do_not_count():
    policy, _ = mixture()
    actions, _ = drawn(policy)
    first = torch.tensor([True, False]).expand(64, 1, 2)
    torch.testing.assert_close(policy.log_prob(actions, first), policy.marginal_log_prob(actions)[..., 0])


def test_entropies_are_the_means_of_log_probabilities():
    policy, _ = mixture(components=1, batch=1)
    with torch.no_grad():
        many = policy.repeat(200_000)
        actions, component = drawn(many)
        found = -many.component_log_prob(actions, component).mean(1)
        torch.testing.assert_close(policy.component_entropy()[:, 0], found, atol=0.02, rtol=0.0)
    torch.testing.assert_close(policy.marginal_entropy(), policy.component_entropy())


def test_the_marginal_entropy_is_exact_for_equal_and_for_separate_components_and_else_below():
    with torch.no_grad():
        policy, _ = mixture(components=2, batch=1)
        many = policy.repeat(100_000)
        actions, _ = drawn(many)
        exact = -many.marginal_log_prob(actions).mean(1)
        assert (policy.marginal_entropy()[:, 0] <= exact + 0.02).all()
        one, _ = mixture(components=1, batch=1)
        gaussian = one.gaussian
        for shift, more in ((0.0, 0.0), (50.0, torch.tensor(2.0).log())):
            means = torch.cat([gaussian.mean, gaussian.mean + shift], -2)
            stds = gaussian.log_std.expand_as(means)
            both = FactoredMixture(
                torch.full((1, 1, 2), 0.5).log(),
                {name: each.expand(-1, -1, -1, 2, -1) for name, each in one.log_choices.items()},
                SquashedGaussian(means, stds, LOW, HIGH),
            )
            apart = both.marginal_entropy() - both.component_entropy() + torch.tensor(2.0).log()
            torch.testing.assert_close(apart, torch.full((1, 1, 2), float(more)), atol=1e-4, rtol=0.0)


def test_an_action_of_several_choices_is_one_of_their_combinations():
    policy, _ = mixture(numbers=False)
    whole = policy.as_marginals()
    for first, second in itertools.product(itertools.product(range(3), range(2)), repeat=2):
        parts = {
            name: torch.tensor([first[number], second[number]]).expand(64, 1, 2) for number, name in enumerate(SIZES)
        }
        listed = torch.tensor([2 * first[0] + first[1], 2 * second[0] + second[1]]).expand(64, 1, 2)
        torch.testing.assert_close(policy.log_prob(parts), whole.log_prob(listed))
    generator = torch.Generator().manual_seed(0)
    torch.testing.assert_close(measure_dependence(policy, generator), {"tvd": whole.tvd()})


def test_estimates_agree_with_exact_distances(monkeypatch):
    with torch.no_grad():
        policy, _ = mixture(numbers=False)
        generator = torch.Generator().manual_seed(0)
        exact = measure_dependence(policy, generator)["tvd"]
        monkeypatch.setattr("rl_models.distributions.dependence.MAX_JOINT_ACTIONS", 1)
        found = measure_dependence(policy, generator)
    assert found.keys() == {"tvd_estimate"}
    assert (found["tvd_estimate"] - exact).abs().max() < 0.2
    assert abs(float(found["tvd_estimate"].mean() - exact.mean())) < 0.01


@pytest.mark.parametrize("most", [3000, 1])
def test_agents_that_do_not_decide_depend_on_nobody(monkeypatch, most):
    """Three agents take all action 0 or all action 1: Pi has 1/2 twice, and the product of its marginals 1/8 each."""
    monkeypatch.setattr("rl_models.distributions.dependence.MAX_JOINT_ACTIONS", most)
    certain = torch.tensor([[1.0, 0], [0, 1]]).log().clamp(min=-50)
    policy = MixtureOfMarginals(torch.full((3, 1, 2), 0.5).log(), certain.expand(3, 1, 3, 2, 2))
    decides = torch.tensor([[[True, True, True]], [[True, False, True]], [[False, True, False]]])
    name = "tvd" if most == 3000 else "tvd_estimate"
    found = measure_dependence(policy, torch.Generator().manual_seed(0), decides)[name]
    torch.testing.assert_close(found[:, 0], torch.tensor([0.75, 0.5, 0]))


@pytest.mark.parametrize(("components", "known"), [(1, 0.0), (2, 0.6931)])
def test_agents_with_separate_components_share_the_information_of_the_component(components, known):
    policy, _ = mixture(components, sizes={}, batch=16)
    apart = torch.arange(components).float()[:, None] * 40
    gaussian = policy.gaussian
    policy = FactoredMixture(
        torch.full((16, 1, components), 1 / components).log(),
        {},
        SquashedGaussian(gaussian.mean + apart, gaussian.log_std, LOW, HIGH),
    )
    with torch.no_grad():
        found = measure_dependence(policy, torch.Generator().manual_seed(0))
    torch.testing.assert_close(found["mutual_information"], torch.full((16, 1), known), atol=1e-3, rtol=0.0)


def test_standard_deviations_are_bounded_and_have_a_gradient_beyond_the_bounds():
    """-5 + 6 s(x + ln 5) with the logistic function s: 5/6 at 0, 1/2 at -ln 5, 25/26 at ln 5."""
    outputs = torch.tensor([0.0, -math.log(5), math.log(5), -12, 12], requires_grad=True)
    found = bounded_log_std(outputs)
    torch.testing.assert_close(found[:3], torch.tensor([0.0, -2.0, -5 + 6 * 25 / 26]))
    assert -5 < found[3] < -4.99
    assert 0.99 < found[4] < 1
    (slope,) = torch.autograd.grad(found.sum(), outputs)
    torch.testing.assert_close(slope[:3], torch.tensor([6 * 5 / 36, 6 / 4, 6 * 25 / 26**2]))
    assert (slope > 0).all()


def test_the_head_gives_the_log_probability_of_its_gaussian_by_hand():
    """Mean 0.3, std e^-2, sample 0.5 before tanh, bounds -1 and 3: N(0.5) / ((1 - tanh(0.5)^2) * 2)."""
    head = FactoredHead(3, ActionParts({}, torch.tensor([[-1.0]]), torch.tensor([[3.0]])))
    with torch.no_grad():
        head.policies.weight.zero_()
        head.policies.bias.copy_(torch.tensor([0.3, -math.log(5)]))
    policy = head(Features(torch.zeros(1, 1, 1, 3), {}))
    found = policy.log_prob({BEFORE_TANH: torch.full((1, 1, 1, 1), 0.5)})
    normal = -0.5 * (0.2 * math.exp(2)) ** 2 + 2 - 0.5 * math.log(2 * math.pi)
    assert found.item() == pytest.approx(normal - math.log((1 - math.tanh(0.5) ** 2) * 2), abs=1e-5)


def test_the_mode_is_within_the_bounds_and_of_the_most_probable_component():
    policy, _ = mixture()
    actions, component = policy.mode()
    assert torch.equal(component, policy.log_weights.argmax(-1))
    assert ((actions[CONTINUOUS] >= LOW) & (actions[CONTINUOUS] <= HIGH)).all()
    assert (actions["move"] < 3).all()
