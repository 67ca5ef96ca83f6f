"""The grounding loss in an objective: it is not computed at weight 0, and its gradient reaches all parts that read."""

import pytest
import torch

from rl_models.losses import grounding
from rl_models.losses.grounding import GroundingLoss
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


def test_at_weight_0_nothing_is_computed(monkeypatch):
    policy = team("paper")
    monkeypatch.setattr(grounding, "match", lambda *_: pytest.fail("it was computed"))
    loss, statistics = loss_of(policy, weight=0.0)
    assert loss.item() == 0
    assert statistics == {"schedule/grounding": 0.0}
    with pytest.raises(pytest.fail.Exception, match="it was computed"):
        loss_of(policy, weight=0.1)


def test_the_weight_multiplies_the_loss_and_the_plain_number_is_logged():
    policy = team("paper")
    whole, statistics = loss_of(policy)
    half, again = loss_of(policy, weight=0.5)
    torch.testing.assert_close(half, 0.5 * whole)
    torch.testing.assert_close(again["loss/grounding"], statistics["loss/grounding"])
    assert again["schedule/grounding"] == 0.5


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


def test_the_observation_after_the_last_step_is_not_matched():
    """An objective that thinks of T + 1 observations has T rewards."""
    policy, (obs, batch) = team("paper"), episodes()
    batch["reward"] = batch["reward"][:, :2]
    loss = GroundingLoss(Schedule.constant(1.0))
    changed = {name: value.clone() for name, value in obs.items()}
    changed["symbols"][:, 2] = changed["symbols"][:, 2].flip(0)
    torch.testing.assert_close(*[loss(run(policy, one), batch, Progress())[0] for one in (obs, changed)])
