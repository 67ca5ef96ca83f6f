"""The replay: what it keeps and forgets, and that its draws are uniform and depend on a seed alone."""

import pytest
import torch

from rl_models.algorithms.replay import Replay


def batch(first, worlds):
    """Fragments that can be told apart by their reward."""
    numbers = torch.arange(first, first + worlds, dtype=torch.float32)
    return {
        "is_first": torch.zeros(worlds, 4, dtype=torch.bool),
        "actions": torch.zeros(worlds, 3, 2, dtype=torch.int64),
        "reward": numbers[:, None, None].expand(-1, 3, 2),
        "terminated": torch.zeros(worlds, 3, dtype=torch.bool),
        "truncated": torch.zeros(worlds, 3, dtype=torch.bool),
        "final_values": torch.zeros(worlds, 3, 2),
        "obs/grid": numbers[:, None].expand(-1, 4).to(torch.uint8),
        "state/hidden": numbers[:, None].expand(-1, 5).clone(),
        "log_prob": torch.zeros(worlds, 3),
        "texts/goal": torch.zeros(9, 2),
    }


def filled(*batches, capacity=10):
    one = Replay(capacity)
    for first, worlds in batches:
        one.add(batch(first, worlds))
    return one


def numbers(drawn):
    return drawn["reward"][:, 0, 0].tolist()


def contents(one):
    (drawn,) = one.draws(1, len(one), seed=0)
    return sorted(numbers(drawn))


def test_a_replay_keeps_what_q_learning_needs_of_whole_fragments():
    (drawn,) = filled((0, 4)).draws(1, 4, seed=0)
    assert set(drawn) == {
        "is_first",
        "actions",
        "reward",
        "terminated",
        "truncated",
        "final_values",
        "obs/grid",
        "state/hidden",
    }
    for key in ("obs/grid", "state/hidden"):
        assert drawn[key][:, 0].tolist() == numbers(drawn)


def test_in_fragments_from_before_agents_may_leave_none_has_left():
    one, alive = filled((0, 2)), torch.tensor([True, False]).expand(2, 4, 2)
    one.add(batch(2, 2) | {"obs/alive": alive})
    (drawn,) = one.draws(1, 4, seed=0)
    for number, there in zip(numbers(drawn), drawn["obs/alive"], strict=True):
        assert bool(there.all()) == (number < 2) and there[:, 0].all()


def test_the_oldest_go_first():
    one = filled((0, 4), (4, 4))
    assert contents(one) == list(range(8))
    one.add(batch(8, 4))
    assert len(one) == 10
    assert contents(one) == list(range(2, 12))
    one.add(batch(12, 10))
    assert contents(one) == list(range(12, 22))


def test_more_fragments_than_the_capacity_are_refused_and_nothing_is_lost():
    one = filled((0, 4))
    with pytest.raises(ValueError, match="capacity"):
        one.add(batch(4, 11))
    assert contents(one) == [0, 1, 2, 3]


def test_draws_are_uniform_and_without_replacement():
    one = filled((0, 10))
    draws = torch.tensor([numbers(drawn) for drawn in one.draws(600, 3, seed=5)])
    assert (draws.sort(1).values.diff(dim=1) > 0).all()
    shares = torch.bincount(draws.flatten().long(), minlength=10) / 600
    torch.testing.assert_close(shares, torch.full((10,), 0.3), atol=0.07, rtol=0)


def test_a_seed_repeats_its_draws_and_another_makes_others():
    one = filled((0, 10))
    draws = [[numbers(drawn) for drawn in one.draws(4, 3, seed)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert len({tuple(drawn) for drawn in draws[0]}) == 4


def test_a_draw_from_few_fragments_has_all_of_them():
    (drawn,) = filled((0, 2)).draws(1, 8, seed=0)
    assert sorted(numbers(drawn)) == [0, 1]


@pytest.mark.parametrize("batches", [((0, 4),), ((0, 4), (4, 4), (8, 4))])
def test_what_is_kept_in_a_checkpoint_goes_on_as_if_nothing_had_happened(batches):
    one = filled(*batches)
    kept = {name: value.clone() for name, value in one.tensors().items()}
    other = filled((70, 3))
    other.load(kept)
    for each in (one, other):
        each.add(batch(20, 5))
    ours, theirs = ([numbers(drawn) for drawn in each.draws(5, 4, seed=3)] for each in (one, other))
    assert ours == theirs
    assert contents(one) == contents(other)


def test_a_checkpoint_of_a_larger_replay_is_refused():
    with pytest.raises(ValueError, match="capacity"):
        Replay(3).load(filled((0, 4)).tensors())


@pytest.mark.parametrize("first", [[(0, 4)], [(0, 4), (4, 2)]], ids=["just full", "overwritten"])
def test_a_full_replay_goes_on_in_a_larger_one_with_its_oldest_first(first):
    small, large = filled(*first, capacity=4), Replay(6)
    held = contents(small)
    large.load(small.tensors())
    large.add(batch(100, 2))
    assert contents(large) == [*held, 100, 101]
    large.add(batch(102, 2))
    assert contents(large) == [*held[2:], 100, 101, 102, 103]


INTEGERS = [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_observations_of_each_type_come_back_as_they_were_added(dtype):
    one, seen = Replay(5), torch.tensor([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 1]]).to(dtype)
    if dtype in INTEGERS:
        seen = torch.tensor([[0, torch.iinfo(dtype).max, torch.iinfo(dtype).min, 1]], dtype=dtype).expand(3, 4)
    for first in (0, 3):  # the second time some are written over
        one.add(batch(first, 3) | {"obs/seen": seen})
    other = Replay(5)
    other.load(one.tensors())
    for replay in (one, other):
        (drawn,) = replay.draws(1, 5, seed=0)
        assert drawn["obs/seen"].dtype == dtype
        assert {tuple(row) for row in drawn["obs/seen"].tolist()} == {tuple(row) for row in seen.tolist()}
