"""Joint policies, CORDIAL, TVD and invalid probability against numbers from the authors' own functions."""

import json

import numpy as np
import pytest
import torch

from rl_envs.furnmove.actions import coordinated_actions, coordination_class, coordination_matrix
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.cordial import CoordinationSet
from rl_models.schedule import Progress, Schedule
from tests.golden.cases import own_or_golden

FILES = own_or_golden("losses.npz")
TOLERANCE = {"f64": {"atol": 1e-12, "rtol": 1e-10}, "f32": {"atol": 1e-5, "rtol": 2e-5}}
DTYPE = {"f64": torch.float64, "f32": torch.float32}


def load(path):
    data = dict(np.load(path, allow_pickle=False))
    return data, json.loads(str(data["meta"]))


def mixtures(data):
    return sorted({key.removesuffix("_mixture_logits") for key in data if key.endswith("_mixture_logits")})


def policy_of(data, case, kind):
    logits = [
        torch.tensor(data[f"{case}_{part}_logits"], dtype=DTYPE[kind]).requires_grad_()
        for part in ("mixture", "policy")
    ]
    return MixtureOfMarginals.from_logits(*logits), logits


def coordination(num_agents, form):
    actions, modalities = coordinated_actions(num_agents)
    groups = np.broadcast_to(modalities > 0, actions.shape[:2]).astype(int)
    return CoordinationSet(torch.from_numpy(actions), torch.from_numpy(groups), form)


@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize("path", FILES)
def test_joint_policies_and_metrics_equal_the_authors(path, kind):
    data, _ = load(path)
    close = TOLERANCE[kind]
    for case in mixtures(data):
        policy, _ = policy_of(data, case, kind)
        headings = data[f"{case}_headings"].astype(int)
        which = torch.from_numpy(coordination_class(headings))
        code = coordination(headings.shape[1], "code")
        log_probabilities = code.log_probabilities(policy, which)
        got = {
            "joint": policy.joint().flatten(1),
            "log_joint": policy.log_joint().flatten(1),
            "cordial_code": code.cordial(log_probabilities, which),
            "cordial_paper": coordination(headings.shape[1], "paper").cordial(log_probabilities, which),
            "invalid_prob": code.invalid_probability(log_probabilities, which),
            "l1_to_product": 2 * policy.tvd(),
            "tvd": policy.tvd(),
            "entropy_joint": policy.component_entropy(),
            "entropy_marginal": policy.marginal_entropy(),
        }
        compared = 0
        for name, value in got.items():
            wanted = data.get(f"{case}_{name}_{kind}")
            if wanted is not None:
                value = value.detach().numpy()
                np.testing.assert_allclose(value, wanted.reshape(value.shape), err_msg=f"{case} {name}", **close)
                compared += 1
        assert compared >= 7, f"{case}: only {compared} quantities compared"
        rollout = data[f"{case}_cordial_code_rollout_{kind}"]
        np.testing.assert_allclose(got["cordial_code"].mean().item(), rollout, **close)


@pytest.mark.parametrize("form", ["code", "paper"])
@pytest.mark.parametrize("path", FILES)
def test_cordial_gradients_equal_the_authors(path, form):
    data, _ = load(path)
    for case in mixtures(data):
        policy, logits = policy_of(data, case, "f64")
        headings = data[f"{case}_headings"].astype(int)
        which = torch.from_numpy(coordination_class(headings))
        coordination_set = coordination(headings.shape[1], form)
        loss = coordination_set.cordial(coordination_set.log_probabilities(policy, which), which)
        gradients = torch.autograd.grad(loss.sum(), logits)
        for part, logit, gradient in zip(("mixture", "policy"), logits, gradients, strict=True):
            wanted = data[f"{case}_grad_{form}_{part}_logits_f64"]
            np.testing.assert_allclose(gradient, wanted.reshape(logit.shape), atol=1e-12, rtol=1e-10, err_msg=case)


@pytest.mark.parametrize("path", FILES)
def test_coordination_matrices_equal_the_recorded_ones(path):
    data, _ = load(path)
    for case in mixtures(data):
        headings = data[f"{case}_headings"].astype(int)
        matrices = coordination_matrix(headings)
        bits = np.unpackbits(data[f"{case}_S_bits"], axis=-1, count=matrices[0].size)
        np.testing.assert_array_equal(matrices.reshape(bits.shape), bits)


@pytest.mark.parametrize("path", FILES)
def test_beta_falls_from_one_to_a_hundredth_over_5000_episodes(path):
    data, _ = load(path)
    schedule = Schedule(((0, 1.0), (4950, 0.01)), unit="episodes")
    beta = [schedule.at(Progress(episodes=int(episode))) for episode in data["beta_episode"]]
    np.testing.assert_allclose(beta, data["beta"], atol=1e-12)
