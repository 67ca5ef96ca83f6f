"""Parts of entity dividers: Gumbel-softmax, sparse convolutions, matching of sprites over time."""

import pytest
import torch

from rl_models.networks.entity_divider import choose_first, nearest_agents
from rl_models.networks.entity_divider_emma import NeighbourConvolution


def test_the_first_class_is_drawn_as_often_as_softmax_says():
    logits = torch.tensor([0.7, -0.5]).expand(20_000, 2)
    drawn = choose_first(logits, torch.rand(20_000, generator=torch.Generator().manual_seed(0)))
    assert set(drawn.tolist()) == {0.0, 1.0}
    assert drawn.mean().item() == pytest.approx(logits[0].softmax(-1)[0].item(), abs=0.01)


def test_the_gradient_is_that_of_the_soft_sample():
    logits = torch.tensor([[0.2, 0.1], [-1.0, 0.4]], dtype=torch.double, requires_grad=True)
    uniforms = torch.tensor([0.3, 0.8], dtype=torch.double)
    (hard,) = torch.autograd.grad(choose_first(logits, uniforms).sum(), logits)
    soft = (logits + torch.stack([uniforms.logit(), torch.zeros(2)], -1)).softmax(-1)[:, 0]
    torch.testing.assert_close(hard, torch.autograd.grad(soft.sum(), logits)[0])


def test_uniforms_at_the_ends_are_finite():
    logits = torch.tensor([[3.0, 1.0], [1.0, 3.0]], requires_grad=True)
    drawn = choose_first(logits, torch.tensor([0.0, 1.0]))
    assert drawn.tolist() == [0, 1]
    drawn.sum().backward()
    assert logits.grad.isfinite().all()


def test_an_agent_that_has_left_is_nearest_to_nothing_and_one_that_is_alone_keeps_everything():
    offsets = torch.zeros(10, 3, 2)
    offsets[..., 0] = torch.arange(10)[:, None] - torch.tensor([4, 0, 9])
    here = torch.tensor([[True, False, True]] * 5 + [[True, False, False]] * 5)
    assert nearest_agents(offsets, here)[:, 1].tolist() == [2] * 5 + [0] * 5


def test_a_convolution_read_where_something_stands_is_the_dense_one_there():
    torch.manual_seed(0)
    layer, side = NeighbourConvolution(5, 2).double(), 6
    cells = torch.cat([torch.randint(side * side, (7, 4)), torch.tensor([[0, 1, 6, 7], [35, 34, 35, 29]])])
    features = torch.randn(9, 4, 5).double()
    features[:, 3] *= torch.arange(9)[:, None] % 2  # some are gone
    dense = torch.zeros(9, side * side, 5).double()
    for frame in range(9):
        dense[frame].index_add_(0, cells[frame], features[frame])
    wanted = layer.convolution(dense.view(9, side, side, 5).permute(0, 3, 1, 2)).flatten(2).mT
    wanted = torch.take_along_dim(wanted, cells[..., None], 1)
    torch.testing.assert_close(layer(features, cells, side), wanted, atol=1e-12, rtol=0)
