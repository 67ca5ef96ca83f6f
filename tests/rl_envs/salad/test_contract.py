"""The salad kitchen keeps every world's contract, in all its forms."""

import pytest

from rl_envs.testing import check_registered
from rl_envs.testing.wrappers import check_wrappers

FORMS = [
    {"max_episode_steps": 40},
    {"layout": "B", "recipes": ["tomato", "lettuce-onion"], "order_known_by": "Alice", "max_episode_steps": 40},
    {
        "layout": "C",
        "kitchen": "full",
        "recipes": ["onion"],
        "actions": "full",
        "mask": "none",
        "max_episode_steps": 40,
    },
    {"actions": "primitive", "max_episode_steps": 40, "restore_rule": "cover", "swap": True, "sight": 1},
    {"text": False, "kitchen": "full", "rechop_pays": True, "collision_reward": 0.0, "max_episode_steps": 40},
]


@pytest.mark.processes
@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_every_form_keeps_the_contract(arguments):
    check_registered("salad-v0", **arguments)


@pytest.mark.long
@pytest.mark.parametrize("arguments", FORMS[1::2], ids=str)
def test_wrappers_pass_the_checks_of_their_libraries(arguments, capsys):
    check_wrappers("salad-v0", **arguments)
