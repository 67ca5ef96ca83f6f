"""A checkpoint is redistributed over other runners, groups and learners: the same worlds, the same fragments."""

import numpy as np
import pytest
import torch

from rl_models.algorithms.replay import Replay
from rl_models.teams.constant_team import constant_team
from rl_models.training.grouped_collector import make_collector, make_groups
from rl_models.training.resharding import group_sizes, reshard_replays, reshard_snapshots
from tests.rl_models.training.small import LENGTH, ROUNDING, Walks, assert_equal_fragments, rooms, team


def runners(count, worlds, groups=1, make=rooms, policy=None):
    """Runners of numbered rooms that have not begun."""
    made = [make_groups(make, worlds, number * worlds, groups) for number in range(count)]
    return [make_collector(each, policy or team(), LENGTH, needs_values=True) for each in made]


def played(collectors):
    return [one.collect() for one in collectors]


def begun(collectors):
    for one in collectors:
        one.reset(3)
        one.collect()
    return collectors


def continued(collectors, snapshots):
    for one, snapshot in zip(collectors, snapshots, strict=True):
        one.restore(snapshot)
    return collectors


def sizes(count, worlds, groups=1):
    return [group_sizes(worlds, groups)] * count


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after"), [((1, 6), (2, 3)), ((2, 3), (1, 6)), ((2, 3, 2), (3, 2)), ((1, 6), (1, 6, 4))]
)
def test_runners_of_another_number_go_on_with_the_same_worlds(before, after):
    there = begun(runners(*before))
    snapshots = reshard_snapshots([one.snapshot() for one in there], sizes(*after))
    here = continued(runners(*after), snapshots)
    one, other = (type(fragments[0]).join(fragments) for fragments in (played(there), played(here)))
    assert_equal_fragments(one, other, close=ROUNDING)


def test_the_same_runners_get_their_own_snapshots():
    there = begun(runners(2, 3))
    snapshots = [one.snapshot() for one in there]
    np.testing.assert_equal(reshard_snapshots(snapshots, sizes(2, 3)), snapshots)


@pytest.mark.parametrize("after", [(1, 5), (2, 6)])
def test_another_number_of_worlds_gets_no_snapshot(after):
    assert reshard_snapshots([one.snapshot() for one in begun(runners(2, 3))], sizes(*after)) is None
    assert reshard_snapshots([], sizes(*after)) is None, "nobody has played yet"


def test_texts_are_resharded_to_more_runners_and_not_merged_for_fewer():
    def walks(num_worlds, first_world):
        return Walks(num_worlds, first_world=first_world, num_agents=2)

    policy = constant_team(1, 2, 3)
    (whole,) = begun(runners(1, 4, make=walks, policy=policy))
    halves = continued(runners(2, 2, make=walks, policy=policy), reshard_snapshots([whole.snapshot()], sizes(2, 2)))
    alone, *parts = played([whole, *halves])
    said = [
        np.concatenate([each.texts["sentences"][each.obs["sentences"]] for each in some]) for some in ([alone], parts)
    ]
    np.testing.assert_array_equal(*said)
    snapshots = [one.snapshot() for one in halves]
    tables = [one["world/texts/sentences"] for one in snapshots]
    joined = reshard_snapshots(snapshots, sizes(1, 4))
    assert np.array_equal(*tables) if joined is not None else not np.array_equal(*tables)


def replay(numbers, capacity):
    """A ring to which fragments with these numbers were added one after another."""
    one = Replay(capacity)
    for number in numbers:
        one.add({"is_first": torch.zeros(1, 2, dtype=torch.bool), "actions": torch.full((1, 1, 1), number)})
    return one


def numbers_of(tensors, capacity):
    one = Replay(capacity)
    one.load(tensors)
    return one.tensors().get("actions", torch.zeros(0)).flatten().tolist(), one


@pytest.mark.parametrize("learners", [1, 2, 3])
def test_learners_of_another_number_share_out_all_fragments(learners):
    rings = [replay(range(0, 14, 2), 5), replay(range(1, 15, 2), 5)]  # 4 to 13 are left, both rings have gone round
    resharded = reshard_replays([one.tensors() for one in rings], learners, 10)
    found = [numbers_of(tensors, 10)[0] for tensors in resharded]
    assert sorted(number for part in found for number in part) == list(range(4, 14))
    assert max(map(len, found)) - min(map(len, found)) <= 1
    assert all(part == sorted(part) for part in found), "the oldest are the first to go"


def test_the_oldest_fragments_are_dropped_where_not_all_fit():
    rings = [replay(range(0, 8, 2), 4), replay(range(1, 9, 2), 4)]
    (only,) = reshard_replays([one.tensors() for one in rings], 1, 4)
    found, one = numbers_of(only, 4)
    assert found == [4, 5, 6, 7]
    one.add({"is_first": torch.zeros(1, 2, dtype=torch.bool), "actions": torch.full((1, 1, 1), 8)})
    assert sorted(one.tensors()["actions"].flatten().tolist()) == [5, 6, 7, 8]


def test_empty_replays_are_resharded_to_empty_replays():
    assert reshard_replays([{}, {}], 1, 4) == [{}]
