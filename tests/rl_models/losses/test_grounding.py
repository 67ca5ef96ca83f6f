"""The grounding losses: the contrast of manuals and that of movements against slow loops, and both in an objective."""

import math

import pytest
import torch

from rl_models.layers.tracks import FARTHER, NEARER, SAME, movements
from rl_models.losses.grounding import GroundingLoss, agent_loss, contrastive_loss
from rl_models.losses.movement_grounding import MovementGroundingLoss, movement_contrast
from rl_models.networks.emma import MOVED, MOVEMENT_SCORES
from rl_models.schedule import Progress, Schedule
from tests.emulated_device import DEVICE, emulated_device
from tests.rl_models.networks.small import run
from tests.rl_models.networks.small_emma import observations, team


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def test_frames_that_share_sprites_or_manual_count_each():
    """Against the table of all K x K frames, as torch's own cross-entropy has it."""
    matches, sprites, manuals = draw(3, 4), torch.tensor([0, 0, 1, 2, 2, 2, 1]), torch.tensor([0, 1, 1, 3, 3, 2, 2])
    table = matches[sprites][:, manuals]
    own = torch.arange(len(sprites))
    wanted = sum(0.5 * torch.nn.functional.cross_entropy(one, own) for one in (table, table.T))
    loss, matched = contrastive_loss(matches, sprites, manuals)
    torch.testing.assert_close(loss, wanted)
    assert matched.item() == pytest.approx((matches[sprites].argmax(1) == manuals).double().mean().item())


SHOWN = {
    "all": torch.ones(6, dtype=torch.bool),
    "some": torch.tensor([1, 0, 1, 1, 0, 1]).bool(),
    "none": torch.zeros(6, dtype=torch.bool),
}


@pytest.mark.parametrize("shown", SHOWN)
def test_an_accelerator_is_asked_nothing_for_the_loss_of_the_cpu(shown):
    manual, symbols = torch.tensor([[0, 1], [0, 1], [4, 2], [0, 1], [3, 3], [4, 2]]), torch.tensor([[1, 2, 0]] * 6)
    symbols[2:4] = torch.tensor([0, 5, 2])
    symbols = (symbols * SHOWN[shown][:, None]).unflatten(0, (2, 3))
    manual, scores = manual.unflatten(0, (2, 3)), draw(2, 3, 3, 5).float()
    # Scores are a function of what stands there.
    scores = scores.flatten(0, 1)[symbols.flatten(0, 1).sum(1) % 6].unflatten(0, (2, 3)).requires_grad_()
    expected, matched = agent_loss(scores, manual, symbols)
    gradient = torch.autograd.grad(expected, scores)[0] if shown != "none" else torch.zeros_like(scores)
    with emulated_device() as counts:
        there = scores.detach().to(DEVICE).requires_grad_()
        inputs = manual.to(DEVICE), symbols.to(DEVICE)
        counts.copies = counts.syncs = 0
        loss, found = agent_loss(there, *inputs)
        loss.backward()
        assert (counts.copies, counts.syncs) == (0, 0)
        torch.testing.assert_close((loss.cpu(), found.cpu()), (expected.detach(), matched))
        # Frames with the same set share a score, and either way one of them gets the gradient of all.
        torch.testing.assert_close(there.grad.cpu().sum((0, 1)), gradient.sum((0, 1)))


def episodes(agents=1, worlds=12, seed=0):
    """Observations of episodes of three steps: sprites and manual stay the same."""
    first = observations(agents, batch=worlds, time=1, seed=seed)
    obs = {name: value.expand(-1, 3, *value.shape[2:]).clone() for name, value in first.items()}
    return obs, {"reward": torch.zeros(worlds, 3, agents)}


def loss_of(policy, weight=1.0, agents=1, **arguments):
    obs, batch = episodes(agents, **arguments)
    return GroundingLoss(Schedule.constant(weight))(run(policy, obs), batch, Progress())


def moving():
    return observations(time=4, seed=3), {"reward": torch.zeros(2, 4, 1)}


LOSSES = {
    "grounding": (GroundingLoss, "paper", episodes),
    "movement_grounding": (MovementGroundingLoss, "movement", moving),
}
EACH = pytest.mark.parametrize("name", LOSSES)


@EACH
def test_the_weight_multiplies_the_loss_whose_plain_number_is_logged_and_0_computes_nothing(name):
    kind, form, play = LOSSES[name]
    obs, batch = play()
    output = run(team(form), obs)
    found = [kind(Schedule.constant(weight))(output, batch, Progress()) for weight in (1.0, 0.5, 0.0)]
    torch.testing.assert_close(found[1][0], 0.5 * found[0][0])
    torch.testing.assert_close(found[1][1][f"loss/{name}"], found[0][0])
    assert found[1][1][f"schedule/{name}"] == 0.5
    assert found[2] == (0, {f"schedule/{name}": 0.0})


def test_it_is_the_slow_loss_of_all_frames():
    """Every frame's sprites of the newest moment with every frame's sentences, from keys and vectors themselves."""
    policy, (obs, batch) = team("paper"), episodes(worlds=4)
    network = policy.network
    read = network.reader(*network.encoder(torch.arange(9)))
    frames = [(b, t) for b in range(4) for t in range(3)]
    table = torch.zeros(len(frames), len(frames), dtype=torch.double)
    for row, (b, t) in enumerate(frames):
        symbols = [symbol for symbol in obs["symbols"][b, t, 0, -1].tolist() if symbol]
        queries = network.body.symbols.weight[symbols]
        for column, (c, u) in enumerate(frames):
            scores = queries @ read.keys[obs["manual"][c, u, 0].long()].T / 7**0.5
            table[row, column] = scores.logsumexp(1).sum() + scores.logsumexp(0).sum()
    own = torch.arange(len(frames))
    wanted = sum(0.5 * torch.nn.functional.cross_entropy(one, own) for one in (table, table.T))
    loss, _ = GroundingLoss(Schedule.constant(1.0))(run(policy, obs), batch, Progress())
    torch.testing.assert_close(loss, wanted)


@pytest.mark.parametrize("shares_network", [True, False])
@pytest.mark.parametrize("agents", [1, 2])
def test_its_gradient_reaches_keys_queries_and_encoder_and_nothing_else(agents, shares_network):
    policy = team("paper", agents, shares_network=shares_network)
    loss_of(policy, agents=agents)[0].backward()
    reached = {name for name, weight in policy.named_parameters() if weight.grad is not None and weight.grad.any()}
    grounded = ("key_projection.weight", "key_score.weight", "body.symbols.weight", "encoder.words.weight")
    wanted = {name for name in dict(policy.named_parameters()) if name.endswith(grounded)}
    assert len(wanted) == 4 * (1 if shares_network else agents)
    assert {name for name in reached if not name.endswith("bias")} == wanted
    assert all(".key_" in name for name in reached - wanted)


def test_agents_are_matched_each_for_itself():
    """Two agents who see the same make the loss of one."""
    policy, (obs, batch) = team("paper", agents=2), episodes(agents=2)
    same = {name: value[:, :, :1].expand_as(value) for name, value in obs.items()}
    loss = GroundingLoss(Schedule.constant(1.0))
    both, _ = loss(run(policy, same), batch, Progress())
    first = {name: value[:, :, :1] for name, value in same.items()}
    alone, _ = loss(run(policy, first), {"reward": batch["reward"][..., :1]}, Progress())
    torch.testing.assert_close(both, alone)


def test_frames_without_sprites_are_left_out():
    policy, (obs, batch) = team("paper"), episodes()
    obs["symbols"][3:, 1].zero_()
    loss = GroundingLoss(Schedule.constant(1.0))
    some, _ = loss(run(policy, obs), batch, Progress())
    assert torch.isfinite(some)
    some.backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in policy.parameters())
    obs["symbols"].zero_()
    none, statistics = loss(run(policy, obs), batch, Progress())
    assert none.item() == 0
    assert statistics["grounding/matched"].item() == 1


@EACH
def test_the_observation_after_the_last_step_is_not_learned_from(name):
    """An objective that thinks of T + 1 observations has T rewards."""
    kind, form, play = LOSSES[name]
    policy, (obs, batch), loss = team(form), play(), kind(Schedule.constant(1.0))
    batch["reward"] = batch["reward"][:, :-1]
    changed = {key: value.clone() for key, value in obs.items()}
    changed["symbols"][:, -1] = changed["symbols"][:, -1].flip(0)
    torch.testing.assert_close(*[loss(run(policy, one), batch, Progress())[0] for one in (obs, changed)])


def test_the_mean_is_over_sprites_of_moments_in_which_something_moved():
    fits = torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(0))
    moved = torch.tensor(
        [[NEARER, SAME, 0], [SAME, SAME, SAME], [FARTHER, SAME, NEARER], [0, 0, 0], [SAME, FARTHER, 0]]
    )
    wanted = [
        torch.nn.functional.cross_entropy(fits[k, e][None], torch.tensor([way - 1]))
        for k, ways in enumerate(moved.tolist())
        if NEARER in ways or FARTHER in ways
        for e, way in enumerate(ways)
        if way
    ]
    assert len(wanted) == 7
    torch.testing.assert_close(movement_contrast(fits, moved), torch.stack(wanted).mean())


def test_a_moment_in_which_nothing_moved_says_nothing():
    """All moments of stage 1 and the first moment of every episode are such."""
    fits = torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = movement_contrast(fits, torch.tensor([[SAME, SAME], [0, SAME]]))
    loss.backward()
    assert loss.item() == 0
    assert not fits.grad.any()


@pytest.mark.parametrize("agents", [1, 2])
def test_scores_are_those_of_the_symbol_with_each_movement_over_its_own_manual(agents):
    policy, obs = team("movement", agents), observations(agents, seed=3)
    network, extras = policy.network, run(policy, obs).extras
    keys = network.reader(*network.encoder(torch.arange(9))).keys
    for b, t in [(0, 0), (1, 2)]:
        frame = {name: value[b, t] for name, value in obs.items()}
        seen = movements(frame["symbols"], frame["cells"], frame["agent_cells"][..., 0], 10)[0, -1]
        assert extras[MOVED][b, t, 0].tolist() == seen.tolist()
        own = keys[frame["manual"][0].long()]
        for sprite, symbol in enumerate(frame["symbols"][0, -1].tolist()):
            if not symbol:
                continue
            for movement in (NEARER, SAME, FARTHER):
                query = network.body.symbols.weight[symbol] + network.movements.weight[movement]
                wanted = own @ query / math.sqrt(len(query))
                torch.testing.assert_close(extras[MOVEMENT_SCORES][b, t, 0, sprite, movement - 1], wanted)


def test_its_gradient_reaches_movements_symbols_and_keys_and_nothing_else():
    policy = team("movement")
    batch = {"reward": torch.zeros(2, 3, 1)}
    MovementGroundingLoss(Schedule.constant(1.0))(run(policy, observations(seed=3)), batch, Progress())[0].backward()
    reached = {name for name, weight in policy.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert {"network.movements.weight", "network.body.symbols.weight"} < reached
    assert {name.split(".")[1] for name in reached} == {"movements", "body", "reader", "encoder"}
    assert not any("value" in name for name in reached)
