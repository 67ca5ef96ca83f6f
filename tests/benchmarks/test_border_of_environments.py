"""What is compared at the border is played on both sides; curves of other libraries become a table."""

import json

import pytest

from benchmarks.foreign import Case, Loop, Walkers, WrappedLoop
from benchmarks.trainers import default_settings


def test_both_sides_play_whole_episodes_of_the_same_environment():
    border, loop = WrappedLoop(Case("walkers", Walkers, 25, 1)), Loop(Walkers)
    assert border.seconds(30) > 0
    loop.play(30)
    assert {tuple(env.agents) for env in loop.envs} == {("left", "right")}
    assert set(border.world.state["episode_length"].tolist()) == {(2 * 25 + 30) % 25}


def write_trial(folder, seed, env_steps, curve):
    trial = {"library": "sb3", "method": "ippo", "task": "spread", "discrete": False}
    trial |= {"seed": seed, "env_steps": env_steps, "curve": curve}
    (folder / f"{env_steps}-{seed}.json").write_text(json.dumps(trial))


def test_a_target_counts_where_two_returns_in_a_row_reach_it(tmp_path, capsys):
    curves = {
        0: [(10, 1.0, -9.0), (20, 2.0, -1.0), (30, 3.0, -8.0)],
        1: [(10, 1.0, -9.0), (20, 5.0, -1.0), (30, 6.0, 0.0)],
    }
    for seed, curve in curves.items():
        write_trial(tmp_path, seed, 30, curve)
    default_settings.main(["table", "--task", "spread", "--target", "-2", "--out", str(tmp_path)])
    row = capsys.readouterr().out.splitlines()[-1]
    assert "| 3, 6 |" in row, "CPU-seconds of both seeds"
    assert "5 (1 of 2)" in row


def test_trainings_of_different_lengths_are_rows_of_their_own(tmp_path, capsys):
    for env_steps, value in ((30, -80.0), (300, -40.0)):
        write_trial(tmp_path, 0, env_steps, [(env_steps, 1.0, value)])
    default_settings.main(["table", "--task", "spread", "--target", "-2", "--out", str(tmp_path)])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [("-80" in row, "-40" in row) for row in rows] == [(True, False), (False, True)]


def test_a_trial_that_is_there_is_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setitem(default_settings.LIBRARIES, "sb3", lambda flags: [(flags.env_steps, 1.0, 0.0)])
    command = ["sb3", "ippo", "--env-steps", "7", "--out", str(tmp_path)]
    default_settings.main(command)
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["curve"] == [[7, 1.0, 0.0]]
    monkeypatch.setitem(default_settings.LIBRARIES, "sb3", lambda flags: pytest.fail("it is there"))
    default_settings.main(command)
