"""Skipped updates: how many, of which the last ones, in every learner alike, and what a checkpoint continues."""

import pytest
import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.training.loop import WINDOW, Learner, SkippedUpdates
from tests.emulated_device import DEVICE, emulated_device
from tests.rl_models.algorithms.together import assert_equal_replicas, run_together
from tests.rl_models.training.small import collector

CPU = torch.device("cpu")


def test_the_share_is_of_the_last_updates_and_the_count_of_all():
    one = SkippedUpdates(CPU)
    assert float(one.share()) == 0
    for is_finite in [False] * 5 + [True] * 18:
        one.add(torch.tensor(is_finite))
    assert (float(one.share()), one.count()) == (pytest.approx(2 / WINDOW), 5)


def test_a_checkpoint_holds_which_of_the_last_updates_were_skipped_and_nothing_if_none_was():
    one, other = SkippedUpdates(CPU), SkippedUpdates(CPU)
    for is_finite in [True] * 3 + [False] * 9:
        assert one.tensors() == {} or not is_finite
        one.add(torch.tensor(is_finite))
    other.load(one.tensors())
    for _ in range(WINDOW - 10):
        one.add(torch.tensor(True)), other.add(torch.tensor(True))
        assert torch.equal(one.share(), other.share())
    assert (one.count(), other.count()) == (9, 0)


def test_the_host_asks_for_nothing_of_an_emulated_device_while_it_counts():
    with emulated_device() as counts:
        one, finite = SkippedUpdates(DEVICE), torch.zeros(2, dtype=torch.bool).to(DEVICE)
        counts.copies = counts.syncs = 0
        for step in range(30):
            one.add(finite[step % 2])
        share = one.share()
        assert (counts.copies, counts.syncs) == (0, 0)
        assert (share.item(), one.count()) == (1.0, 30)
        one.load(one.tensors())
        assert one.share().item() == 1.0


@pytest.mark.long
@pytest.mark.parametrize("shares", [(4, 2), (2, 2, 2)])
def test_all_learners_skip_the_same_updates_though_one_of_them_holds_what_is_not_finite(shares):
    one = collector()
    fragments = [one.collect() for _ in range(3)]
    fragments[1].steps["reward"][-1, 0, 0] = float("nan")  # a row of the last learner
    objective = Ppo(num_epochs=2, num_minibatches=3, normalize_advantages=False)
    made = run_together(
        shares, lambda **named: Learner(collector().policy, objective, OptimiserSettings(), **named), fragments
    )
    assert_equal_replicas(made)
    counted = [learner.counted_progress() for learner in made]
    assert all(progress == counted[0] for progress in counted)
    assert (counted[0].updates, counted[0].skipped_updates) == (18, 2), "the minibatch of each epoch that has the row"
    assert len({float(learner.skipped.share()) for learner in made}) == 1
