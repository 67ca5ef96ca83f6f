"""Greedy play: the mode of every kind of joint policy, in evaluation too."""

import itertools

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_models.distributions.joint_categorical import JointCategorical
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.teams.constant_team import constant_team
from rl_models.training.evaluation import Evaluation

AGENTS, ACTIONS = 2, 4


def mixture(components, seed=0):
    draw = torch.Generator().manual_seed(seed)
    weights, logits = (
        torch.randn(*shape, generator=draw) for shape in ((6, components), (6, AGENTS, components, ACTIONS))
    )
    return MixtureOfMarginals.from_logits(weights, logits)


def table(seed=0):
    draw = torch.Generator().manual_seed(seed)
    return JointCategorical.from_logits(torch.randn(6, ACTIONS, ACTIONS, generator=draw), AGENTS)


@pytest.mark.parametrize("policy", [mixture(1), table()], ids=["marginals", "table"])
def test_no_joint_action_is_likelier_than_the_greedy_one(policy):
    actions, component = policy.mode()
    greedy = policy.log_prob(actions)
    for joint in itertools.product(range(ACTIONS), repeat=AGENTS):
        assert (policy.log_prob(torch.tensor(joint).expand(6, -1)) <= greedy).all()
    sampled = policy.sample(torch.rand(6, policy.num_uniforms))
    assert [(part.shape, part.dtype) for part in sampled] == [(part.shape, part.dtype) for part in (actions, component)]


def test_greedy_agents_of_a_mixture_agree_on_its_likeliest_component():
    policy = mixture(3)
    actions, component = policy.mode()
    assert torch.equal(component, policy.log_weights.argmax(-1))
    assert torch.equal(actions, policy.log_marginals[torch.arange(6), :, component].argmax(-1))


def test_a_greedy_evaluation_plays_the_same_action_everywhere_and_a_sampling_one_does_not():
    policy = constant_team(1, 2, 3, seed=4)
    seen = {}
    for is_greedy in (True, False):
        world = make("matrix_game-v0", 200)
        evaluation = Evaluation(world, policy, is_greedy=is_greedy)
        played, step = [], world.step
        world.step = lambda actions, step=step, played=played: (played.append(actions), step(actions))[1]
        evaluation.run(seed=0)
        seen[is_greedy] = np.unique(np.concatenate(played), axis=0)
    assert len(seen[True]) == 1
    assert len(seen[False]) > 1
    wanted = policy({}, {}, torch.zeros(1, 1, dtype=torch.bool)).policy.mode()[0]
    np.testing.assert_array_equal(seen[True][0], wanted[0, 0].numpy())
