"""How CPU-seconds to the same return are counted: two validations, a stopped clock, trials that are not repeated."""

import json

import numpy as np
import pytest

from benchmarks.trainers import spread_return, trainers
from benchmarks.trainers.spread_return import Reached, Trial, Watch, best_learning_rate, main, read_trials, table


def watched(values, monkeypatch, target=-60.0, every=100):
    """Whether each call of a watch, every 50 env steps, ended a trial; and the watch."""
    monkeypatch.setattr(spread_return, "mean_return", lambda act: values.pop(0))
    watch, ended = Watch(target, every), False
    for step in range(1, 2 * len(values) + 1):
        try:
            watch(50 * step, None)
        except Reached:
            ended = True
            break
    return watch, ended


def test_a_trial_ends_at_the_first_of_two_consecutive_validations(monkeypatch):
    watch, ended = watched([-50.0, -70.0, -60.0, -59.0, -10.0], monkeypatch)
    assert ended
    assert [steps for steps, *_ in watch.curve] == [100, 200, 300, 400]
    assert not watched([-70.0, -50.0], monkeypatch)[1]


def test_validations_do_not_count(monkeypatch):
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr(spread_return, "cpu_seconds", lambda: next(clock))
    watch = Watch(0.0, 10, _began=0)
    monkeypatch.setattr(spread_return, "mean_return", lambda act: -1.0)
    for step in (10, 20, 30):
        watch(step, None)
    assert [spent for _, spent, _ in watch.curve] == [0, 7, 14], "each reads the clock twice: before and behind"


def test_trials_that_have_ended_are_left_out_and_the_best_setting_is_measured(monkeypatch, tmp_path, capsys):
    played = []

    def build():
        def train(learning_rate, seed, limit, watch):
            played.append((learning_rate, seed))
            for step in (100, 200):
                watch(step, None)

        return train

    monkeypatch.setitem(trainers.TRAINERS, "concord", build)
    monkeypatch.setattr(spread_return, "mean_return", lambda act: -50.0 if played[-1][0] == 1e-3 else -90.0)
    common = ["concord", "--target", "-60", "--out", str(tmp_path), "--every", "100"]
    with pytest.raises(SystemExit, match="concord"):
        main(["measure", *common])
    main(["tune", *common])
    main(["measure", *common, "--seeds", "0", "1"])
    main(["measure", *common, "--seeds", "0", "1", "2"])
    assert len(played) == 4 + 3
    assert played[4:] == [(1e-3, 0), (1e-3, 1), (1e-3, 2)]
    assert best_learning_rate(read_trials(tmp_path), "concord", -60.0, 400_000, 100) == 1e-3
    assert "| concord | 0.001 | -60.0 | 400,000 | 100 | 3 of 3 |" in table(read_trials(tmp_path))
    with pytest.raises(SystemExit):
        main(["measure", *common, "--seeds", "100"])
    assert "100" in capsys.readouterr().err


@pytest.mark.long
def test_our_own_trainer_tells_how_to_act_after_each_update():
    told = []

    def watch(env_steps, act):
        told.append((env_steps, act(np.zeros((4, 3, 18), np.float32))))

    trainers.concord()(1e-3, 0, 1_600, watch)
    assert [steps for steps, _ in told] == [800, 1_600]
    assert all(actions.shape == (4, 3) and 0 <= actions.min() <= actions.max() < 5 for _, actions in told)


def test_a_seed_that_did_not_arrive_counts_as_infinite():
    line = Trial("sb3", 1e-3, 0, -60.0, 500, curve=((100, 1.0, -90.0),))
    arrived = [Trial("sb3", 1e-3, seed, -60.0, 500, cpu_seconds=float(seed), env_steps=seed) for seed in (1, 2)]
    assert "| sb3 | 0.001 | -60.0 | 500 | 0 | 0 of 1 | never (never) | never |" in table([line])
    assert "| 2 of 3 | 2 (never, 1, 2) | 2 |" in table([line, *arrived])
    assert "| 1 of 2 | never (never, 1) | never |" in table([line, arrived[0]])
    assert Trial(**json.loads(json.dumps(line.__dict__))).key == line.key


def test_a_seed_that_gave_up_is_trained_again_with_another_limit(monkeypatch, tmp_path):
    limits = []
    monkeypatch.setitem(trainers.TRAINERS, "concord", lambda: lambda rate, seed, limit, watch: limits.append(limit))
    command = ["tune", "concord", "--target", "-60", "--out", str(tmp_path), "--seeds", "100"]
    for limit in ("100", "100", "1000"):
        main([*command, "--limit", limit])
    assert limits == [100, 100, 1000, 1000]
