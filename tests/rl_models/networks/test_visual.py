"""Networks that see frames: the authors' parameter counts, the folded normalisation, equal results step by step."""

import pytest
import torch
from torch.nn import functional

from rl_models.networks.network_config import VisualConfig
from rl_models.networks.visual import FrameConvolutions, VisualTbone
from rl_models.teams.tbone_team import VisualTeamConfig, visual_central_team, visual_team
from tests.rl_models.teams.test_decentralised import in_lockstep

FRAME = (84, 84, 3)
MOVING, LIFTING = (16, 16, 32, 64), (32, 32, 64)
SMALL = VisualConfig(channels=(4, 4, 4, 8), hidden_size=16, team_features=12)


def parameters(build, agents, actions, components=1, **widths):
    team = build(VisualTeamConfig(VisualConfig(**widths), components), agents, FRAME, actions)
    return sum(weights.numel() for weights in team.parameters())


@pytest.mark.parametrize(
    ("agents", "components", "last", "count"),
    [
        (2, 13, 128, 3_422_619),
        (2, 4, 128, 3_362_013),
        (2, 2, 128, 3_348_545),
        (2, 1, 140, 3_440_702),
        (2, 1, 128, 3_335_474),
        (3, 13, 128, 3_474_371),
        (3, 1, 139, 3_482_661),
    ],
)
def test_teams_that_move_furniture_have_the_authors_number_of_parameters(agents, components, last, count):
    assert parameters(visual_team, agents, 13, components, channels=(*MOVING, last)) == count


@pytest.mark.parametrize(("components", "last", "count"), [(2, 64, 4_352_497), (1, 65, 4_377_899)])
def test_teams_that_lift_furniture_have_the_authors_number_of_parameters(components, last, count):
    assert parameters(visual_team, 2, 5, components, channels=(*LIFTING, last), message_features=8) == count


def test_central_teams_have_the_authors_number_of_parameters():
    assert parameters(visual_central_team, 2, 13) == 3_360_116
    assert parameters(visual_central_team, 3, 13) == 4_669_293
    assert parameters(visual_central_team, 2, 5, channels=(*LIFTING, 19), team_features=1024) == 4_389_079


@pytest.mark.parametrize(("pixels", "channels"), [(84, (4, 4, 4, 4, 4)), (84, (4, 4, 4, 4)), (42, (4, 4, 4, 4))])
def test_the_folded_normalisation_equals_normalising_and_padding_with_zeros(pixels, channels):
    eyes = FrameConvolutions(channels, pixels)
    frames = torch.randint(256, (3, pixels, pixels, 3), dtype=torch.uint8)
    mean, deviation = torch.tensor((0.485, 0.456, 0.406)), torch.tensor((0.229, 0.224, 0.225))
    image = ((frames / 255 - mean) / deviation).permute(0, 3, 1, 2)
    for layer in eyes.convolutions:
        image = functional.relu(functional.max_pool2d(layer(image), 2))
    expected = image.permute(0, 2, 3, 1).flatten(1)
    assert expected.shape == (3, eyes.features)
    torch.testing.assert_close(eyes(frames), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("build", [visual_team, visual_central_team])
def test_acting_step_by_step_equals_the_forward_pass_of_the_learner(build):
    team = build(VisualTeamConfig(SMALL, 3), 2, (42, 42, 3), 5)
    obs = {"frame": torch.randint(256, (2, 4, 2, 42, 42, 3), dtype=torch.uint8)}
    is_first = torch.zeros(2, 4, dtype=torch.bool)
    is_first[0, 0] = is_first[1, 2] = True
    actions = torch.randint(5, (2, 4, 2))
    whole = team(obs, team.initial_state(2), is_first).policy.log_prob(actions)
    state = team.initial_state(2)
    for step in range(4):
        one = slice(step, step + 1)
        output = team({"frame": obs["frame"][:, one]}, state, is_first[:, one])
        state = output.state
        torch.testing.assert_close(output.policy.log_prob(actions[:, one]), whole[:, one], rtol=1e-5, atol=1e-5)


def test_an_agent_on_its_own_believes_what_it_believes_in_the_team():
    torch.manual_seed(0)
    network = VisualTbone(SMALL, 2, (42, 42, 3))
    frames = torch.randint(256, (2, 1, 2, 42, 42, 3), dtype=torch.uint8)
    first = torch.ones(2, 1, dtype=torch.bool)
    together = network({"frame": frames}, network.initial_state(2), first)
    dialogues = []
    for agent in range(2):
        state = {name: value[:, [agent]] for name, value in network.initial_state(2).items()}
        dialogues.append(network.agent_step(agent, {"frame": frames[:, :, [agent]]}, state, first, True))
    results, rounds = in_lockstep(dialogues)
    assert rounds == 2
    for agent, result in enumerate(results):
        torch.testing.assert_close(result.features[:, :, 0], together.features[:, :, agent])
