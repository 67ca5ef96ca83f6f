"""The overview of a folder of runs: which are running, and how far each trial has come."""

import shutil

import pytest

from tune_experiments import matrix_game
from tune_experiments.__main__ import main
from tune_experiments.core.config_json import config_to_json
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.trial import Trial


@pytest.fixture
def run(tmp_path):
    """A run of two seeds, of which the first has come half way, still open."""
    experiment = matrix_game.EXPERIMENT
    config = experiment.presets["smoke"]
    with RunFolder.open(tmp_path / "half", config_to_json(config), "matrix_game", seeds=(0, 1)) as folder:
        method = config.methods[0]
        Trial(experiment, config, method, 0, folder.trial(f"{method}-seed0")).run(lambda row: None, until_env_steps=1)
        yield folder


def test_the_doctor_says_of_a_folder_of_runs_which_are_running_and_how_far_their_trials_are(run, capsys):
    def said():
        assert main(["doctor", str(run.path.parent)]) == 0
        return capsys.readouterr().out.splitlines()

    head, first, second, *_ = said()
    assert "half" in head and "running since" in head and "not running" not in head
    budget = f"{matrix_game.EXPERIMENT.presets['smoke'].budget_env_steps:,}"
    assert "seed0" in first and budget in first and " 0 of" not in first
    assert "seed1" in second and f" 0 of {budget}" in second
    run.close()
    assert "not running" in said()[0]


def test_a_damaged_run_is_named_and_the_others_are_listed(run, capsys):
    run.close()
    folder = run.path.parent
    for name, file in (("bad_log", "trials/*/metrics.jsonl"), ("bad_sessions", "manifest.json")):
        shutil.copytree(run.path, folder / name)
        (damaged,) = [path for path in (folder / name).glob(file) if path.stat().st_size]
        damaged.write_text("{\n{\n")
    assert main(["doctor", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "bad_log: " in said and "metrics.jsonl" in said
    assert "bad_sessions: " in said and "manifest.json" in said
    assert "half: " in said and "seed1" in said
