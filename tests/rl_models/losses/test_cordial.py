"""CORDIAL against hand numbers on small matrices, and its cost of one number for each entry of S."""

import math
from types import SimpleNamespace

import torch

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.cordial import CoordinationLoss, CoordinationSet
from rl_models.schedule import Progress, Schedule


def product(*probabilities):
    """A team of independent agents."""
    return MixtureOfMarginals(torch.zeros(1), torch.tensor(probabilities).log()[:, None])


TEAM = ((0.5, 0.3, 0.2), (0.6, 0.1, 0.3))
DIAGONAL = torch.eye(3)[None]


def numbers(sets, policy, which=0):
    log_probabilities = sets.log_probabilities(policy, torch.tensor(which))
    return sets.cordial(log_probabilities, torch.tensor(which)), sets.invalid_probability(
        log_probabilities, torch.tensor(which)
    )


def test_cordial_is_the_mean_negative_log_probability_of_coordinated_actions():
    """The paper's own special case: S is the diagonal, the policy a product."""
    cordial, invalid = numbers(CoordinationSet.from_matrices(DIAGONAL), product(*TEAM))
    wanted = -sum(math.log(a * b) for a, b in zip(*TEAM, strict=True)) / 3
    torch.testing.assert_close(cordial, torch.tensor(wanted))
    torch.testing.assert_close(invalid, torch.tensor(1 - (0.3 + 0.03 + 0.06)))


def test_the_codes_form_weighs_groups_alike_and_the_papers_form_entries():
    actions = torch.tensor([[[0, 0], [1, 1], [2, 2]]])
    groups = torch.tensor([[0, 0, 1]])
    logs = [math.log(a * b) for a, b in zip(*TEAM, strict=True)]
    code, _ = numbers(CoordinationSet(actions, groups, "code"), product(*TEAM))
    paper, _ = numbers(CoordinationSet(actions, groups, "paper"), product(*TEAM))
    torch.testing.assert_close(code, torch.tensor(-((logs[0] + logs[1]) / 2 + logs[2]) / 2))
    torch.testing.assert_close(paper, torch.tensor(-sum(logs) / 3))


def test_a_perfectly_coordinated_team_is_never_invalid():
    always = torch.where(torch.eye(3, dtype=torch.bool), 0.0, -torch.inf)
    policy = MixtureOfMarginals.from_logits(torch.zeros(3), always.expand(2, 3, 3))
    cordial, invalid = numbers(CoordinationSet.from_matrices(DIAGONAL), policy)
    torch.testing.assert_close(cordial, torch.tensor(math.log(3.0)))
    torch.testing.assert_close(invalid, torch.tensor(0.0), atol=1e-6, rtol=0)


def cordial_of(logits, alive=None):
    """The loss and its statistics in one world: logits [T, N, A], and who is in the game, [T, N]."""
    loss = CoordinationLoss(CoordinationSet.from_matrices(DIAGONAL), Schedule.constant(1.0))
    times, agents, _ = logits.shape
    policy = MixtureOfMarginals.from_logits(torch.zeros(1, times, 1), logits[None, :, :, None])
    matrix, reward = torch.zeros(1, times, agents, dtype=torch.long), torch.zeros(1, times, agents)
    batch = {"obs/coordination": matrix, "reward": reward}
    batch |= {} if alive is None else {"obs/alive": alive[None]}
    return loss(SimpleNamespace(policy=policy), batch, Progress())


def test_cordial_and_invalid_probability_are_of_the_steps_at_which_all_agents_decide():
    logits = torch.randn(3, 2, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    alive = torch.tensor([[True, True], [True, False], [True, True]])
    loss, statistics = cordial_of(logits, alive)
    together, wanted = cordial_of(logits[[0, 2]])
    torch.testing.assert_close(loss, together)
    torch.testing.assert_close(statistics["policy/invalid_probability"], wanted["policy/invalid_probability"])
    loss.backward()
    assert logits.grad[1].abs().max() == 0 and logits.grad[[0, 2]].abs().min() > 0
