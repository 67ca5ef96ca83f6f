"""Teams of a finished run are tested again, under another planner and under conditions, and nothing is trained."""

import dataclasses

import pytest

from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import EXIT_CODE
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.saved_results import read_saved
from tune_experiments.results.rows import read
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.trial import Trial
from tune_experiments.sama.planned_experiment import BY_RULE
from tune_experiments.sama_overcooked import SMOKE
from tune_experiments.sama_retest import main, read_command

CONFIG = dataclasses.replace(
    SMOKE,
    methods=("sama", "selfplay"),
    max_episode_steps=20,
    budget_env_steps=160,
    validate_every_env_steps=160,
    valid_episodes=1,
    test_episodes=1,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose first row is trained and whose second one is not."""
    out = tmp_path_factory.mktemp("runs") / "trained"
    experiment, method = find_experiment("sama_overcooked"), "sama-cramped_room"
    with RunFolder.open(out, config_to_json(CONFIG), "sama_overcooked") as folder:
        trial = Trial(experiment, CONFIG, method, 0, folder.trial(f"{method}-seed0"), is_local=True)
        trial.run(lambda said: None)
        folder.trial("selfplay-cramped_room-seed0")
    return out


@pytest.fixture(scope="module")
def again(run):
    """Results of a test of its teams."""
    out = run.with_name("again")
    main([str(run), "--out", str(out)])
    return out


def test_the_table_of_a_finished_trial_is_made_again_and_an_unfinished_one_waits(run, again, tmp_path):
    rows = read(again / "results.jsonl")
    assert {(row.method, row.place, row.seed) for row in rows} == {
        ("sama-cramped_room", "cramped_room", 0),
        ("rules_scripted", "cramped_room", None),
    }
    assert (again / "transcripts/sama-cramped_room-seed0/cramped_room.md").is_file()
    main([str(run), "--out", str(again), "--save", str(tmp_path / "sama.jsonl.gz")])
    assert read(again / "results.jsonl") == rows
    kept = read_saved(tmp_path / "sama.jsonl.gz")
    assert list(kept.results) == rows
    assert kept.seeds == (0,)


@pytest.mark.slow
def test_conditions_and_other_planners_are_tested_with_the_same_team(run, tmp_path):
    main([str(run), "--ablations", "--episodes", "2", "--planner", "noisy", "--out", str(tmp_path / "noisy")])
    rows = read(tmp_path / "noisy/results.jsonl")
    assert {row.experiment for row in rows} == {"sama_ablations"}
    assert "weak planner, 3 retries" in {row.condition for row in rows}
    assert {row.n_episodes for row in rows if row.metric == "soups"} == {2}
    assert {row.value for row in rows if row.metric == BY_RULE} == {1.0}
    assert not (run / "results.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--methods", "blind"], "error: "),
        (["--tasks", "coordination_ring"], "error: "),
        (["--episodes", "-1"], "--episodes"),
        (["--planners", "noisy"], "--planners"),
        (["--planner", "openai"], "OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_tested_is_refused_in_a_sentence(run, tmp_path, words, reason, monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main([str(run), *words, "--out", str(tmp_path / "none")]) == EXIT_CODE
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (["--planner", "noisy"], "planner: 'offline' -> 'noisy'"),
        (["--episodes", "2"], "test_episodes: 1 -> 2"),
        (["--ablations"], "experiment: 'sama_overcooked' -> 'sama_ablations'"),
    ],
)
def test_tests_of_another_kind_do_not_enter_a_folder(run, again, words, change, capsys):
    before = {path.name: path.read_bytes() for path in again.glob("*.*")}
    assert main([str(run), *words, "--out", str(again)]) == EXIT_CODE
    assert f"({change}" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in again.glob("*.*")} == before


@pytest.mark.parametrize("planner", ["openai", "scored", "noisy"])
def test_the_planner_that_a_test_names_answers_in_the_place_of_the_runs_record(planner, tmp_path):
    words = [str(tmp_path), "--planner", planner, "--model.name", "m"]
    trained = dataclasses.replace(CONFIG, replay=str(tmp_path))
    config = dataclasses.replace(trained, **read_command(words).changes)
    assert (config.planner, config.replay) == (planner, "")


def test_the_present_folder_is_a_run_like_any_other(run, monkeypatch, capsys):
    monkeypatch.chdir(run)
    assert main(["."]) == 0
    assert (run.with_name("trained_retest") / "results.jsonl").is_file()
    assert main(["/"]) == EXIT_CODE
    assert "error: / " in capsys.readouterr().err
