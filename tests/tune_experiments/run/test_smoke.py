"""Every script's smoke preset, from command line to table, in one Ray session.

Trials run in this process. They have processes of their own in test_front_door.py, with our own algorithm, in
test_continue.py, with RLlib's, and of every script in tests/test_fresh_clone.py.
"""

import dataclasses
import io
import json
import pickle
import shutil

import numpy as np
import pytest

from tests.tune_experiments.experiments import TRAINED
from tests.tune_experiments.run.bomb import Bomb
from tests.tune_experiments.run.in_process import no_pictures, trials_in_process
from tune_experiments import load_policy
from tune_experiments.__main__ import main as after_training
from tune_experiments.core.config_path import flags_between, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment, trial_name
from tune_experiments.launch.experiment import main
from tune_experiments.results.rows import read
from tune_experiments.results.trial_log import read_metrics

QUICK = ("furnmove_sync", "matrix_game", "verco_salad")
"""The others run in `make slow`: these have their worlds and ways of training, and fast tests have their own parts."""
FEWER = {
    "furnmove_sync": {
        "max_episode_steps": 20,
        "budget_env_steps": 320,
        "validate_every_env_steps": 160,
        "checkpoint_every_env_steps": 160,
        "valid_starts_per_room": 1,
        "test_starts_per_room": 1,
    },
    "verco_salad": {
        "max_episode_steps": 12,
        "budget_env_steps": 64,
        "validate_every_env_steps": 64,
        "checkpoint_every_env_steps": 64,
        "valid_episodes": 2,
        "test_episodes": 2,
    },
}
"""Script -> what is smaller here than in its preset, which `make slow` runs as it is."""
BY_SCRIPT = ("sama_minirts",)
"""Scripts that train nothing in their smoke: scripts play the teams, so there are no curves and no actions."""
SCRIPTS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in TRAINED]


def config_of(experiment):
    return with_overrides(experiment.presets["smoke"], FEWER.get(experiment.name, {}))


@pytest.fixture(scope="module")
def runs(ray_session, tmp_path_factory):
    """Runs each script once, when first asked for."""
    done = {}

    def run(name):
        if name not in done:
            out = tmp_path_factory.mktemp(name) / "run"
            experiment = find_experiment(name)
            arguments = ["--preset", "smoke", "--out", str(out), "--seeds", "0"]
            arguments += flags_between(experiment.presets["smoke"], config_of(experiment))
            with trials_in_process():
                assert main(experiment, arguments) == 0
            done[name] = out
        return done[name]

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_smoke_run_leaves_everything_that_a_run_promises(runs, name):
    out, experiment = runs(name), find_experiment(name)
    config = config_of(experiment)
    methods = experiment.methods(config)
    for file in ("config.json", "manifest.json", "results.jsonl", "table.md"):
        assert (out / file).stat().st_size > 0, file
    curves = "plots/curves*.png" if name.startswith("sama_") else "plots/curves.png"  # SAMA: a figure a kitchen
    assert name in BY_SCRIPT or any(one.stat().st_size for one in out.glob(curves))
    results = read(out / "results.jsonl")
    assert {result.method for result in results if result.seed is not None} == set(methods)  # other players have none
    assert json.loads((out / "config.json").read_text())["experiment"] == name
    for method in methods:
        trial = out / "trials" / trial_name(method, 0)
        rows = read_metrics(trial / "metrics.jsonl")
        moments = [row["env_steps"] for row in rows]
        assert moments == sorted(set(moments))
        assert moments[-1] >= config.budget_env_steps
        assert name in BY_SCRIPT or any(key.startswith("valid/") for key in rows[-1])
        assert list(trial.glob("events.out.tfevents.*"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_trained_team_acts_without_ray(runs, name):
    loaded = load_policy(runs(name))
    world = loaded.experiment.test_world(loaded.config, 3)
    obs = world.reset(0)
    loaded.reset(seed=1, texts=world.texts)
    if name in BY_SCRIPT:
        with pytest.raises(ValueError, match="observation"):
            loaded.act(obs)
        return
    actions = [loaded.act(obs) for _ in range(2)]
    loaded.reset(seed=1, texts=world.texts)
    again = [loaded.act(obs) for _ in range(2)]
    for parts in actions[0].values() if isinstance(actions[0], dict) else actions[:1]:
        assert parts.shape == (3, world.num_agents)
    np.testing.assert_equal(actions, again)
    world.step(actions[0])


def test_a_run_folder_stands_for_the_first_row_of_its_table(runs):
    loaded = load_policy(runs("furnmove_sync"))
    assert (loaded.method, loaded.seed) == ("sync_13_cordial", 0)
    world = loaded.experiment.test_world(loaded.config, 3)
    obs = world.reset(0)
    loaded.act(obs)
    with pytest.raises(ValueError, match=r"3 .* 2"):
        loaded.act({key: value[:2] for key, value in obs.items()})


def test_the_messages_of_a_given_team_are_read_with_its_own_weights_and_settings(runs):
    listens, path = find_experiment("furnmove_communication"), runs("furnmove_sync")
    config = dataclasses.replace(listens.presets["smoke"], team=str(path))
    listens.check(config)
    plan, team = listens.plan(config, "trained", 0), load_policy(path)
    for name, weights in plan.build_policy().state_dict().items():
        np.testing.assert_array_equal(weights, team.policy.state_dict()[name])
    assert "view" in plan.make_world(num_worlds=1, first_world=0).observation_spec
    (world,) = listens.evaluate(config, "trained", plan.build_policy())
    assert world == "furnmove-laptop"


@pytest.mark.parametrize(
    ("script", "said"),
    [pytest.param("furnmove_methods", "messages", marks=pytest.mark.slow), ("matrix_game", "FurnMove")],
)
def test_a_given_team_that_says_nothing_or_plays_another_game_is_refused(runs, script, said):
    listens = find_experiment("furnmove_communication")
    with pytest.raises(UserError, match=said):
        listens.check(dataclasses.replace(listens.presets["smoke"], team=str(runs(script))))


def bomb_like(path, mark):
    """What a stranger could put in a file's place: a pickle, or arrays with one inside."""
    if path.suffix != ".npz":
        return pickle.dumps(Bomb(mark))
    file = io.BytesIO()
    np.savez(file, allow_pickle=True, **{name: np.array([Bomb(mark)], object) for name in np.load(path).files})
    return file.getvalue()


FOR_FIGURES = ("*.npz",)
KINDS = (
    ("config.json",),
    ("manifest.json", "texts/*", "events.out.*"),
    ("results.jsonl", "metrics.jsonl"),
    FOR_FIGURES,
    ("test_results.json", "weights.safetensors", "optimizer.safetensors", "runner_*.safetensors"),
    ("state.json",),
)


SMALL = ["--preset", "smoke", "--local", "--methods", "marginal", "--budget-env-steps", "160"]
SMALL += ["--valid-starts-per-room", "1", "--test-starts-per-room", "1", "--max-episode-steps", "12"]


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("small") / "run"
    with no_pictures():
        assert main(find_experiment("furnmove_sync"), [*SMALL, "--out", str(out)]) == 0
    return out


@pytest.mark.long
@pytest.mark.parametrize("kinds", KINDS, ids=" ".join)
def test_a_pickle_in_the_place_of_any_file_of_a_run_is_never_opened(small_run, kinds, tmp_path, capsys):
    out, mark = tmp_path / "run", tmp_path / "exploded"
    shutil.copytree(small_run, out)
    for kind in kinds:
        files = [path for path in out.rglob(kind) if path.relative_to(out).parts[0] != "tune"]
        assert files, f"a run has no {kind} any more"
        for path in files:
            path.write_bytes(bomb_like(path, mark))
    with trials_in_process() if kinds == FOR_FIGURES else no_pictures():
        for command in ("evaluate", "doctor", "table", "compare"):
            assert after_training([command, str(out)]) in (0, 2), command
        assert main(find_experiment("furnmove_sync"), [*SMALL, "--out", str(out)]) in (0, 1, 2)
    assert not mark.exists()
    assert "Traceback" not in capsys.readouterr().err
