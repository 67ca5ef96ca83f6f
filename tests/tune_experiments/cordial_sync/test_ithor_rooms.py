"""Results on iTHOR's floors carry the name of the inferred masks, in the table and in the list of deviations."""

import dataclasses

import pytest

from rl_envs.furnmove.start_file import save_starts
from tune_experiments.cordial_sync import evaluation
from tune_experiments.cordial_sync.trials import plan
from tune_experiments.experiment.finding import find_experiment

EXPERIMENT = find_experiment("furnmove_sync")
SMOKE = dataclasses.replace(EXPERIMENT.presets["smoke"], test_starts_per_room=1, max_episode_steps=3)
ITHOR = dataclasses.replace(SMOKE, train_rooms="ithor_train", valid_rooms=("ithor_valid",), test_rooms=("ithor_test",))


def worlds_of_the_table(config):
    policy = plan(SMOKE, "marginal", 0).build_policy()
    return list(evaluation.evaluate(config, policy))


def test_the_table_names_inferred_masks():
    assert worlds_of_the_table(ITHOR) == ["furnmove-ithor_floors_inferred_television_masks"]
    assert worlds_of_the_table(SMOKE) == ["furnmove-laptop"]


def test_a_file_of_starts_on_these_floors_is_named_so_too(tmp_path):
    path = tmp_path / "mine.json"
    save_starts(path, evaluation.test_starts(ITHOR))
    config = dataclasses.replace(SMOKE, test_starts=str(path))
    assert worlds_of_the_table(config) == ["furnmove-mine-ithor_floors_inferred_television_masks"]


@pytest.mark.parametrize(("config", "named"), [(ITHOR, True), (SMOKE, False)])
def test_the_deviations_say_which_rooms_these_are(config, named):
    assert any("inferred television masks" in note for note in EXPERIMENT.deviations(config)) == named
    evaluation.check_rooms_apart(config)
