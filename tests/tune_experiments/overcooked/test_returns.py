"""Rewards over env steps: what a log says, what stored teams are tested for, and what is refused."""

import json

import numpy as np
import pytest
from PIL import Image

from tests.tune_experiments.overcooked.runs import INTERACT, STAY, stubborn_team, write_run
from tune_experiments.core.errors import UserError
from tune_experiments.overcooked_returns import REWARD, main, points_of, trials_of, write_figures
from tune_experiments.overcooked_selfplay import SMOKE


def run_of(folder, rewards):
    return write_run(folder, [{800: stubborn_team(SMOKE, STAY), 1_600: stubborn_team(SMOKE, INTERACT)}], rewards)


def test_points_are_the_validations_of_the_log(tmp_path):
    (trained,) = trials_of(run_of(tmp_path / "run", {800: 20.0, 1_600: 60.0}))
    assert (trained.kitchen, trained.run, trained.row) == ("cramped_room", "run", "selfplay")
    assert points_of(trained, 2) == [(800, 20.0), (1_600, 60.0)]


def test_stored_teams_are_tested_where_the_log_knows_no_reward(tmp_path, monkeypatch):
    (trained,) = trials_of(run_of(tmp_path / "run", {}))
    asked = []

    def evaluate(self, config, method, policy, trial_folder):
        asked.append((config.test_episodes, method, trial_folder))
        often = policy.policy_head.policy.bias[[STAY, INTERACT]].detach().numpy() > 40
        return {config.task: {"reward": np.array([10.0, 30.0])[often]}}

    monkeypatch.setattr("tune_experiments.overcooked_selfplay.OvercookedSelfplay.evaluate_trial", evaluate)
    assert points_of(trained, 3) == [(800, 10.0), (1_600, 30.0)]
    assert asked == [(3, "selfplay", trained.folder)] * 2


def test_a_figure_has_the_curves_of_a_kitchen_and_tells_runs_apart(tmp_path):
    runs = [run_of(tmp_path / name, {800: 20.0}) for name in ("first", "second")]
    out = tmp_path / "out"
    written = list(write_figures([one for run in runs for one in trials_of(run)], 2, out))
    assert [path.name for path in written] == [
        "first-selfplay-seed0.jsonl",
        "second-selfplay-seed0.jsonl",
        "returns_cramped_room.png",
    ]
    assert json.loads(written[0].read_text()) == {"env_steps": 800, REWARD: 20.0}
    assert Image.open(written[-1]).size[0] > 300


def test_what_cannot_be_drawn_is_refused_in_one_sentence(tmp_path, capsys):
    other = write_run(tmp_path / "other", [{}], experiment="matrix_game")
    with pytest.raises(UserError, match="is a run of matrix_game; name runs of overcooked_selfplay"):
        list(trials_of(other))
    with pytest.raises(UserError, match="hold no validation"):
        list(write_figures([], 2, tmp_path))
    for words, said in (([], "one run folder or more"), (["x", "--episodes", "0"], "at least 1")):
        assert main(words) == 2
        assert said in capsys.readouterr().err
