"""Videos of the mention-matching reader: which words are joined with which things, and in which colour."""

import dataclasses

import numpy as np
import pytest

from tests.tune_experiments.play.teams import untrained
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.recording import CANDIDATES, shown_episode
from tune_experiments.rtfm.attention import HELD, draw_attention, things_in, watch_reading

EXPERIMENT = find_experiment("rtfm_rock_paper_scissors")
SMOKE = dataclasses.replace(EXPERIMENT.presets["smoke"], methods=("matching",))


@pytest.fixture(scope="module")
def policy():
    return untrained("rtfm_rock_paper_scissors", "matching", methods=("matching",))


@pytest.fixture(scope="module")
def moments(policy):
    return watch_reading(policy)


def test_the_goal_and_everything_in_the_room_has_its_attention(moments):
    for moment in moments[:-1]:
        goal, *things = moment.mentions
        assert (goal.thing, goal.cell, goal.monster) == ("goal", None, None)
        # A monster hides the item on which it steps, so only at the start is everything to be seen.
        assert {one.thing for one in things} <= set(moments[0].things)
        assert moment is not moments[0] or {one.thing for one in things} == set(moment.things)
        for one in moment.mentions:
            assert one.weights.shape == (len(moment.words),)
            assert one.weights.sum() == pytest.approx(1, abs=1e-4)
    assert moments[-1].mentions == ()


def test_a_monster_and_the_item_that_beats_it_are_one_pair(policy, moments):
    with shown_episode(policy, 226) as (world, index, _):
        state = {name: value[index] for name, value in world.state.items()}
    names = world.lexicon.names
    pair = {names[state["monster_names"][0]], names[state["item_names"][state["beaten_by"][0] - 1]]}
    assert {one.thing for one in moments[0].mentions if one.monster == 0} == pair
    cells = {one.thing: one.cell for one in moments[0].mentions}
    assert cells[names[state["monster_names"][0]]] == divmod(int(state["monster_cells"][0]), SMOKE.task.size)


def test_what_is_held_stands_where_the_agent_is(policy):
    world = policy.make_world(CANDIDATES)
    world.reset(0)
    world.restore({**world.snapshot(), "held": np.full_like(world.state["held"], 2)})
    held = things_in(world, 3)[HELD]
    assert held.cell == divmod(int(world.state["agent_cells"][3, 0]), SMOKE.task.size)
    assert held.thing == world.lexicon.names[world.state["item_names"][3, 1]]


def test_the_figure_of_attention_has_a_row_for_each_thing(moments, tmp_path):
    assert list(moments[0].attention) == [one.thing for one in moments[0].mentions]
    assert draw_attention(moments, tmp_path / "attention.png", "matching").exists()
