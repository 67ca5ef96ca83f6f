"""Assignments are numbered canonically and split in two halves that share nothing, in every process alike."""

import hashlib

import numpy as np
import pytest

from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, assignments
from rl_envs.rtfm.world import Rtfm
from tests.rl_envs.rtfm.scenes import splits

COUNTS = {False: (6, 24), True: (1680, 2520)}
DIGESTS = {False: "94dedd7b1c526c68", True: "4ac21af82afd4dfc"}
"""First digits of the SHA-256 of the sorted training half; another split would make old results incomparable."""


@pytest.mark.parametrize("has_groups", [False, True])
def test_there_are_as_many_assignments_as_the_reference_counts(has_groups):
    known = assignments(has_groups)
    assert (len(known.teams), len(known.elements)) == COUNTS[has_groups]
    assert known.count == COUNTS[has_groups][0] * COUNTS[has_groups][1]
    for parts, groups in ((known.teams, NUM_TEAMS), (known.elements, NUM_ELEMENTS)):
        assert len(np.unique(parts.labels, axis=0)) == len(parts)
        assert (parts.labels.tolist()) == sorted(parts.labels.tolist())
        assert all((np.bincount(row) == parts.members.shape[2]).all() for row in parts.labels)
        assert parts.members.shape[1] == groups


@pytest.mark.parametrize("has_groups", [False, True])
def test_training_and_evaluation_share_no_assignment_and_leave_none_out(has_groups):
    known = assignments(has_groups)
    train, evaluation = (splits(has_groups)[split] for split in ("train", "eval"))
    assert len(train) == len(evaluation) == known.count // 2
    assert (np.bincount(np.concatenate([train, evaluation]), minlength=known.count) == 1).all()


@pytest.mark.parametrize("has_groups", [False, True])
@pytest.mark.parametrize("split", ["train", "eval", "valid", "test"])
def test_a_split_is_drawn_from_its_own_part_of_the_permutation(has_groups, split):
    """Evaluation has two parts: validation, its first third, and test, the rest."""
    uniforms, part = np.linspace(0, np.nextafter(1, 0), 5000), splits(has_groups)[split]
    drawn = assignments(has_groups).draw(uniforms, split)
    np.testing.assert_array_equal(drawn, part[(uniforms * len(part)).astype(int)])
    assert (drawn[0], drawn[-1]) == (part[0], part[-1])


@pytest.mark.parametrize("has_groups", [False, True])
def test_the_split_is_the_one_of_all_results(has_groups):
    sorted_half = np.sort(splits(has_groups)["train"]).astype("<i8").tobytes()
    assert hashlib.sha256(sorted_half).hexdigest()[:16] == DIGESTS[has_groups]


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize(("split", "share"), [("train", 72), ("eval", 72), ("valid", 24), ("test", 48)])
def test_worlds_play_assignments_of_their_split_and_all_alike(group, split, share):
    world = Rtfm(4096, group=group, split=split)
    world.reset(0)
    played = world.state["assignment"]
    assert np.isin(played, splits(group)[split]).all()
    if not group:
        counts = np.unique(played, return_counts=True)[1]
        expected = 4096 / share
        assert len(counts) == share and ((counts - expected) ** 2 / expected).sum() < 120


@pytest.mark.parametrize("has_groups", [False, True])
def test_labels_give_back_the_number_of_their_assignment(has_groups):
    known = assignments(has_groups)
    numbers = np.random.default_rng(0).integers(known.count, size=500)
    teams, elements = known.ranks(numbers)
    np.testing.assert_array_equal(known.number(known.teams.labels[teams], known.elements.labels[elements]), numbers)
    with pytest.raises(ValueError, match="labels"):
        known.teams.rank(np.zeros_like(known.teams.labels[:1]))
