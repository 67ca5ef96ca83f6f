"""A world of tensors is played, learned from and validated as the same one in NumPy, without asking the host."""

import numpy as np
import pytest
import torch
from torch import nn

from rl_envs import make
from rl_envs.furnmove import prepared_starts
from rl_envs.overcooked.world import Overcooked
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.heads.mixture_heads import LegalPolicyHead, ValueHead
from rl_models.networks.grid_cnn import GridCnn
from rl_models.networks.network_config import GridCnnConfig
from rl_models.networks.private import PrivateNetworks
from rl_models.policy import Features, TeamPolicy, seeded
from rl_models.runtime import cuda_graph
from rl_models.runtime import device as devices
from rl_models.teams.grid_cnn_team import grid_cnn_team
from rl_models.training import device_collector
from rl_models.training.evaluation import Evaluation
from rl_models.training.grouped_collector import make_collector
from rl_models.training.loop import Learner
from tests.emulated_device import DEVICE, EmulatedCapture, emulated_device
from tests.rl_envs.furnmove.scenes import ROOMS
from tests.rl_models.training.small import ROUNDING, assert_equal_fragments

WORLDS, LENGTH, LIMIT, ACTIONS, VIEW = 5, 6, 4, 6, (26, 4, 5)
BOTH = ("numpy", "torch")


class Remembers(nn.Module):
    """A network with a memory that fades, for each agent."""

    num_agents = 2

    def __init__(self):
        super().__init__()
        self.read = nn.Linear(np.prod(VIEW), 8)

    def initial_state(self, batch):
        return {"memory": self.read.weight.new_zeros(batch, 2, 8)}

    def forward(self, obs, state, is_first):
        seen, memory, memories = self.read(obs["lossless"].flatten(3).float()), state["memory"], []
        for step in range(seen.shape[1]):
            memory = torch.tanh(seen[:, step] + 0.5 * memory * ~is_first[:, step, None, None])
            memories.append(memory)
        return Features(torch.stack(memories, 1), {"memory": memory})


def with_memory():
    with seeded(1):
        return TeamPolicy(Remembers(), LegalPolicyHead(8, ACTIONS), ValueHead(8))


def without_memory():
    return grid_cnn_team(GridCnnConfig((4, 4), 3, (8,)), 2, VIEW, ACTIONS, seed=1)


TEAMS = pytest.mark.parametrize("build", [with_memory, without_memory])


def kitchens(arrays, device="cpu", **arguments):
    arguments = {"max_episode_steps": LIMIT, "shaping": 1.0} | arguments
    return make("overcooked-v0", WORLDS, arrays=arrays, device=str(device), **arguments)


def collector(arrays, policy, device="cpu", length=LENGTH, **arguments):
    one = make_collector([kitchens(arrays, device, **arguments)], policy, length, needs_values=True)
    one.reset(3)
    return one


def learner(policy):
    return Learner(policy, Ppo(num_epochs=2, num_minibatches=2), OptimiserSettings(optimiser_epsilon=0.1))


def on_host(fragment):
    """The same fragment in the host's memory."""
    for part in (fragment.obs, fragment.steps, fragment.ends):
        part.update({name: np.asarray(torch.as_tensor(value).cpu()) for name, value in part.items()})
    fragment.is_first, fragment.versions = (np.asarray(one.cpu()) for one in (fragment.is_first, fragment.versions))
    return fragment


def assert_equal_episodes(one, other):
    assert one.keys() == other.keys() and len(one["length"])
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@TEAMS
@pytest.mark.parametrize("bootstraps", [True, False])
def test_fragments_of_tensors_are_those_of_arrays(build, bootstraps):
    ours, theirs = (collector(arrays, build(), bootstrap_at_limit=bootstraps) for arrays in BOTH)
    for version in range(2):
        ours.version = theirs.version = version
        assert_equal_fragments(ours.collect(), theirs.collect(), close=ROUNDING)
        assert_equal_episodes(ours.pop_episodes(), theirs.pop_episodes())


@TEAMS
@pytest.mark.parametrize("order", [BOTH, BOTH[::-1]])
def test_a_collector_continues_from_a_snapshot_of_the_other(build, order):
    first, second = (collector(arrays, build()) for arrays in order)
    first.version = 4
    first.collect()
    second.restore(first.snapshot())
    assert_equal_fragments(first.collect(), second.collect(), close=ROUNDING)


@pytest.mark.parametrize("is_greedy", [False, True])
def test_validation_with_tensors_is_that_with_arrays(is_greedy):
    for build in (with_memory, without_memory):
        played = [Evaluation(kitchens(arrays), build(), is_greedy=is_greedy).run(7, 2) for arrays in BOTH]
        assert_equal_episodes(*played)


@TEAMS
def test_the_host_is_asked_for_nothing_before_a_fragment_ends_on_an_emulated_device(build):
    expected = collector("numpy", build())
    with emulated_device() as counts:
        policy = build().to(DEVICE)
        for length in (1, LENGTH):
            one = collector("torch", policy, DEVICE, length)
            counts.copies = counts.syncs = 0
            fragment = one.collect()
            assert (counts.copies, counts.syncs) == (1, 1), "the metrics of ended episodes, once"
        counts.copies = counts.syncs = 0
        learner(policy).update([fragment])
        assert (counts.copies, counts.syncs) == (2, 1), "each epoch's order of worlds, and the count of env steps"
        found = on_host(fragment)
    assert_equal_fragments(expected.collect(), found, close=ROUNDING)


def test_the_host_is_asked_once_in_a_validation_on_an_emulated_device():
    with emulated_device() as counts:
        evaluation = Evaluation(kitchens("torch", DEVICE), without_memory().to(DEVICE))
        counts.copies = counts.syncs = 0
        evaluation.run(7, 2)
        assert (counts.copies, counts.syncs) == (2, 1), "the worlds' keys, and the metrics"


@TEAMS
def test_a_step_is_captured_and_replayed_on_an_emulated_device(build, monkeypatch):
    monkeypatch.setattr(devices, "can_capture", lambda device: device == DEVICE)
    monkeypatch.setattr(cuda_graph, "Capture", EmulatedCapture)
    expected = collector("numpy", build())
    with emulated_device():
        one = collector("torch", build().to(DEVICE), DEVICE)
        found = [on_host(one.collect()) for _ in range(2)]
        assert not one.graphed.never
    for fragment in found:
        assert_equal_fragments(expected.collect(), fragment, close=ROUNDING)


@pytest.mark.parametrize("env", ["overcooked-v0", "furnmove-v0"])
def test_a_validation_is_captured_and_replayed_on_an_emulated_device(env, monkeypatch):
    monkeypatch.setattr(devices, "can_capture", lambda device: device == DEVICE)
    monkeypatch.setattr(cuda_graph, "Capture", EmulatedCapture)
    monkeypatch.setattr(device_collector, "_STEPS_PREPARED", 3)
    monkeypatch.setattr(prepared_starts, "STEPS_AHEAD", 2)
    key, arguments = {"overcooked-v0": ("lossless", {}), "furnmove-v0": ("view", {"rooms": ROOMS})}[env]

    def played(where, **place):
        world = make(env, 2, max_episode_steps=LIMIT, **arguments, **place)
        with seeded(1):
            network = GridCnn(GridCnnConfig((4, 4), 3, (8,)), 2, world.observation_spec[key].shape, key)
            team = TeamPolicy(network, LegalPolicyHead(8, len(world.action_names)), ValueHead(8))
        evaluation = Evaluation(world, team.to(where))
        found = [evaluation.run(seed, 2) for seed in (7, 8)]
        return found, evaluation.graphed

    expected, _ = played("cpu")
    with emulated_device():
        found, graphed = played(DEVICE, arrays="torch", device=str(DEVICE))
    assert not graphed.never
    for one, other in zip(expected, found, strict=True):
        assert_equal_episodes(one, other)


def test_a_team_with_a_network_an_agent_collects_tensors():
    def build():
        with seeded(1):
            members = [GridCnn(GridCnnConfig((4, 4), 3, (8,)), 1, VIEW) for _ in range(2)]
            return TeamPolicy(PrivateNetworks(members), LegalPolicyHead(8, ACTIONS), ValueHead(8))

    ours, theirs = (collector(arrays, build()) for arrays in BOTH)
    assert_equal_fragments(ours.collect(), theirs.collect(), close=ROUNDING)


class StopsEarly(Overcooked):
    """A kitchen that truncates episodes before the limit that it declares."""

    def _advance(self, actions, recorded):
        reward, terminated, truncated = super()._advance(actions, recorded)
        return reward, terminated, truncated | (self.state["episode_length"] >= 1)


def test_episodes_that_are_truncated_before_the_limit_are_refused():
    one = make_collector([StopsEarly(WORLDS, arrays="torch")], without_memory(), LENGTH, needs_values=True)
    one.reset(3)
    with pytest.raises(ValueError, match="max_episode_steps"):
        one.collect()


class Noisy(GridCnn):
    """A network that asks for noise."""

    def noise_shape(self, obs):
        return (3,)


def test_teams_that_draw_noise_are_refused():
    policy = TeamPolicy(Noisy(GridCnnConfig((4, 4), 3, (8,)), 2, VIEW), LegalPolicyHead(8, ACTIONS), ValueHead(8))
    with pytest.raises(ValueError, match="noise"):
        collector("torch", policy)
    with pytest.raises(ValueError, match="noise"):
        Evaluation(kitchens("torch"), policy).run(0)


def test_what_worlds_of_tensors_do_not_offer_is_refused():
    with pytest.raises(ValueError, match="world-groups"):
        make_collector([kitchens("torch")] * 2, without_memory(), LENGTH, needs_values=True)
    with pytest.raises(ValueError, match="arrays"):
        Evaluation(kitchens("torch"), without_memory(), probe=lambda output, obs: {})
    with emulated_device(), pytest.raises(ValueError, match="device"):
        collector("torch", without_memory().to(DEVICE))
