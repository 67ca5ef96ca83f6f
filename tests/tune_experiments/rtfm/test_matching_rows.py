"""Rows of rock-paper-scissors that are ours: the mention-matching reader with its own learner, and random moves."""

import dataclasses

import numpy as np
import pytest

from rl_models.losses.mention_contrast import MentionContrast
from rl_models.losses.mention_warm_start import MentionWarmStart
from rl_models.schedule import Progress
from tests.tune_experiments.fragments import update
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import Tested
from tune_experiments.rtfm.config import HELPED, LettersTask, RtfmTask, make_world
from tune_experiments.rtfm.matching_config import CHANGES
from tune_experiments.rtfm.trials import matching_sizes
from tune_experiments.rtfm.trials import plan_letters as plan

LETTERS = find_experiment("rtfm_rock_paper_scissors")
LAPTOP, SMOKE = LETTERS.presets["laptop"], LETTERS.presets["smoke"]


@pytest.mark.parametrize("row", CHANGES)
def test_an_ablation_differs_in_what_its_row_says(row):
    policy = plan(SMOKE, row, 0).build_policy()
    config = dataclasses.asdict(policy.network.config)
    plain = dataclasses.asdict(plan(SMOKE, "matching", 0).build_policy().network.config)
    changed = {name for name, value in config.items() if value != plain[name]}
    changes = {name: value for name, value in CHANGES[row].items() if plain.get(name) != value}
    wanted = {"contrasts" if name == "contrastive_coef" else name for name in changes}
    assert changed == wanted
    losses = plan(SMOKE, row, 0).objective.extra_losses
    assert [type(loss) for loss in losses] == [MentionContrast] * ("contrastive" in row)


@pytest.mark.parametrize("row", ["matching", "matching_two_tables_contrastive", "matching_as_vector"])
def test_a_row_of_the_reader_trains(row):
    update(plan(SMOKE, row, 0))


def test_random_moves_stay_uniform_while_they_train():
    policy, _ = update(plan(SMOKE, "random", 0))
    assert all(not weights.any() for weights in policy.parameters())


def test_random_moves_are_sampled_where_others_play_greedily():
    config = dataclasses.replace(SMOKE, test_episodes=64)
    found = LETTERS.evaluate(config, "random", plan(config, "random", 0).build_policy())[Tested("train_5x5")]
    np.testing.assert_array_equal(found["win_rate"], found["win_rate_sampled"])
    assert found["win_rate"].any()


@pytest.mark.parametrize("task", [LettersTask(), RtfmTask()])
def test_nodes_are_all_that_stands_in_a_room_but_the_viewer(task):
    world = make_world(task, 64)
    grid = world.reset(0)["grid"]
    kinds = matching_sizes(task).kinds.numpy()
    things = world.state["monster_cells"].shape[1] + world.state["item_cells"].shape[1]
    assert ((kinds[grid] > 0).sum((1, 2, 3, 4)) == things).all()


@pytest.mark.parametrize("row", HELPED)
def test_txt2pi_with_one_part_of_the_reader_is_txt2pi_in_the_rest_and_trains(row):
    ours, theirs = plan(SMOKE, row, 0), plan(SMOKE, "txt2pi", 0)
    assert dataclasses.replace(ours.objective, extra_losses=()) == theirs.objective
    assert ours.optimiser == theirs.optimiser and ours.workers == theirs.workers
    losses = {"txt2pi_contrastive": [MentionContrast], "txt2pi_attention_warm_start": [MentionWarmStart]}
    assert [type(loss) for loss in ours.objective.extra_losses] == losses.get(row, [])
    policy, _ = update(ours)
    plain = theirs.build_policy().state_dict()
    added = {name.split(".")[2] for name in policy.state_dict().keys() - plain.keys()}
    assert added == ({"picks"} if row == "txt2pi_shared_words" else set())


def test_the_warm_start_ends():
    (loss,) = plan(LAPTOP, "txt2pi_attention_warm_start", 0).objective.extra_losses
    assert [loss.weight.at(Progress(env_steps=steps)) for steps in (0, 50_000, 500_000)] == [0.3, 0, 0]
    assert loss.is_asked.any() and not loss.is_asked.all()
