"""Overcooked keeps every world's contract, in all its forms."""

import pytest

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.testing import check_registered
from rl_envs.testing.wrappers import check_wrappers

BOTH = ["lossless", "symbols"]
FORMS = [
    {"max_episode_steps": 30},
    {"layout": "coordination_ring", "actions": "adjacent", "observations": BOTH, "max_episode_steps": 25},
    {"actions": ["adjacent", "primitive"], "observations": BOTH, "max_episode_steps": 25},
    {"actions": ["primitive", "any"], "max_episode_steps": 25},
    {"layout": "counter_circuit_o_1order", "actions": "any", "observations": ["symbols"], "max_episode_steps": 25},
    {"layout": "forced_coordination", "shaping": 1.0, "shaping_steps": 40, "bootstrap_at_limit": False},
    {"layout": ["XXXPX", "O1 2S", "XXDXX"], "actions": "any", "max_relocation_steps": 2, "max_episode_steps": 20},
]


@pytest.mark.processes
@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_every_form_keeps_the_contract(arguments):
    check_registered("overcooked-v0", **arguments)


@pytest.mark.processes
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_kitchen_keeps_the_contract(layout):
    check_registered("overcooked-v0", layout=layout, max_episode_steps=60)


@pytest.mark.parametrize("arguments", FORMS[:2], ids=str)
def test_wrappers_pass_the_checks_of_their_libraries(arguments, capsys):
    check_wrappers("overcooked-v0", **arguments)
