"""Results on iTHOR's floors carry the name of the inferred masks, in the table and in the list of deviations."""

import dataclasses

import pytest

from rl_envs.furnmove.start_file import save_starts
from tune_experiments.cordial_sync import evaluation
from tune_experiments.cordial_sync.trials import plan
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.results.rows import Result

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


def test_the_deviations_tell_rooms_apart_that_serve_apart():
    config = dataclasses.replace(SMOKE, train_rooms="ithor_train")
    said = "rooms of training have iTHOR's floors and inferred television masks, the others are generated"
    assert any(note.startswith(said) for note in EXPERIMENT.deviations(config))


@pytest.mark.parametrize(("config", "world"), [(ITHOR, "ithor_floors_inferred_television_masks"), (SMOKE, "laptop")])
def test_the_printed_table_names_its_world_although_there_is_one(config, world):
    name = evaluation.world_name(config)
    rows = [Result("furnmove_sync", EXPERIMENT.caption, "marginal", name, "test", 0, "success", 0.5, 0.4, 0.6, 9, 9)]
    (table,) = EXPERIMENT.tables(rows)
    assert f"Measured in furnmove-{world}." in table.markdown()


@pytest.mark.parametrize("experiment", ["furnmove_sync", "furnlift"])
def test_a_room_file_is_found_again_from_another_folder(experiment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    laptop = find_experiment(experiment).presets["laptop"]
    config = dataclasses.replace(laptop, train_rooms="mine.json")
    assert config.train_rooms == str(tmp_path / "mine.json")
    assert laptop.train_rooms == "train_stream", "a split is no file"
