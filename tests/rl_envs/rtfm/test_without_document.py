"""How often EnDi's first stage can be won without reading, counted over assignments (docs/papers/qmix.md)."""

import itertools
from collections import Counter

import numpy as np
import pytest

from rl_envs.rtfm.assignments import NUM_ELEMENTS, NUM_TEAMS, assignments

HALVES = "train", "eval"


def rooms(split, sees_goal):
    """What a room of two agents shows without its document -> how often either pairing of items and monsters is right.

    A room shows the name of the goal's monster, two elements and two modifiers; all such rooms are equally likely.
    """
    known, counts = assignments(False), Counter()
    half = known.count // 2
    for number in known.permuted(np.arange(half) + half * HALVES.index(split)):
        teams, elements = known.ranks(number)
        for goal, (first, second) in itertools.product(
            range(NUM_TEAMS), itertools.combinations(range(NUM_ELEMENTS), 2)
        ):
            beats = [int(known.elements.members[elements][element, 0]) for element in (first, second)]
            monster = int(known.teams.members[teams][goal, 0])
            shown = (goal if sees_goal else None, monster, first, second, frozenset(beats))
            counts[shown, beats[0] < beats[1]] += 1
    return counts


@pytest.mark.parametrize(("sees_goal", "train", "unseen"), [(False, 0.576, 0.424), (True, 0.628, 0.372)])
def test_who_learns_rooms_by_heart_wins_more_than_half_in_training_and_less_of_unseen_ones(sees_goal, train, unseen):
    seen, new = (rooms(split, sees_goal) for split in HALVES)
    won = {split: 0.0 for split in HALVES}
    for shown in {shown for shown, _ in seen} | {shown for shown, _ in new}:
        lean = seen[shown, True] - seen[shown, False]
        for split, counts in zip(HALVES, (seen, new), strict=True):
            guesses = (True, False) if lean == 0 else (lean > 0,)
            won[split] += sum(counts[shown, guess] for guess in guesses) / len(guesses)
    assert won["train"] / seen.total() == pytest.approx(train, abs=5e-4)
    assert won["eval"] / new.total() == pytest.approx(unseen, abs=5e-4)
