"""MESSENGER keeps every world's contract, in all its forms."""

import pytest

from rl_envs.messenger.team_rules import RELEASED
from rl_envs.testing import check_registered
from rl_envs.testing.wrappers import check_wrappers

FORMS = [
    {"stage": 2, "max_episode_steps": 24},
    {"stage": 3, "split": "test", "frames": 1, "shows_roles": True, "permuted_roles": True, "max_episode_steps": 24},
    {"num_agents": 2, "max_episode_steps": 6, "frames": 2},
    {"num_agents": 2, "stage": 2, "split": "val", "max_sentences_per_cell": 3},
    {"num_agents": 2, "stage": 3, "released": list(RELEASED), "max_episode_steps": 24},
]


@pytest.mark.processes
@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_every_form_keeps_the_contract(arguments):
    check_registered("messenger-v0", **arguments)


@pytest.mark.parametrize("arguments", FORMS[1::3], ids=str)
def test_wrappers_pass_the_checks_of_their_libraries(arguments, capsys):
    check_wrappers("messenger-v0", **arguments)
