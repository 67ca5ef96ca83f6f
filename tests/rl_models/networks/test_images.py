"""Networks that see grids and frames: fast orders of memory and a folded normalisation change nothing."""

import pytest
import torch
from torch.nn import functional

from rl_models.networks.grid_cnn import GridCnn
from rl_models.networks.network_config import GridCnnConfig
from rl_models.networks.visual import FrameConvolutions


@pytest.mark.parametrize("channels", [(3,), (4, 3, 5)])
def test_the_features_are_those_of_its_layers_one_after_another(channels):
    torch.manual_seed(0)
    net = GridCnn(GridCnnConfig(channels=channels, hidden_sizes=(6, 5)), 2, (7, 4, 5))
    grid = torch.randint(0, 3, (2, 3, 2, 7, 4, 5), dtype=torch.uint8)
    features = net({"lossless": grid}, {}, torch.ones(2, 3)).features
    wanted = net.dense(net.convolutions(grid.flatten(0, 2).float()).flatten(1)).unflatten(0, (2, 3, 2))
    torch.testing.assert_close(features, wanted)
    weights = list(net.parameters())
    gradients = [torch.autograd.grad(each.sum(), weights) for each in (features, wanted)]
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)


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
