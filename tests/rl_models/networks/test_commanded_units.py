"""RED's network: as many parameters as published, and blind to what is padding."""

import torch

from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.networks.unit_map import UnitMap
from rl_models.teams.commanded_team import commanded_team
from tests.rl_models.networks.small_units import TEXTS, observations, output_of, sample_of, team, unit_spec

PUBLISHED = 2_486_966
TRUNK = 1_277_952


def full(config):
    planes = tuple(tuple(int(column == number) for column in range(9)) for number in range(2)), (1, 15)
    spec = unit_spec(32, 50, 16, planes[1], 11, 16, planes[0])
    return commanded_team(config, spec, torch.zeros(18, 5, dtype=torch.int64), 929, 1)


def test_the_full_network_has_as_many_parameters_as_the_released_one():
    policy = full(CommandedUnitsConfig())
    assert sum(weight.numel() for weight in policy.parameters()) == PUBLISHED
    assert sum(weight.numel() for weight in policy.network.map.parameters()) == TRUNK


def test_an_empty_instruction_is_read_as_zeros_and_words_are_not():
    read = team().network.reader.read(TEXTS)
    assert (read[0] == 0).all() and (read[1:] != 0).any(-1).all()


def test_padding_never_influences_anything():
    policy, obs = team(2), observations(num_agents=2)
    changed = dict(obs)
    for one in unit_spec().lists:
        listed = torch.arange(3) < obs[f"num_{one.name}"][..., None]
        for part in ("type", "x", "y", "hp"):
            name = f"{one.name}_{part}"
            other = torch.full_like(obs[name], one.last_kind if part == "type" else 1)
            changed[name] = torch.where(listed, obs[name], other)
    own = torch.arange(3) < obs["num_own"][..., None]
    for name in ("command_type", "command_unit_type", "command_x", "command_y", "command_hit", "command_fetch"):
        changed[name] = torch.where(own, obs[name], torch.ones_like(obs[name]))
    changed["past"] = torch.where(own[..., None], obs["past"], torch.ones_like(obs["past"]))
    assert any((changed[name] != obs[name]).any() for name in obs)
    (before, actions), (after, again) = sample_of(policy, obs), sample_of(policy, changed)
    for name, value in actions.items():
        assert (value == again[name]).all(), name
    torch.testing.assert_close(before.values, after.values)
    torch.testing.assert_close(before.policy.log_prob(actions), after.policy.log_prob(actions))


def test_an_instruction_changes_what_is_done_and_every_other_agent_does_not_hear_it():
    policy, obs = team(2), observations(num_agents=2)
    told = obs["instruction"].clone()
    told[..., 0, 0] = (told[..., 0, 0] + 1) % len(TEXTS)
    before, after = output_of(policy, obs), output_of(policy, obs | {"instruction": told})
    assert (before.policy.log_stop[..., 0, :] != after.policy.log_stop[..., 0, :]).any(-1).all()
    torch.testing.assert_close(before.policy.log_stop[..., 1, :], after.policy.log_stop[..., 1, :])


def test_planes_hold_places_ground_and_numbers_of_units():
    spec = unit_spec()
    frames = {name: value[:1, 0, 0] for name, value in observations().items()}
    frames |= {"own_type": torch.tensor([[2, 2, 3]]), "own_x": torch.tensor([[1, 1, 0]])}
    frames |= {"own_y": torch.tensor([[3, 3, 0]]), "num_own": torch.tensor([2])}
    planes = UnitMap(spec, 2).planes(frames)[0]
    assert planes.shape[0] == spec.num_planes == 2 + 2 + 3 + 3 + 1
    assert planes[0, 3, 1] == 0.75 and planes[1, 3, 1] == 0.25
    assert torch.equal(planes[2], (frames["ground"][0] == 0).float())
    assert planes[4:7].sum() == 2 and planes[5, 3, 1] == 2
