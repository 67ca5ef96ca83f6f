"""Networks that see frames: the folded normalisation."""

import pytest
import torch
from torch.nn import functional

from rl_models.networks.visual import FrameConvolutions


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
