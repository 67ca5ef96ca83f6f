"""Collective actions: probabilities are those of what happens, and the chain of factors is exact."""

import dataclasses
import itertools

import pytest
import torch

from rl_models.distributions.collective import CollectiveFactors, CollectivePolicy
from tests.rl_models.networks.small_units import observations, output_of, sample_of, team, unit_spec

ARGUMENTS = {"hit": (2,), "go": (1, 2)}
SIZES = {"command": 3, "hit": 2, "go": 2}
FLAGS = ("a", "b")


def small_policy(used_heads_only=True, agents=1, batch=1):
    generator = torch.Generator().manual_seed(3)
    weights = {name: torch.randn(len(FLAGS) + 1, size, generator=generator) for name, size in SIZES.items()}

    def later(inputs, flags):
        bias = torch.ones(*flags.shape[:-1], 1)
        return {
            name: (torch.cat([flags.float(), bias], -1) @ weight + inputs["shift"]).log_softmax(-1)
            for name, weight in weights.items()
        }

    return CollectivePolicy(
        CollectiveFactors("stop", FLAGS, "command", ARGUMENTS),
        torch.randn(1, agents, 2, generator=generator).log_softmax(-1).expand(batch, -1, -1),
        torch.randn(1, agents, len(FLAGS), 2, generator=generator).log_softmax(-1).expand(batch, -1, -1, -1),
        {"shift": torch.zeros(batch, agents, 1)},
        later,
        used_heads_only,
    )


def all_actions():
    """Every action of one agent, factor -> [E, 1]."""
    names = ("stop", *SIZES, *FLAGS)
    sizes = (2, *SIZES.values(), 2, 2)
    rows = torch.tensor(list(itertools.product(*map(range, sizes))))
    return {name: rows[:, column, None] for column, name in enumerate(names)}


def happening(actions, row):
    """What the game sees of an action."""
    if actions["stop"][row] == 1:
        return ("nothing",)
    flags = tuple(int(actions[name][row]) for name in FLAGS)
    if not any(flags):
        return flags
    command = int(actions["command"][row])
    return flags, command, *(int(actions[name][row]) for name, some in ARGUMENTS.items() if command in some)


def test_probabilities_of_what_happens_sum_to_one():
    policy, actions = small_policy(batch=96), all_actions()
    log_prob = policy.log_prob(actions)
    seen = {}
    for row in range(len(log_prob)):
        known = seen.setdefault(happening(actions, row), log_prob[row])
        torch.testing.assert_close(known, log_prob[row])
    assert len(seen) == 1 + 1 + 3 * (1 + 2 + 4)
    torch.testing.assert_close(torch.stack(list(seen.values())).exp().sum(), torch.tensor(1.0))


def test_probabilities_of_all_factors_sum_to_one():
    log_prob = small_policy(used_heads_only=False, batch=96).log_prob(all_actions())
    torch.testing.assert_close(log_prob.exp().sum(), torch.tensor(1.0))


@pytest.mark.parametrize("used_heads_only", [True, False])
def test_the_mean_entropy_over_flags_is_that_of_what_is_counted(used_heads_only):
    policy, actions = small_policy(used_heads_only, batch=96), all_actions()
    log_prob = policy.log_prob(actions)
    counted = {}
    for row in range(len(log_prob)):
        counted[happening(actions, row) if used_heads_only else row] = log_prob[row]
    exact = -sum(one.exp() * one for one in counted.values())
    drawn = torch.zeros(())
    for flags in itertools.product((0, 1), repeat=2):
        chance = sum(policy.log_flags[0, 0, unit, flag] for unit, flag in enumerate(flags)).exp()
        drawn = drawn + chance * policy.entropy_given(torch.tensor(flags).expand(96, 1, 2))[0, 0]
    torch.testing.assert_close(drawn, exact)


def test_entropy_after_a_log_probability_computes_the_later_factors_no_second_time():
    policy, actions, calls = small_policy(batch=96), all_actions(), []
    counted = dataclasses.replace(policy, later=lambda *args: calls.append(1) or policy.later(*args))
    counted.log_prob(actions)
    found = counted.component_entropy()
    assert len(calls) == 1
    flags = torch.stack([actions[name] for name in FLAGS], -1)
    torch.testing.assert_close(found, policy.entropy_given(flags))
    counted.log_prob({name: 1 - value if name in FLAGS else value for name, value in actions.items()})
    torch.testing.assert_close(counted.component_entropy(), policy.entropy_given(1 - flags))


def test_samples_have_the_policys_probabilities():
    number = 40_000
    policy, one = small_policy(batch=number), small_policy()
    uniforms = torch.rand(number, policy.num_uniforms, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    actions, component = policy.sample(uniforms)
    assert component.shape == (number,) and not component.any()
    is_it = (actions["stop"] == 0) & (actions["a"] == 1) & (actions["b"] == 0) & (actions["command"] == 1)
    chosen = {"stop": 0, "a": 1, "b": 0, "command": 1, "hit": 0}
    given = {name: torch.tensor([[value]]) for name, value in chosen.items()}
    expected = sum(one.log_prob(given | {"go": torch.tensor([[place]])}).exp() for place in range(2))
    assert abs(is_it.double().mean() - expected.item()) < 0.01


def test_only_agents_that_decide_count():
    policy = small_policy(agents=2)
    actions, component = policy.sample(torch.rand(1, policy.num_uniforms, dtype=torch.float64))
    each = policy.component_log_prob(actions, component)
    torch.testing.assert_close(policy.log_prob(actions), each.sum(-1))
    torch.testing.assert_close(policy.log_prob(actions, torch.tensor([[True, False]])), each[:, 0])


def test_what_is_drawn_is_legal():
    obs = observations(200, num_agents=2)
    _, actions = sample_of(team(2), obs)
    flags = torch.stack([actions[name] for name in unit_spec().flags], -1).bool()
    assert not (flags & ~obs["owned"]).any() and flags.any()
    command = actions["command"][..., None, None].expand(*flags.shape, 1)
    may = (obs["legal_command"].gather(-1, command).squeeze(-1) & flags).any(-1)
    assert may[flags.any(-1)].all()
    assert not (actions["command"] == 6)[flags.any(-1)].any()
    pointed = flags.any(-1) & (actions["command"] == 2)
    assert (actions["hit"] < obs["num_rival"])[pointed].all() and pointed.any()


def test_the_recorded_probability_is_that_of_learning():
    policy, obs = team(2), observations(num_agents=2)
    with torch.no_grad():
        output, actions = sample_of(policy, obs)
        recorded = output.policy.log_prob(actions)
    torch.testing.assert_close(output_of(policy, obs).policy.log_prob(actions), recorded)
    first = output_of(policy, obs).policy.first_steps(1)
    torch.testing.assert_close(first.log_prob({name: value[:, :1] for name, value in actions.items()}), recorded[:, :1])
