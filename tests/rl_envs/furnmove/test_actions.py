"""Which joint actions are coordinated (A Cordial Sync, section 3, A.1): the table has all of them, for all headings.

The rule itself is compared with recorded coordination matrices (`tests/golden/test_furnmove_golden.py`).
"""

import itertools

import numpy as np
import pytest

from rl_envs.furnmove.actions import MODALITY, coordinated_actions, coordination_class, coordination_matrix

ONES = {1: 13, 2: 16, 3: 46, 4: 184}
"""N -> 4**N - 3**N navigation tuples with a Pass, and 9 joint ones; a single agent waits for nobody."""


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_the_table_that_agents_see_is_the_rule(num_agents):
    joint_actions, modalities = coordinated_actions(num_agents)
    assert joint_actions.shape == (4 ** (num_agents - 1), ONES[num_agents], num_agents)
    assert (MODALITY[joint_actions] == modalities[:, None]).all()
    classes = set()
    for headings in itertools.product(range(4), repeat=num_agents):
        number = int(coordination_class(np.array(headings)))
        classes.add(number)
        listed = sorted(joint_actions[number].tolist())
        assert listed == np.argwhere(coordination_matrix(np.array(headings))).tolist(), headings
    assert classes == set(range(len(joint_actions)))
