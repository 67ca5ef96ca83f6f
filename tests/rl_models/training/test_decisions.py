"""Actions that last: which values are learned; what a decision is worth is in `algorithms/test_joint_decisions.py`."""

from types import SimpleNamespace

import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

GAMMA = 0.9


def batch_of(decides, alive, values, terminated=False):
    """One world, one agent a row of the table, three steps with rewards 1, 2, 4 and the value 10 after them."""
    agents = len(decides)
    shape = (1, 3, agents)
    last = torch.full((1, agents), 10.0)
    return {
        "reward": torch.tensor([1.0, 2.0, 4.0])[None, :, None].expand(shape),
        "values": torch.tensor(values, dtype=torch.float32)[None, :, None].expand(shape),
        "last_values": last,
        "final_values": torch.zeros(shape),
        "terminated": torch.tensor([[False, False, terminated]]),
        "truncated": torch.zeros(1, 3, dtype=torch.bool),
        "is_first": torch.tensor([[True, False, False, terminated]]),
        "obs/decides": torch.tensor(decides).T[None],
        "obs/alive": torch.tensor(alive).T[None],
    }


def loss_of(objective, table, value):
    """Statistics of a team that values every moment alike and chooses by chance among two actions."""
    batch = batch_of(**table)
    agents = batch["reward"].shape[-1]
    logits = torch.zeros(1, 4, agents, 1, 2)
    steps = torch.zeros(1, 3, agents)
    batch |= {
        "actions": steps.long(),
        "component": torch.zeros(1, 3, dtype=torch.long),
        "log_prob": steps.sum(-1),
        "agent_log_prob": steps + torch.tensor(0.5).log(),
    }
    batch = objective.prepare(batch)
    length = batch["is_first"].shape[1]
    policy = MixtureOfMarginals.from_logits(torch.zeros(1, length, 1), logits[:, :length])
    output = TeamOutput(policy, torch.full((1, length, agents), value), {}, {})
    return SimpleNamespace(batch=batch, statistics=objective.loss(output, batch, Progress())[1])


BOTH = [True] * 4
IN_TURNS = {"decides": [[True, False, False, True], [False, False, True, True]], "alive": [BOTH, BOTH]}


@pytest.mark.parametrize("kind", [Ppo, Impala])
def test_the_value_error_of_decisions_is_not_diluted_by_agents_that_carry_on(kind):
    """Two decisions: the first agent's is worth 1 + .9 * 2 + .81 * 4 + .729 * 10, the other one's 4 + .9 * 10.

    The other one carries on at the first step, whose value is learned too: it is worth as much as the first agent's.
    """
    table = IN_TURNS | {"values": [0.0, 0.0, 0.0]}
    arguments = {"gamma": GAMMA, "joint_ratio": False} | ({"gae_lambda": 1.0} if kind is Ppo else {})
    found = loss_of(kind(**arguments, value_loss_at="decisions"), table, value=0.0)
    first, second = 1 + 0.9 * 2 + 0.81 * 4 + 0.729 * 10, 4 + 0.9 * 10
    if kind is Impala:  # the value that follows the last step is the present one, here 0
        first, second = 1 + 0.9 * 2 + 0.81 * 4, 4.0
    torch.testing.assert_close(found.statistics["loss/value"], torch.tensor((2 * first**2 + second**2) / 2))


@pytest.mark.long
@pytest.mark.parametrize(
    "objective",
    [
        Ppo(gamma=GAMMA, joint_ratio=False, value_loss_at="decisions"),
        Ppo(gamma=GAMMA, joint_ratio=False, value_loss_at="decisions", decision_minibatches=True, value_clip_range=1.0),
        Ppo(gamma=GAMMA, joint_ratio=False, decision_minibatches=True),
        Ppo(gamma=GAMMA, value_loss_at="decisions"),
        Impala(gamma=GAMMA, joint_ratio=False, value_loss_at="decisions"),
    ],
    ids=["ppo by agent", "ppo of decisions", "ppo of single steps", "ppo", "impala"],
)
def test_a_value_inside_a_macro_action_that_returns_are_bootstrapped_from_is_learned(objective):
    """Fragments of one step. A decision is worth 0 and, at the second step, which only carries on, 1; then all ends."""
    table = torch.tensor([0.0, 5.0], requires_grad=True)
    for update in range(200):
        moment = update % 2
        batch = batch_of([[True, True]], [[True, True]], [0.0], terminated=moment == 1) | {
            "reward": torch.full((1, 1, 1), float(moment)),
            "values": table.detach()[moment].view(1, 1, 1),
            "last_values": table.detach()[1 - moment].view(1, 1),
            "obs/decides": torch.tensor([[[moment == 0], [moment == 1]]]),
            "obs/moment": torch.tensor([[[moment], [1 - moment]]]),
        }
        step = torch.zeros(1, 1)
        batch = {key: value if key.startswith("obs/") else value[:, :1] for key, value in batch.items()}
        batch["terminated"], batch["is_first"] = step.bool() | (moment == 1), torch.tensor([[moment == 0, moment == 1]])
        batch |= {"actions": step.long()[..., None], "component": step.long(), "log_prob": step}
        batch["agent_log_prob"] = step[..., None]
        batch = objective.prepare(batch)
        for part in objective.minibatches(batch, seed=0):
            moments = part["obs/moment"]
            policy = MixtureOfMarginals.from_logits(torch.zeros(*moments.shape), torch.zeros(*moments.shape, 1, 2))
            loss, _ = objective.loss(TeamOutput(policy, table[moments], {}, {}), part, Progress())
            (slope,) = torch.autograd.grad(loss, table)
            table = (table - 0.5 * slope).detach().requires_grad_()
    torch.testing.assert_close(table.detach(), torch.tensor([GAMMA, 1.0]), atol=1e-3, rtol=0)


def test_values_of_all_agents_are_learned_unless_an_objective_asks_for_decisions():
    table = IN_TURNS | {"values": [0.0, 0.0, 0.0]}
    everybody = loss_of(Ppo(gamma=GAMMA, gae_lambda=1.0, joint_ratio=False), table, value=0.0)
    targets = everybody.batch["value_targets"]
    torch.testing.assert_close(everybody.statistics["loss/value"], (targets**2).sum(-1).mean())


def test_advantages_are_standardised_over_decisions_alone():
    table = IN_TURNS | {"values": [3.0, -50.0, 5.0]}
    advantages = Ppo(gamma=GAMMA, joint_ratio=False).prepare(batch_of(**table))["advantages"]
    decided = advantages[batch_of(**table)["obs/decides"][:, :3]]
    torch.testing.assert_close(decided.mean(), torch.tensor(0.0), atol=1e-6, rtol=0)
    torch.testing.assert_close(decided.pow(2).mean(), torch.tensor(1.0))
