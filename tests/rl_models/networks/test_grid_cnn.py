"""The network of self-play: fast orders of memory change nothing that its layers say."""

import pytest
import torch

from rl_models.networks.grid_cnn import GridCnn
from rl_models.networks.network_config import GridCnnConfig


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
