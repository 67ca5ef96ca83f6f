"""A learner that does what a script tells it plays the script's own game."""

import numpy as np
import pytest

from rl_envs.minirts.factored import C_CONTINUE, UNIT_FACTORS
from rl_envs.minirts.teacher import ScriptTeacher
from rl_envs.minirts.twister import THREAD_BITS
from rl_envs.registry import make

SAME = ("tick", "money", "winner", "num_units", "unit_id", "unit_type", "unit_hp", "unit_x", "unit_y", "order_kind")


def per_unit(tables):
    """[B, 50, 7] commands as actions of one agent."""
    rows = {f"{name}_{k:02}": tables[:, k, j][:, None] for k in range(50) for j, name in enumerate(UNIT_FACTORS)}
    return {"continue_all": np.zeros((len(tables), 1), int)} | rows


@pytest.mark.slow
@pytest.mark.parametrize("script", ["medium", "strong", "medium_three"])
def test_a_policy_that_follows_a_teacher_plays_the_scripts_own_game(script):
    learner = make("minirts-v0", 3, opponents="medium", actions="per_unit")
    player = make("minirts-v0", 3, opponents="medium", own_script=script, actions="per_unit")
    for world in (learner, player):
        world.reset(7)
        world.auto_resets = False
    teacher, rows = ScriptTeacher(3, (script,)), np.arange(3)
    uniforms = learner.chance.uniforms(16, rows)  # those of the episode's start
    teacher.begin(rows, (uniforms[:, 2] * (1 << THREAD_BITS)).astype(int), uniforms[:, 4:10])
    for decision in range(80):
        tables = teacher.commands(learner.games)
        commanded = (tables[..., 0] != C_CONTINUE).any(axis=1)
        assert commanded.all() or decision
        learner.step(per_unit(tables))
        _, _, terminated, truncated, _ = player.step(per_unit(tables))
        for name in SAME:
            np.testing.assert_array_equal(learner.state[name], player.state[name], err_msg=f"{name}, {decision}")
        if (terminated | truncated).any():
            return
