"""The movement contrast against slow loops over sprites and sentences, and what it leaves out."""

import math

import pytest
import torch

from rl_models.layers.tracks import FARTHER, NEARER, SAME, movements
from rl_models.losses.movement_grounding import MovementGroundingLoss, movement_contrast
from rl_models.networks.emma import MOVED, MOVEMENT_SCORES
from rl_models.schedule import Progress, Schedule
from tests.rl_models.networks.small import run
from tests.rl_models.networks.small_emma import observations, team


def test_the_mean_is_over_sprites_of_moments_in_which_something_moved():
    """Against a slow loop over moments that differ."""
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
