"""Readers of padded texts equal packed ones."""

import pytest
import torch

from rl_models.layers.words import Bidirectional
from tests.rl_models.networks.slow_reading import packed


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double, requires_grad=True)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("longest", [6, 9])
def test_a_padded_text_is_read_as_a_packed_one(cell, longest):
    """States on the words, and every gradient; 150 texts are read in several parts."""
    torch.manual_seed(0)
    layer = Bidirectional(cell, 3, 4).double()
    lengths = torch.arange(150) % longest + 1
    words, toward = draw(150, 9, 3), draw(150, 9, 8, seed=1).detach()
    is_word = (torch.arange(9) < lengths[:, None])[..., None]
    wanted, read = packed(layer, words, lengths), layer(words, lengths)
    torch.testing.assert_close(read * is_word, wanted * is_word, atol=1e-12, rtol=0)
    inputs = [words, *layer.parameters()]
    expected = torch.autograd.grad((wanted * is_word * toward).sum(), inputs)
    found = torch.autograd.grad((read * is_word * toward).sum(), inputs)
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)
