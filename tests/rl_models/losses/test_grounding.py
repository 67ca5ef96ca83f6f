"""The contrastive grounding loss against the table of all frames; its matches: `test_grounding_loss.py`."""

import pytest
import torch

from rl_models.losses.grounding import agent_loss, contrastive_loss
from tests.emulated_device import DEVICE, emulated_device


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def test_frames_that_share_sprites_or_manual_count_each():
    """Against the table of all K x K frames, as torch's own cross-entropy has it."""
    matches, sprites, manuals = draw(3, 4), torch.tensor([0, 0, 1, 2, 2, 2, 1]), torch.tensor([0, 1, 1, 3, 3, 2, 2])
    table = matches[sprites][:, manuals]
    own = torch.arange(len(sprites))
    wanted = sum(0.5 * torch.nn.functional.cross_entropy(one, own) for one in (table, table.T))
    loss, matched = contrastive_loss(matches, sprites, manuals)
    torch.testing.assert_close(loss, wanted)
    assert matched.item() == pytest.approx((matches[sprites].argmax(1) == manuals).double().mean().item())


SHOWN = {
    "all": torch.ones(6, dtype=torch.bool),
    "some": torch.tensor([1, 0, 1, 1, 0, 1]).bool(),
    "none": torch.zeros(6, dtype=torch.bool),
}


@pytest.mark.parametrize("shown", SHOWN)
def test_an_accelerator_is_asked_nothing_for_the_loss_of_the_cpu(shown):
    manual, symbols = torch.tensor([[0, 1], [0, 1], [4, 2], [0, 1], [3, 3], [4, 2]]), torch.tensor([[1, 2, 0]] * 6)
    symbols[2:4] = torch.tensor([0, 5, 2])
    symbols = (symbols * SHOWN[shown][:, None]).unflatten(0, (2, 3))
    manual, scores = manual.unflatten(0, (2, 3)), draw(2, 3, 3, 5).float()
    # Scores are a function of what stands there.
    scores = scores.flatten(0, 1)[symbols.flatten(0, 1).sum(1) % 6].unflatten(0, (2, 3)).requires_grad_()
    expected, matched = agent_loss(scores, manual, symbols)
    gradient = torch.autograd.grad(expected, scores)[0] if shown != "none" else torch.zeros_like(scores)
    with emulated_device() as counts:
        there = scores.detach().to(DEVICE).requires_grad_()
        inputs = manual.to(DEVICE), symbols.to(DEVICE)
        counts.copies = counts.syncs = 0
        loss, found = agent_loss(there, *inputs)
        loss.backward()
        assert (counts.copies, counts.syncs) == (0, 0)
        torch.testing.assert_close((loss.cpu(), found.cpu()), (expected.detach(), matched))
        # Frames with the same set share a score, and either way one of them gets the gradient of all.
        torch.testing.assert_close(there.grad.cpu().sum((0, 1)), gradient.sum((0, 1)))
