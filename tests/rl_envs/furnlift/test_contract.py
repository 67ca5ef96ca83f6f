"""FurnLift keeps every world's contract, in all its forms."""

import pytest

from rl_envs.testing import check_registered
from rl_envs.testing.wrappers import check_wrappers

FORMS = [
    {"room_size": "laptop", "max_episode_steps": 12},
    {"room_size": "laptop", "max_episode_steps": 12, "shows_expert": True, "agents_visible": True},
    {"room_size": "laptop", "max_episode_steps": 12, "observations": ("view", "frame"), "frame_pixels": 42},
]


@pytest.mark.processes
@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_every_form_keeps_the_contract(arguments):
    check_registered("furnlift-v0", **arguments)


@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_wrappers_for_other_libraries_pass_their_checks(arguments, capsys):
    check_wrappers("furnlift-v0", **arguments)
