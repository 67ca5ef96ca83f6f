"""Rewards over env steps: what a log says, what stored teams are tested for, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest
from matplotlib.axes import Axes

from tests.tune_experiments.overcooked.runs import INTERACT, STAY, stubborn_team, write_run
from tune_experiments.core.errors import UserError
from tune_experiments.overcooked.crossplay import find_trials
from tune_experiments.overcooked_returns import KNOWN, REWARD, curve_points, main, run_names, write_figures
from tune_experiments.overcooked_selfplay import SMOKE


def run_of(folder, rewards, config=SMOKE):
    teams = {800: stubborn_team(config, STAY), 1_600: stubborn_team(config, INTERACT)}
    return write_run(folder, [teams], rewards, config)


def test_points_are_the_validations_of_the_log(tmp_path):
    (trained,) = find_trials(run_of(tmp_path / "run", {800: 20.0, 1_600: 60.0}), KNOWN)
    assert (trained.kitchen, trained.row) == ("cramped_room", "selfplay")
    assert curve_points(trained, 2) == [(800, 20.0), (1_600, 60.0)]


def test_stored_teams_are_tested_where_the_log_knows_no_reward(tmp_path, monkeypatch):
    (trained,) = find_trials(run_of(tmp_path / "run", {}), KNOWN)
    asked = []

    def evaluate(self, config, method, policy, trial_folder):
        asked.append((config.test_episodes, method, trial_folder))
        often = policy.policy_head.policy.bias[[STAY, INTERACT]].detach().numpy() > 40
        return {config.task: {"reward": np.array([10.0, 30.0])[often]}}

    monkeypatch.setattr("tune_experiments.overcooked_selfplay.OvercookedSelfplay.evaluate_trial", evaluate)
    assert curve_points(trained, 3) == [(800, 10.0), (1_600, 30.0)]
    assert asked == [(3, "selfplay", trained.folder)] * 2


def test_runs_of_one_name_are_told_apart(tmp_path, capsys):
    runs = [run_of(tmp_path / name / "run", {800: value}) for name, value in (("first", 20.0), ("second", 30.0))]
    assert run_names(runs) == ["first/run", "second/run"]
    assert main([*map(str, runs), "--out", str(tmp_path / "out")]) == 0
    for name, value in (("first", 20.0), ("second", 30.0)):
        text = (tmp_path / f"out/points/{name}/run-selfplay-seed0.jsonl").read_text()
        assert json.loads(text)[REWARD] == value
    assert (tmp_path / "out/plots/returns_cramped_room.png").exists()
    assert main([str(runs[0]), str(runs[0])]) == 2
    assert str(runs[0]) in capsys.readouterr().err
    searches = [tmp_path / name / "trials/selfplay-setting00-seed0" for name in ("s1", "s2")]
    for trial in searches:
        (trial / "checkpoints").mkdir(parents=True)
    assert run_names(searches) == [f"{name}/selfplay-setting00-seed0" for name in ("s1", "s2")]
    with pytest.raises(UserError, match="b/run"):
        run_names([tmp_path / "a/b/run", tmp_path / "c/b/run"])


def test_a_figure_names_the_length_of_its_episodes_and_has_one(tmp_path, monkeypatch, capsys):
    labels = []
    monkeypatch.setattr(Axes, "set_ylabel", lambda self, label: labels.append(label))
    first = run_of(tmp_path / "first", {800: 20.0})
    assert main([str(first)]) == 0
    assert labels == ["reward per episode of 60 env steps"]
    longer = run_of(tmp_path / "longer", {800: 20.0}, dataclasses.replace(SMOKE, max_episode_steps=400))
    assert main([str(first), str(longer)]) == 2
    assert "60, 400 env steps" in capsys.readouterr().err


def test_a_folder_with_other_things_is_left_alone(tmp_path, capsys):
    run = run_of(tmp_path / "run", {800: 20.0})
    assert main([str(run), "--out", str(run)]) == 2
    assert str(run) in capsys.readouterr().err
    assert not (run / "points").exists()
    assert [main([str(run)]), main([str(run)])] == [0, 0], "its own folder is written again"


def test_what_cannot_be_drawn_is_refused_in_one_sentence(tmp_path, capsys):
    other = write_run(tmp_path / "other", [{}], experiment="matrix_game")
    with pytest.raises(UserError, match=r"matrix_game.*overcooked_selfplay"):
        find_trials(other, KNOWN)
    with pytest.raises(UserError):
        list(write_figures({}, 2, tmp_path))
    assert main([]) == 2
    assert main(["x", "--episodes", "0"]) == 2
    assert "--episodes" in capsys.readouterr().err
