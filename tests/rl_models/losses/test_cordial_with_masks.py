"""CORDIAL where actions can be illegal, against a slow loop: loss, gradient and invalid probability; and its device."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from rl_models.distributions.joint_policy import legal_logits
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.cordial import CoordinationLoss, CoordinationProbe, CoordinationSet
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule
from tests.rl_models.training.small import cordial, rooms

ACTIONS, STEPS = 3, 6


def drawn_case(seed, agents, components, scale=1.0):
    """Logits of mixture and actions, masks with a legal action each, 0/1 matrices, and which of them each step has."""
    draws = torch.Generator().manual_seed(seed)
    mixture = scale * torch.randn(STEPS, components, generator=draws)
    logits = scale * torch.randn(STEPS, agents, components, ACTIONS, generator=draws)
    legal = torch.rand(STEPS, agents, ACTIONS, generator=draws) < 0.6
    legal.scatter_(-1, torch.randint(ACTIONS, (STEPS, agents, 1), generator=draws), True)
    matrices = (torch.rand(5, *[ACTIONS] * agents, generator=draws) < 0.3).long()
    matrices[3:] = 0  # the last has no coordinated joint action, the one before a single one, often illegal
    matrices[3].view(-1)[-1] = 1
    return mixture, logits, legal, matrices, torch.randint(5, (STEPS,), generator=draws)


def policy_of(mixture, logits, legal):
    return MixtureOfMarginals.from_logits(mixture[None], legal_logits(logits, legal[:, :, None])[None])


def loss_of(policy, matrices, matrix, agents, alive=None, form="code"):
    loss = CoordinationLoss(CoordinationSet.from_matrices(matrices, form), Schedule.constant(1.0))
    shown = matrix[None, :, None].expand(1, -1, agents)
    batch = {"obs/coordination": shown, "reward": torch.zeros(shown.shape)}
    batch |= {} if alive is None else {"obs/alive": alive[None]}
    return loss(SimpleNamespace(policy=policy), batch, Progress())


def slow(mixture, logits, legal, matrices, matrix, alive):
    """The same from the definition, in float64, step by step and joint action by joint action."""
    losses, invalid = [], []
    for step in range(STEPS):
        weights, (agents, components, _) = mixture[step].softmax(-1), logits[step].shape
        allowed = [legal[step, agent].nonzero().flatten().tolist() for agent in range(agents)]
        probability = {}
        for joint in itertools.product(*allowed):
            parts = []
            for component in range(components):
                part = weights[component]
                for agent, action in enumerate(joint):
                    own = logits[step, agent, component][allowed[agent]].softmax(-1)
                    part = part * own[allowed[agent].index(action)]
                parts.append(part)
            probability[joint] = sum(parts)
        kept = [joint for joint in probability if matrices[matrix[step]][joint]]
        if kept and alive[step].all():
            losses.append(-sum(probability[joint].log() for joint in kept) / len(kept))
            invalid.append(1 - sum(probability[joint] for joint in kept))
    mean = [sum(one) / len(one) if one else torch.zeros(()) for one in (losses, invalid)]
    return mean[0], mean[1]


CASES = [(seed, agents, components) for agents, components in ((2, 1), (2, 3), (3, 1), (3, 2)) for seed in range(8)]


@pytest.mark.parametrize(("seed", "agents", "components"), CASES)
def test_loss_and_gradient_are_those_of_a_loop_over_legal_joint_actions(seed, agents, components):
    mixture, logits, legal, matrices, matrix = drawn_case(seed, agents, components)
    alive = torch.rand(STEPS, agents, generator=torch.Generator().manual_seed(seed)) < 0.8
    exact = [one.double().requires_grad_() for one in (mixture, logits)]
    wanted, invalid = slow(*exact, legal, matrices, matrix, alive)
    gradients = torch.autograd.grad(wanted, exact, allow_unused=True) if wanted.requires_grad else [None, None]
    fast = [one.clone().requires_grad_() for one in (mixture, logits)]
    loss, statistics = loss_of(policy_of(*fast, legal), matrices, matrix, agents, alive)
    loss.backward()
    torch.testing.assert_close(loss.double(), wanted.detach().double(), atol=1e-5, rtol=1e-5)
    said = statistics["policy/invalid_probability"]
    torch.testing.assert_close(said.double(), invalid.detach().double(), atol=1e-5, rtol=1e-5)
    for here, there in zip(fast, gradients, strict=True):
        there = torch.zeros_like(here) if there is None else there.float()
        torch.testing.assert_close(here.grad, there, atol=1e-5, rtol=1e-4)
    assert (logits.new_zeros(()) == fast[1].grad[~legal[:, :, None].expand_as(logits)]).all()


@pytest.mark.parametrize("agents", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 80.0, 1e4])
def test_every_number_is_finite_and_invalid_probability_a_probability_in_each_precision(agents, dtype, scale):
    for seed in range(4):
        mixture, logits, legal, matrices, matrix = drawn_case(seed, agents, 2, scale)
        inputs = [one.to(dtype).requires_grad_() for one in (mixture, logits)]
        policy = policy_of(*inputs, legal)
        loss, statistics = loss_of(policy, matrices, matrix, agents)
        loss.backward()
        assert 0 <= loss.item() <= 10 * agents * max(1.0, scale), "no illegal action is in the mean"
        assert all(one.grad.isfinite().all() for one in inputs)
        assert 0.0 <= statistics["policy/invalid_probability"] <= 1.0
        assert -1e-2 <= statistics["policy/tvd"] <= 1.0 + 1e-2
        probe = CoordinationProbe(CoordinationSet.from_matrices(matrices))
        steps = SimpleNamespace(policy=policy, values=torch.zeros(1))
        found = probe(steps, {"coordination": matrix[None, :, None].expand(1, -1, agents)})["invalid_probability"]
        assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("form", ["code", "paper"])
def test_weights_of_groups_are_those_without_masks_where_all_actions_are_legal(form):
    mixture, logits, *_ = drawn_case(3, 2, 2)
    sets = CoordinationSet(torch.tensor([[[0, 0], [1, 1], [2, 0]]]), torch.tensor([[0, 0, 1]]), form)
    which = torch.zeros(STEPS, dtype=torch.long)
    policy = MixtureOfMarginals.from_logits(mixture, logits)
    found = sets.log_probabilities(policy, which)
    weights = torch.tensor([0.25, 0.25, 0.5] if form == "code" else [1 / 3] * 3, dtype=torch.float64).float()
    assert torch.equal(sets.cordial(found, which), -(weights * found).sum(-1)), "to the bit"


def test_the_probe_works_where_the_policy_is():
    policy = MixtureOfMarginals(torch.zeros(5, 1, 3, device="meta"), torch.zeros(5, 1, 2, 3, 13, device="meta"))
    output = TeamOutput(policy, torch.zeros(5, 1, 2, device="meta"), {}, {})
    probe = CoordinationProbe(cordial(rooms(1)).coordination)
    metrics = probe(output, {"coordination": torch.zeros(5, 1, 2, dtype=torch.uint8)})
    assert {(name, value.device.type, value.shape) for name, value in metrics.items()} == {
        ("invalid_probability", "meta", (5, 1)),
        ("tvd", "meta", (5, 1)),
    }
    # A CUDA index into a table on the CPU is refused; `meta` is more patient, so look where the tables are.
    assert {table.device.type for table in probe.coordination.buffers()} == {"meta"}
