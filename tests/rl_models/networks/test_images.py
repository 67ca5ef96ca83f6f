"""Networks that see grids and frames: fast orders of memory and a folded normalisation change nothing."""

import pytest
import torch
from torch.nn import functional

from rl_models.layers import grid_convolutions as layers
from rl_models.layers.grid_convolutions import ChannelEmbedding, embed_and_convolve, grid_convolutions
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


@pytest.mark.parametrize("channels", [9, 13])
def test_embedding_and_first_convolution_as_one_have_the_same_values_and_gradients(channels):
    torch.manual_seed(0)
    embedding = ChannelEmbedding(channels, 8).double()
    convolutions = grid_convolutions(8, (4, 5, 6, 7)).double()
    grid = (torch.rand(3, channels, 15, 15) < 0.2).to(torch.uint8)
    parameters = [*embedding.parameters(), *convolutions.parameters()]
    weights = torch.randn(3, 7, dtype=torch.double)
    found = embed_and_convolve(embedding, convolutions, grid)
    expected = convolutions(embedding(grid))
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)
    pairs = [torch.autograd.grad((seen * weights).sum(), parameters) for seen in (found, expected)]
    torch.testing.assert_close(*pairs, rtol=0, atol=1e-10)


def test_a_cell_is_the_mean_of_its_active_channels():
    embedding = ChannelEmbedding(3, 2)
    grid = torch.tensor([[1, 0], [1, 0], [0, 0]], dtype=torch.uint8).view(1, 3, 1, 2)
    expected = (embedding.weight[0] + embedding.weight[1]) / 2.001
    cells = embedding(grid)
    assert torch.allclose(cells[0, :, 0, 0], expected)
    assert bool((cells[0, :, 0, 1] == 0).all())


@pytest.mark.parametrize("values_at_once", [1, 25, 10**6])
def test_chunks_hold_as_many_frames_as_their_values_allow_and_lose_none(values_at_once, monkeypatch):
    monkeypatch.setattr(layers, "VALUES_AT_ONCE", values_at_once)
    frames, sizes = torch.arange(7 * 12).view(7, 3, 2, 2), []

    def function(chunk):
        sizes.append(len(chunk))
        return 2 * chunk.flatten(1)

    assert torch.equal(layers.apply_in_chunks(function, frames), 2 * frames.flatten(1))
    assert max(sizes) == {1: 1, 25: 2, 10**6: 7}[values_at_once]
