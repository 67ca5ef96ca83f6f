"""Networks of QMIX, ROMA, LDSA and MASER: sizes, gradient paths, choices, and acting that equals learning."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.algorithms.qmix import Qmix
from rl_models.batch import forward, to_batch
from rl_models.layers.monotonic_mixer import MonotonicMixer
from rl_models.layers.sampling import choose_one, standard_normal
from rl_models.losses.roles import RoleLoss
from rl_models.networks.q_network import QNetwork
from rl_models.networks.qmix_encoders import FirstAgentState, VectorEncoder
from rl_models.networks.qmix_policy import ONLINE, REPRESENTATION, MaserPolicy, make_mixing
from rl_models.networks.role_q_network import RoleQNetwork
from rl_models.networks.role_team_config import RoleConfig, RoleLossConfig, SubtaskConfig
from rl_models.networks.subtask_q_network import LOGITS, SubtaskQNetwork
from rl_models.runtime.added_observations import NOISE
from rl_models.schedule import Progress
from rl_models.teams.qmix_team import QmixTeamConfig
from rl_models.training.evaluation import Evaluation
from tests.rl_models.algorithms.role_worlds import METHODS, Corridor, played
from tests.rl_models.algorithms.small_qmix import CONFIG, ROOM, collector, objective, room_team, rooms
from tests.rl_models.training.small import second_fragment


def size(module):
    return sum(weight.numel() for weight in module.parameters())


def encoder(inputs, agents=2):
    return VectorEncoder("seen", inputs - agents)


@pytest.mark.parametrize(
    ("build", "sizes"),
    [
        (lambda i, a: RoleQNetwork(encoder(i), 2, a, RoleConfig()), (83_923, 33_282)),
        (lambda i, a: SubtaskQNetwork(encoder(i), 2, a, SubtaskConfig()), (151_622, 81_349)),
        (lambda i, a: QNetwork(encoder(i), 2, a), (59_206, 26_117)),
    ],
)
def test_networks_have_as_many_weights_as_the_releases(build, sizes):
    """With 528 inputs (520 observed, 6 actions, 2 agents) and 6 actions, and with 12 inputs and 5 actions."""
    assert (size(build(528, 6)), size(build(12, 5))) == sizes


@pytest.mark.parametrize(("state", "hidden", "number"), [(520, 0, 83_393), (520, 64, 106_305), (10, 0, 1_793)])
def test_mixers_have_as_many_weights_as_the_releases(state, hidden, number):
    assert size(MonotonicMixer(state, 2, 32, hidden)) == number


@pytest.mark.parametrize(("inputs", "actions", "number"), [(520, 6, 67_462), (5, 5, 1_413)])
def test_a_representation_has_as_many_weights_as_the_release(inputs, actions, number):
    network = QNetwork(VectorEncoder("seen", inputs), 2, actions)
    assert size(MaserPolicy(network, None).representation) == number


def test_no_partial_derivative_is_negative_in_any_state():
    torch.manual_seed(0)
    mixer, values = MonotonicMixer(5, 3, 7), (4 * torch.randn(500, 3)).requires_grad_()
    mixer(3 * torch.randn(500, 5))(values).sum().backward()
    assert values.grad.min() >= 0
    assert values.grad.max() > 0


# ------------------------------------------------------------------------------------- what all share


def fragment_and_policy(method="grid", **arguments):
    """A fragment that begins inside episodes, and who played it: a team of a method, or of QMIX in rooms."""
    corridor = Corridor(6, cells=3, max_episode_steps=5)
    one = collector(**arguments) if method == "grid" else played(corridor, method, 12)
    return second_fragment(one), one.policy


@pytest.mark.parametrize("method", ["grid", *METHODS])
def test_acting_is_learning_with_the_same_noise(method):
    fragment, policy = fragment_and_policy(method)
    assert (NOISE in fragment.obs) == (method in ("roma", "ldsa"))
    output = forward(policy, objective(texts=CONFIG.texts if method == "grid" else ()).prepare(to_batch(fragment)))
    np.testing.assert_allclose(fragment.steps["values"], output.values[:, :-1].detach(), atol=1e-5)
    log_prob = output.policy.first_steps(12).log_prob(torch.from_numpy(fragment.steps["actions"]))
    np.testing.assert_allclose(fragment.steps["log_prob"], log_prob, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_an_agents_values_do_not_depend_on_the_worlds_beside_it(method):
    fragment, policy = fragment_and_policy(method)
    batch = to_batch(fragment)
    alone = forward(policy, {key: value[:1] for key, value in batch.items()}).values
    torch.testing.assert_close(alone, forward(policy, batch).values[:1])


@pytest.mark.parametrize("method", METHODS)
def test_play_with_best_actions_and_most_probable_choices_is_determined(method):
    _, policy = fragment_and_policy(method)
    returns = [
        Evaluation(Corridor(4, first, cells=3), policy, is_greedy=True, draws_noise=False).run(seed)["return"]
        for seed, first in ((0, 0), (5, 9))
    ]
    np.testing.assert_array_equal(*returns)


def test_maser_represents_observations_that_its_q_network_encoded_once():
    fragment, policy = fragment_and_policy("maser")
    batch, encoded = to_batch(fragment), []
    handle = policy.network.encoder.register_forward_hook(lambda *call: encoded.append(call[-1]))
    found = forward(policy, batch).extras[REPRESENTATION]
    handle.remove()
    assert len(encoded) == 1
    again = policy.network.encoder({key[4:]: value for key, value in batch.items() if key.startswith("obs/")})
    assert torch.equal(found, policy.representation(again))


def test_the_state_of_a_world_that_all_see_is_the_first_agents_observation():
    planes = torch.arange(2 * 3 * 2 * 4).view(2, 3, 2, 2, 2)
    state = FirstAgentState("seen", 4)({"seen": planes})
    assert state.shape == (2, 3, 4)
    assert state[1, 2].tolist() == planes[1, 2, 0].flatten().tolist()


# ------------------------------------------------------------------------------------------------ ROMA


def test_identifiability_teaches_encoder_and_inference_and_not_the_memory():
    fragment, policy = fragment_and_policy("roma")
    batch = to_batch(fragment)
    RoleLoss(RoleLossConfig(specialisation_coef=0.0))(forward(policy, batch), batch, Progress())[0].backward()
    learns = {
        name for name, weight in policy.network.named_parameters() if weight.grad is not None and weight.grad.any()
    }
    assert {"role_encoder.3.weight", "inference.3.weight"} <= learns
    assert not [
        name for name in learns if name.startswith(("memory", "input", "role_decoder", "last_", "dissimilarity"))
    ]


def test_the_joint_value_teaches_neither_inference_nor_dissimilarity():
    fragment, policy = fragment_and_policy("roma")
    batch = Qmix().prepare(to_batch(fragment))
    Qmix().loss(forward(policy, batch), batch, Progress())[0].backward()
    for name, weight in policy.network.named_parameters():
        is_regularised = name.startswith(("inference", "dissimilarity"))
        assert (weight.grad is None or not weight.grad.any()) == is_regularised, name


def test_values_are_those_of_the_last_layer_that_a_role_writes():
    _, policy = fragment_and_policy("roma")
    network = policy.network
    state, role = (torch.randn(16), torch.randn(3))
    decoded = network.role_decoder(role)
    weight = network.last_weights(decoded).view(16, 3)
    torch.testing.assert_close(network.values(state, role), state @ weight + network.last_biases(decoded))


def test_normal_numbers_have_the_quantiles_of_the_normal_distribution():
    uniforms = torch.tensor([0.0, 0.02275, 0.5, 0.84134, 1.0])
    drawn = standard_normal(uniforms)
    torch.testing.assert_close(drawn[1:4], torch.tensor([-2.0, 0.0, 1.0]), atol=1e-3, rtol=0)
    assert drawn.isfinite().all()


# ------------------------------------------------------------------------------------------------ LDSA


def test_one_class_is_chosen_as_often_as_it_is_probable():
    logits = torch.tensor([0.0, 1.0, 2.0]).requires_grad_()
    uniforms = torch.rand(20_000, 3, generator=torch.Generator().manual_seed(0))
    chosen = choose_one(logits.expand(20_000, 3), uniforms)
    assert set(chosen.unique().tolist()) == {0.0, 1.0} and (chosen.sum(-1) == 1).all()
    torch.testing.assert_close(chosen.mean(0), logits.softmax(0), atol=0.01, rtol=0)
    assert choose_one(logits, None).tolist() == [0.0, 0.0, 1.0]
    (choose_one(logits, None) * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().sum() > 0


def test_the_joint_value_reaches_subtasks_through_the_choice_alone():
    fragment, policy = fragment_and_policy("ldsa")
    network = policy.network
    states, table = torch.randn(5, 16), network.vectors()
    network.values(states, table).sum().backward()
    assert all(weight.grad is None for weight in network.table.parameters())
    assert network.last_weights.weight.grad.abs().sum() > 0
    batch = Qmix().prepare(to_batch(fragment))
    Qmix().loss(forward(policy, batch), batch, Progress())[0].backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name


def test_exchanging_two_subtasks_exchanges_logits_and_leaves_best_values():
    fragment, policy = fragment_and_policy("ldsa")
    batch = {key: value for key, value in to_batch(fragment).items() if key != f"obs/{NOISE}"}
    before = forward(policy, batch)
    order = torch.tensor([0, 3, 2, 1])
    with torch.no_grad():
        policy.network.table[0].weight.copy_(policy.network.table[0].weight[:, order])
    after = forward(policy, batch)
    torch.testing.assert_close(after.extras[LOGITS], before.extras[LOGITS][..., order])
    torch.testing.assert_close(after.values, before.values)


# ------------------------------------------------------------------------------------------- grids


def changed(batch, **values):
    return batch | {f"obs/{key}": value for key, value in values.items()}


def values_of(policy, batch):
    return forward(policy, batch).extras[f"q/{ONLINE}"]


def test_an_agent_remembers_within_an_episode_and_forgets_at_its_end():
    fragment, policy = fragment_and_policy()
    batch = objective().prepare(to_batch(fragment))
    other = batch | {"state/hidden": batch["state/hidden"] + 1}
    is_new = torch.from_numpy(np.maximum.accumulate(fragment.is_first, axis=1))
    differs = (values_of(policy, batch) != values_of(policy, other)).any(-1).any(-1)
    assert not differs[is_new].any()
    assert differs[~is_new].all()


def test_agents_share_weights_and_differ_by_who_they_are():
    """With equal observations only the agent's own number can make a difference."""
    fragment, policy = fragment_and_policy()
    batch = objective().prepare(to_batch(fragment))
    alike = {key: value.clone() for key, value in batch.items()}
    for key in (name for name in alike if name.startswith(("obs/", "state/"))):
        axis = 1 if key.startswith("state/") else 2
        alike[key] = alike[key].narrow(axis, 0, 1).expand_as(alike[key]).clone()
    values = values_of(policy, alike)
    assert (values[:, :, 0] != values[:, :, 1]).any(-1).all()
    with torch.no_grad():
        policy.network.input.weight[:, -2:] = 0
    values = values_of(policy, alike)
    torch.testing.assert_close(values[:, :, 0], values[:, :, 1])


def test_no_document_is_read_and_the_goal_is_a_symbol():
    fragment, policy = fragment_and_policy()
    batch = to_batch(fragment)
    without = {key: value for key, value in batch.items() if not key.endswith("/document")}
    assert values_of(policy, without).equal(values_of(policy, batch))
    prepared = objective().prepare(batch)
    goal = prepared["obs/goal"]
    shuffled = goal[..., torch.tensor([5, 2, 0, 4, 1, 3])]
    torch.testing.assert_close(values_of(policy, changed(prepared, goal=shuffled)), values_of(policy, prepared))
    other = goal.roll(1, 0)
    assert (goal != other).any()
    assert not values_of(policy, changed(prepared, goal=other)).equal(values_of(policy, prepared))


def test_a_team_that_is_not_told_the_goal_needs_no_text_at_all():
    config = QmixTeamConfig(dataclasses.replace(ROOM, sees_goal=False), CONFIG.hidden_size, 5)
    fragment, policy = fragment_and_policy(policy=room_team(config))
    assert config.texts == ()
    bare = objective(texts=()).prepare(to_batch(fragment))
    assert not {"obs/goal", "obs/document"} & set(bare)
    assert values_of(policy, bare).isfinite().any()


def test_agents_play_in_rooms_of_another_size():
    """Only the mixer belongs to rooms of one size, and nobody mixes while playing."""
    policy = room_team()
    place = rooms(3, size=8)
    tensors = {key: torch.from_numpy(value)[:, None] for key, value in place.reset(0).items()}
    tensors["texts/goal"] = torch.from_numpy(place.texts["goal"].table)
    with torch.no_grad():
        output = policy(tensors, policy.initial_state(3), torch.ones(3, 1, dtype=torch.bool))
    assert output.values.shape == (3, 1, 2)


def test_no_mixing_network_is_computed_without_gradients():
    fragment, policy = fragment_and_policy()
    with torch.no_grad():
        assert forward(policy, to_batch(fragment)).extras == {}


def test_the_state_of_the_mixer_holds_the_whole_room():
    """Every cell, inventory and the goal change the mixture; the second agent's view and the document do not."""
    fragment, policy = fragment_and_policy()
    batch = objective().prepare(to_batch(fragment))

    def joint(batch):
        return make_mixing(forward(policy, batch).extras, ONLINE, slice(None))(torch.ones(6, 13, 2))

    before = joint(batch)
    for row, column in {(k, k) for k in range(5)} | {(k, 4 - k) for k in range(5)}:
        grid = batch["obs/grid"].clone()
        grid[:, :, 0, row, column] = 40
        assert not joint(changed(batch, grid=grid)).equal(before)
    for agent in (0, 1):
        inventory = batch["obs/inventory"].clone()
        inventory[:, :, 0, agent] = 40
        assert not joint(changed(batch, inventory=inventory)).equal(before)
    assert not joint(changed(batch, goal=batch["obs/goal"].roll(1, 0))).equal(before)
    grid = batch["obs/grid"].clone()
    grid[:, :, 1] = 40
    assert joint(changed(batch, grid=grid)).equal(before)
