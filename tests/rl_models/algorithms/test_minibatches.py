"""How minibatches are cut: as many as the objective says, shuffled by the trial's seed, and shared among learners."""

import pytest
import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Learners
from rl_models.training import loop
from rl_models.training.loop import Learner, shuffle_seed
from tests.rl_models.training.small import collector


def worlds_of(worlds, wanted, seed=0, epochs=1, **arguments):
    """World numbers of every minibatch."""
    batch = {"is_first": torch.zeros(worlds, 5), "world": torch.arange(worlds)}
    cut = Ppo(num_epochs=epochs, num_minibatches=wanted).minibatches(batch, seed, **arguments)
    return [part["world"].tolist() for part in cut]


@pytest.mark.parametrize("worlds", [4, 5, 6, 7, 9])
def test_there_are_as_many_minibatches_as_the_objective_says_and_nearly_equal_ones(worlds):
    found = worlds_of(worlds, 4, seed=1, epochs=2)
    sizes = [len(part) for part in found]
    assert len(sizes) == 8
    assert max(sizes) - min(sizes) <= 1
    assert found[:4] != found[4:], "each epoch is shuffled anew"
    for epoch in (found[:4], found[4:]):
        assert sorted(world for part in epoch for world in part) == list(range(worlds))


def test_no_minibatch_is_empty():
    assert sorted(worlds_of(3, 4)) == [[0], [1], [2]]
    assert worlds_of(0, 4) == []


def test_every_world_is_as_likely_in_any_minibatch():
    draws = [worlds_of(6, 3, seed) for seed in range(400)]
    often = torch.zeros(6, 3)
    for parts in draws:
        for index, part in enumerate(parts):
            often[part, index] += 1 / len(draws)
    torch.testing.assert_close(often, torch.full((6, 3), 1 / 3), atol=0.1, rtol=0)


@pytest.mark.parametrize("shares", [(3, 4), (2, 2, 3), (4, 5), (3, 3, 3), (1, 6), (0, 7)])
@pytest.mark.parametrize("wanted", [1, 4])
def test_learners_cut_their_joint_batch_as_one_learner_would(shares, wanted):
    whole = worlds_of(sum(shares), wanted, seed=5, epochs=2)
    found = [[] for _ in whole]
    for rank, share in enumerate(shares):
        learners = Learners(rank, len(shares), lambda held: torch.tensor(shares))
        each = worlds_of(share, wanted, seed=5, epochs=2, learners=learners)
        assert len(each) == len(whole), "a learner makes as many steps as all others"
        for part, own in zip(found, each, strict=True):
            part += [sum(shares[:rank]) + world for world in own]
    assert [sorted(part) for part in found] == [sorted(part) for part in whole]


def test_learners_have_nearly_equal_parts_of_a_minibatch():
    for rank in range(2):
        learners = Learners(rank, 2, lambda held: torch.tensor([30, 33]))
        sizes = {len(part) for part in worlds_of([30, 33][rank], 4, seed=1, epochs=5, learners=learners)}
        assert max(sizes) - min(sizes) <= 3


def test_a_learner_shuffles_by_its_seed():
    """One fragment, equal weights: only the shuffle can make a difference."""
    fragment, updated = collector().collect(), []
    for seed in (0, 0, 1):
        learner = Learner(collector().policy, Ppo(num_epochs=1, num_minibatches=3), OptimiserSettings(), seed=seed)
        learner.update([fragment])
        updated.append(torch.cat([value.flatten() for value in learner.policy.state_dict().values()]))
    assert torch.equal(updated[0], updated[1])
    assert not torch.equal(updated[0], updated[2])


def test_an_update_that_stops_at_its_first_minibatch_is_followed_by_another_shuffle(monkeypatch):
    """Nothing is learned in it, so only what was sampled can tell the updates apart."""
    seeds = []
    monkeypatch.setattr(loop, "shuffle_seed", lambda *given: seeds.append(shuffle_seed(*given)) or seeds[-1])

    def stop(divergence, learners):
        divergence.is_too_large = True

    monkeypatch.setattr(loop.Divergence, "sum_over_learners", stop)
    games = collector()
    learner = Learner(games.policy, Ppo(num_epochs=1, num_minibatches=3), OptimiserSettings())
    for _ in range(2):
        learner.update([games.collect()])
    assert learner.progress.updates == 0
    assert seeds[0] != seeds[1]
