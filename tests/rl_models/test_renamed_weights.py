"""Checkpoints of earlier versions load, though some weights have other names now."""

import pytest
import torch

from rl_models.policy import with_present_names
from tests.rl_models.networks import small_endi

OLD_NAMES = {
    "matching": {"network.edges": "network.walls"},
    "emma": {"network.goal_agents.weight": "network.goal_avatars.weight"},
}


@pytest.mark.parametrize("shares_network", [True, False])
@pytest.mark.parametrize("backbone", sorted(OLD_NAMES))
def test_weights_under_their_old_names_load_into_any_team(backbone, shares_network):
    policy = small_endi.team(backbone, shares_network=shares_network)
    weights = {name: torch.full_like(value, 3.0) for name, value in policy.state_dict().items()}
    old = {_old(backbone, name): value for name, value in weights.items()}
    assert old.keys() != weights.keys()
    assert with_present_names(policy, old).keys() == weights.keys()
    policy.load_state_dict(old)
    assert all((value == 3.0).all() for value in policy.state_dict().values())


def test_a_weight_that_is_there_under_its_present_name_is_kept():
    policy = small_endi.team("matching")
    assert with_present_names(policy, {"network.walls": 1, "network.edges": 2})["network.edges"] == 2


def _old(backbone, name):
    for present, old in OLD_NAMES[backbone].items():
        if name.endswith(present.removeprefix("network")):
            return name.removesuffix(present.removeprefix("network")) + old.removeprefix("network")
    return name
