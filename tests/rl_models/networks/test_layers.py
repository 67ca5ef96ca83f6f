"""Readers of padded texts equal packed ones, attention ignores padding, and FiLM² follows its equations."""

import pytest
import torch

from rl_models.layers.words import Bidirectional, TextGroups, attend, padding_scores
from rl_models.networks.film2_stack import Film2
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


@pytest.mark.parametrize("texts", [1, 2, 7, 60])
def test_frames_of_one_text_share_it_and_get_what_each_would_alone(texts):
    generator = torch.Generator().manual_seed(texts)
    rows = torch.randint(0, texts, (60,), generator=generator) if texts < 60 else torch.randperm(60)
    rows[:20] = rows[0]  # an episode much longer than the others
    states, queries = draw(texts, 5, 3), draw(60, 3, seed=1)
    lengths = torch.arange(texts) % 5 + 1
    groups = TextGroups(rows, int(rows.max()) + 1)
    assert set(groups.texts.tolist()) == set(rows.tolist())
    assert len(groups.texts) < (60 if texts < 60 else 61)
    padding = padding_scores(states, lengths)
    got = groups.attend(states[groups.texts], padding[groups.texts], queries)
    alone = attend(states[rows], padding[rows], queries[:, None])
    for ours, theirs in zip(got, alone, strict=True):
        torch.testing.assert_close(ours, theirs[:, 0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("modulates_text", [True, False])
def test_gradients_of_film2_are_those_of_finite_differences(modulates_text):
    torch.manual_seed(0)
    layer = Film2(2, 3, 2, modulates_text).double()
    parameters = dict(layer.named_parameters())

    def run(seen, text, *values):
        named = dict(zip(parameters, values, strict=True))
        output, largest = torch.func.functional_call(layer, named, (seen, text))
        return output * 0.7, largest

    assert torch.autograd.gradcheck(run, (draw(2, 3, 3, 2), draw(2, 3, seed=1), *parameters.values()))
