"""Networks that see frames: the folded normalisation, and an agent on its own."""

import pytest
import torch
from torch.nn import functional

from rl_models.networks.network_config import VisualConfig
from rl_models.networks.visual import FrameConvolutions, VisualTbone
from tests.rl_models.teams.test_decentralised import in_lockstep

SMALL = VisualConfig(channels=(4, 4, 4, 8), hidden_size=16, team_features=12)


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
