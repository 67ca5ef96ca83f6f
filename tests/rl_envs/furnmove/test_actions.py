"""Which joint actions are coordinated (A Cordial Sync, section 3, A.1), counted over all headings."""

import functools
import itertools

import numpy as np
import pytest

from rl_envs.furnmove.actions import (
    MODALITY,
    coordinated_actions,
    coordination_class,
    is_coordinated,
)
from tests.rl_envs.furnmove.slow_game import coordinated

ONES = {1: 13, 2: 16, 3: 46, 4: 184}
"""N -> 4**N - 3**N navigation tuples with a Pass, and 9 joint ones; a single agent waits for nobody."""

# Tuples of different modalities are never coordinated, so these are all that the slow rule needs to be asked about.
MODALITIES = (range(4), range(4, 8), range(8, 9), range(9, 13))


def headings_of(num_agents):
    return itertools.product(range(4), repeat=num_agents)


@functools.cache
def ones_by_the_rule(num_agents, headings):
    tuples = [joint for modality in MODALITIES for joint in itertools.product(modality, repeat=num_agents)]
    return {joint for joint in tuples if coordinated(joint, headings)}


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_the_table_that_agents_see_is_the_rule(num_agents):
    joint_actions, modalities = coordinated_actions(num_agents)
    assert joint_actions.shape == (4 ** (num_agents - 1), ONES[num_agents], num_agents)
    assert modalities.shape == (ONES[num_agents],)
    classes = set()
    for headings in headings_of(num_agents):
        number = int(coordination_class(np.array(headings)))
        classes.add(number)
        listed = [tuple(joint) for joint in joint_actions[number].tolist()]
        assert len(set(listed)) == len(listed), "a one is listed twice"
        assert set(listed) == ones_by_the_rule(num_agents, headings), headings
        for joint, modality in zip(listed, modalities, strict=True):
            assert set(MODALITY[list(joint)]) == {modality}
    assert classes == set(range(len(joint_actions)))


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_a_whole_batch_is_judged_as_one_by_one(num_agents):
    random = np.random.default_rng(num_agents)
    actions = random.integers(13, size=(500, num_agents))
    actions[:250] = MODALITIES[1].start + random.integers(4, size=(250, num_agents))
    headings = random.integers(4, size=(500, num_agents))
    pairs = zip(actions.tolist(), headings.tolist(), strict=True)
    assert is_coordinated(actions, headings).tolist() == [coordinated(*pair) for pair in pairs]
