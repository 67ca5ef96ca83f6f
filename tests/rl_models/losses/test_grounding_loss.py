"""The grounding losses in an objective; the movement contrast itself: `test_movement_grounding.py`."""

import pytest
import torch

from rl_models.losses.grounding import GroundingLoss
from rl_models.losses.movement_grounding import MovementGroundingLoss
from rl_models.schedule import Progress, Schedule
from tests.rl_models.networks.small import run
from tests.rl_models.networks.small_emma import observations, team


def episodes(agents=1, worlds=12, seed=0):
    """Observations of episodes of three steps: sprites and manual stay the same."""
    first = observations(agents, batch=worlds, time=1, seed=seed)
    obs = {name: value.expand(-1, 3, *value.shape[2:]).clone() for name, value in first.items()}
    return obs, {"reward": torch.zeros(worlds, 3, agents)}


def loss_of(policy, weight=1.0, agents=1, **arguments):
    obs, batch = episodes(agents, **arguments)
    return GroundingLoss(Schedule.constant(weight))(run(policy, obs), batch, Progress())


def moving():
    """Observations in which sprites move."""
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
