"""MiniRTS keeps every world's contract, in its forms."""

import pytest

from rl_envs.testing import check_registered
from rl_envs.testing.wrappers import check_wrappers

FORMS = [
    {"max_episode_steps": 4, "opponents": ["medium", "strong"]},
    {
        "max_episode_steps": 4,
        "agents_per_side": 3,
        "actions": "per_unit",
        "oracle": True,
        "extra_units": 5,
        "facts": True,
    },
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_every_form_keeps_the_contract(arguments):
    check_registered("minirts-v0", **arguments)


@pytest.mark.slow
def test_views_of_other_libraries_pass_their_checks(capsys):
    check_wrappers("minirts-v0", **FORMS[0])
