"""A world of tensors is played, learned from and validated as the same one in NumPy, without asking the host."""

import functools

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
from tests.rl_models.training.small import ROUNDING, assert_equal_fragments, rooms, team

WORLDS, LENGTH, LIMIT, ACTIONS, VIEW = 5, 8, 4, 6, (26, 4, 5)
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


def kitchens(arrays, device="cpu", **arguments):
    arguments = {"max_episode_steps": LIMIT, "shaping": 1.0} | arguments
    return make("overcooked-v0", WORLDS, arrays=arrays, device=str(device), **arguments)


def furnished(arrays, device="cpu", **arguments):
    """FurnMove, whose starts the host draws in time."""
    return rooms(WORLDS, arrays=arrays, device=str(device), **arguments)


KITCHENS = {"with memory": (kitchens, with_memory), "without memory": (kitchens, without_memory)}
GAMES = KITCHENS | {"drawn starts": (furnished, team)}
EACH_GAME = pytest.mark.parametrize(("make_world", "build"), GAMES.values(), ids=GAMES)


@pytest.fixture(autouse=True)
def few_ahead(monkeypatch):
    """A fragment needs more starts than are prepared without being told of it."""
    monkeypatch.setattr(prepared_starts, "STEPS_AHEAD", 3)


@pytest.fixture
def captured(monkeypatch):
    """Steps on the emulated device are captured."""
    monkeypatch.setattr(devices, "can_capture", lambda device: device == DEVICE)
    monkeypatch.setattr(cuda_graph, "Capture", EmulatedCapture)


def collector(make_world, arrays, policy, device="cpu", length=LENGTH, **arguments):
    one = make_collector([make_world(arrays, device, **arguments)], policy, length, needs_values=True)
    one.reset(3)
    return one


def on_host(fragment):
    """The same fragment in the host's memory."""
    for part in (fragment.obs, fragment.steps, fragment.ends):
        part.update({name: np.asarray(torch.as_tensor(value).cpu()) for name, value in part.items()})
    fragment.is_first, fragment.versions = (np.asarray(one.cpu()) for one in (fragment.is_first, fragment.versions))
    return fragment


def assert_equal_episodes(one, other):
    assert one.keys() == other.keys() and len(one["length"])
    np.testing.assert_equal(one, other)


@pytest.mark.parametrize(
    ("make_world", "build", "arguments"),
    [
        *((*game, {"bootstrap_at_limit": bootstraps}) for game in KITCHENS.values() for bootstraps in (True, False)),
        *((furnished, functools.partial(team, agents=agents), {"agents": agents}) for agents in (2, 3)),
    ],
)
def test_fragments_of_tensors_are_those_of_arrays(make_world, build, arguments):
    ours, theirs = (collector(make_world, arrays, build(), **arguments) for arrays in BOTH)
    for version in range(2):
        ours.version = theirs.version = version
        assert_equal_fragments(ours.collect(), theirs.collect(), close=ROUNDING)
        assert_equal_episodes(ours.pop_episodes(), theirs.pop_episodes())


def test_long_fragments_are_prepared_as_a_whole():
    ours, theirs = (collector(furnished, arrays, team(), length=3 * LENGTH) for arrays in BOTH)
    assert_equal_fragments(ours.collect(), theirs.collect(), close=ROUNDING)


@EACH_GAME
@pytest.mark.parametrize("order", [BOTH, BOTH[::-1]])
def test_a_collector_continues_from_a_snapshot_of_the_other(make_world, build, order):
    first, second = (collector(make_world, arrays, build()) for arrays in order)
    first.version = 4
    first.collect()
    second.restore(first.snapshot())
    assert_equal_fragments(first.collect(), second.collect(), close=ROUNDING)


@EACH_GAME
@pytest.mark.parametrize("is_greedy", [False, True])
def test_validation_with_tensors_is_that_with_arrays(make_world, build, is_greedy):
    assert_equal_episodes(*(Evaluation(make_world(one), build(), is_greedy=is_greedy).run(7, 2) for one in BOTH))


def test_a_world_that_was_validated_can_be_played_on():
    world = furnished("torch")
    Evaluation(world, team()).run(1)
    world.reset(2)
    for _ in range(2 * LENGTH):
        world.step(torch.zeros((WORLDS, 2), dtype=torch.int64))
    world.prepare(100)


@pytest.mark.parametrize("build", [with_memory, without_memory])
def test_the_host_is_asked_for_nothing_before_a_fragment_ends_on_an_emulated_device(build):
    expected = collector(kitchens, "numpy", build())
    with emulated_device() as counts:
        policy = build().to(DEVICE)
        for length in (1, LENGTH):
            one = collector(kitchens, "torch", policy, DEVICE, length)
            counts.copies = counts.syncs = 0
            fragment = one.collect()
            assert (counts.copies, counts.syncs) == (1, 1), "the metrics of ended episodes, once"
        counts.copies = counts.syncs = 0
        Learner(policy, Ppo(num_epochs=2, num_minibatches=2), OptimiserSettings(optimiser_epsilon=0.1)).update(
            [fragment]
        )
        assert (counts.copies, counts.syncs) == (2, 1), "each epoch's order of worlds, and the count of env steps"
        found = on_host(fragment)
    assert_equal_fragments(expected.collect(), found, close=ROUNDING)


def test_steps_ask_the_host_for_starts_once_a_fragment_on_an_emulated_device():
    with emulated_device() as counts:
        one = collector(furnished, "torch", team().to(DEVICE), DEVICE)
        one.world.prepare(LENGTH)
        counts.copies = counts.syncs = 0
        one.collect()
        assert (counts.copies, counts.syncs) == (2, 2), "the episodes that began, and the metrics of ended ones"


def test_the_host_is_asked_once_in_a_validation_on_an_emulated_device():
    with emulated_device() as counts:
        evaluation = Evaluation(kitchens("torch", DEVICE), without_memory().to(DEVICE))
        counts.copies = counts.syncs = 0
        evaluation.run(7, 2)
        assert (counts.copies, counts.syncs) == (2, 1), "the worlds' keys, and the metrics"


@pytest.mark.usefixtures("captured")
@EACH_GAME
def test_a_step_is_captured_and_replayed_on_an_emulated_device(make_world, build):
    expected = collector(make_world, "numpy", build())
    with emulated_device():
        one = collector(make_world, "torch", build().to(DEVICE), DEVICE)
        found = [on_host(one.collect()) for _ in range(2)]
        assert not one.graphed.never
    for fragment in found:
        assert_equal_fragments(expected.collect(), fragment, close=ROUNDING)


@pytest.mark.usefixtures("captured")
@pytest.mark.parametrize("env", ["overcooked-v0", pytest.param("furnmove-v0", marks=pytest.mark.long)])
def test_a_validation_is_captured_and_replayed_on_an_emulated_device(env, monkeypatch):
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

    ours, theirs = (collector(kitchens, arrays, build()) for arrays in BOTH)
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
        collector(kitchens, "torch", policy)
    with pytest.raises(ValueError, match="noise"):
        Evaluation(kitchens("torch"), policy).run(0)


def test_what_worlds_of_tensors_do_not_offer_is_refused():
    with pytest.raises(ValueError, match="world-groups"):
        make_collector([kitchens("torch")] * 2, without_memory(), LENGTH, needs_values=True)
    with pytest.raises(ValueError, match="arrays"):
        Evaluation(kitchens("torch"), without_memory(), probe=lambda output, obs: {})
    with emulated_device(), pytest.raises(ValueError, match="device"):
        collector(kitchens, "torch", without_memory().to(DEVICE))
