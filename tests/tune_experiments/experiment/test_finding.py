"""Experiments and worlds by name: those of this package, those from outside, and whom a run folder may bring in."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rl_envs import make
from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers.custom.build import named_env
from tune_experiments import furnmove_communication, load_policy, matrix_game, train
from tune_experiments.__main__ import main
from tune_experiments.core.config_json import ModuleName, config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import (
    find_experiment,
    find_stored,
    module_names,
    trusted_modules,
    trusting,
)
from tune_experiments.play.trial_figures import trained_teams
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.stored_run import StoredRun
from tune_experiments.run.trial import Trial

ROOT = Path(__file__).resolve().parents[3]
CONFIG = {"budget_env_steps": 640, "games": 32, "updates_per_row": 2, "checkpoint_every_env_steps": 320}
OUTSIDE = """
from pathlib import Path

Path({mark!r}).touch()  # what a stranger's module could do

import sys
from tune_experiments.matrix_game import MatrixGameExperiment
from tune_experiments.launch.experiment import main


class Ours(MatrixGameExperiment):
    name = "ours"


EXPERIMENT = Ours()
if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A module from outside with a side effect: its name, and the mark that it leaves when it is imported."""
    name, mark = f"outside_{tmp_path.name}", tmp_path / "imported"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"{name}.py").write_text(OUTSIDE.format(mark=str(mark)))
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    yield name, mark
    sys.modules.pop(name, None)


def small():
    return dict(config_to_json(matrix_game.SMOKE)) | CONFIG


def test_a_script_is_found_by_its_name_and_any_other_by_module_and_name(outside):
    assert find_experiment("matrix_game") is matrix_game.EXPERIMENT
    found = find_experiment(f"{outside[0]}:EXPERIMENT")
    assert (found.name, found.entry_point, found.module) == ("ours", f"{outside[0]}:EXPERIMENT", outside[0])
    assert matrix_game.EXPERIMENT.entry_point == "matrix_game"


@pytest.mark.processes
def test_it_has_the_same_name_if_its_own_file_is_started(outside, tmp_path):
    name, _ = outside
    file = tmp_path / "code" / f"{name}.py"
    file.write_text(file.read_text().replace("sys.exit(main(EXPERIMENT))", "print(EXPERIMENT.entry_point)"))
    surroundings = os.environ | {"PYTHONPATH": str(ROOT)}
    said = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, env=surroundings).stdout
    assert said.strip() == f"{name}:EXPERIMENT"


@pytest.fixture
def stranger(outside, tmp_path):
    """A run folder with a trained team of the outside experiment, whose module nobody here has imported yet."""
    name, mark = outside
    out = tmp_path / "run"
    experiment = find_experiment(f"{name}:EXPERIMENT")
    config = type(matrix_game.SMOKE)(**{**vars(matrix_game.SMOKE), **CONFIG, "methods": ("sync",)})
    with RunFolder.open(out, config_to_json(config), experiment.entry_point) as folder:
        Trial(experiment, config, "sync", 0, folder.trial("sync-seed0")).run(lambda row: None)
    del sys.modules[name]
    mark.unlink()
    return out


def test_a_module_from_outside_is_imported_only_by_who_names_it(stranger, outside, capsys):
    name, mark = outside
    said = f"names the module {name}, which is not part of Concord"
    for path in (stranger, stranger / "trials/sync-seed0"):
        with pytest.raises(UserError, match=said):
            load_policy(path)
        with pytest.raises(UserError, match=said):
            load_policy(path, allow=["another", f"{name}.inner"])
    for command in ("evaluate", "play", "render", "export-adapters", "table"):
        assert main([command, str(stranger)]) == 2
        error = capsys.readouterr().err
        assert said in error and f"--allow {name}" in error
        assert error.count("\n") == 1
    assert not mark.exists()
    assert name not in sys.modules
    assert load_policy(stranger, allow=[name]).method == "sync"
    assert mark.exists()
    assert main(["evaluate", str(stranger), "--allow", name]) == 0
    assert "ours: sync, seed 0" in capsys.readouterr().out
    main(["pack", str(stranger), "new", "--given", "-", "--seed-choice", "-", "--out", str(stranger), "--allow", name])
    assert name not in capsys.readouterr().err


def test_at_the_end_of_ones_own_run_its_teams_are_opened_without_a_word(tmp_path):
    """The user has named the environment; whoever opens the folder later has not."""
    config = dataclasses.replace(train.SMOKE, env="tests.tune_experiments.teams.games:Meeting", methods=("ippo",))
    experiment = train.EXPERIMENT
    (tmp_path / "ippo-seed0").mkdir()
    Trial(experiment, config, "ippo", 0, tmp_path / "ippo-seed0", is_local=True).run(lambda row: None)
    trials = {"ippo": {0: tmp_path / "ippo-seed0"}}
    with pytest.raises(UserError, match=r"--allow tests\.tune_experiments"):
        list(trained_teams(trials))
    continued = dataclasses.replace(config, methods=("ippo", "mappo"), budget_env_steps=2 * config.budget_env_steps)
    with trusting(experiment, continued):
        teams = dict(trained_teams(trials))
    assert "tests.tune_experiments.teams.games" in teams["ippo"].allow
    with trusting(experiment, dataclasses.replace(config, methods=("ippo", "vdn"), test_episodes=9)):
        assert dict(trained_teams(trials)), "also of an earlier session, which had other methods and numbers"
    other = dataclasses.replace(config, env_arguments='{"image": true}')
    with trusting(experiment, other), pytest.raises(UserError, match="--allow"):
        list(trained_teams(trials))
    with pytest.raises(UserError, match="--allow"):
        list(trained_teams(trials))


def test_a_team_of_another_configuration_is_not_opened_because_a_run_ends(tmp_path):
    """A stranger's folder: its configuration is harmless, and one of its checkpoints names a function to call."""
    called = f'{{"path": "{tmp_path}/inner", "allow": ["os"]}}'
    harmful = dataclasses.replace(
        train.SMOKE, env="tune_experiments.furnmove_communication:load_policy", env_arguments=called
    )
    for experiment, config in (
        (furnmove_communication.EXPERIMENT, furnmove_communication.EXPERIMENT.presets["smoke"]),
        (train.EXPERIMENT, train.SMOKE),
    ):
        with trusting(experiment, config):
            assert trusted_modules("train", config_to_json(harmful)) == set()
            assert trusted_modules(experiment.entry_point, config_to_json(harmful)) == set()
    with trusting(train.EXPERIMENT, harmful):
        assert "tune_experiments.furnmove_communication" in trusted_modules("train", config_to_json(harmful))


def test_a_module_that_only_the_configuration_names_is_refused_too(outside, tmp_path):
    name, mark = outside
    data = small() | {"methods": [f"{name}:EXPERIMENT"]}
    with pytest.raises(UserError, match=f"--allow {name}"):
        find_stored("matrix_game", data, (), tmp_path / "config.json")
    assert not mark.exists()
    data["methods"] = ["mistral:latest"]  # the name of no module here
    with pytest.raises(UserError, match=r"methods.*mistral:latest"):
        find_stored("matrix_game", data, (), tmp_path / "config.json")


@pytest.mark.parametrize(
    "env", ["rl_envs.wrappers.custom.build:_build", "rl_envs.registry:make", "mpe2.simple_spread_v3:another"]
)
def test_a_function_that_a_file_would_call_is_allowed_by_name_even_if_it_is_ours(env, tmp_path):
    called = json.dumps({"module": "os", "function": "system", "arguments": {"command": f"touch {tmp_path}/done"}})
    data = config_to_json(dataclasses.replace(train.SMOKE, env=env, env_arguments=called))
    with pytest.raises(UserError, match=f"--allow {env.partition(':')[0]}"):
        find_stored("train", data, (), tmp_path / "config.json")
    assert not (tmp_path / "done").exists()


@dataclasses.dataclass(frozen=True)
class Inner:
    module: ModuleName = "inside"


@dataclasses.dataclass(frozen=True)
class Outer:
    several: tuple[Inner, ...] = ()
    perhaps: Inner | None = None
    maybe: ModuleName | None = None
    named: dict[str, Inner] = dataclasses.field(default_factory=dict)
    plain: str = "evil"


@pytest.mark.parametrize(
    "data",
    [
        {"several": [{"module": "evil"}]},
        {"perhaps": {"module": "evil"}},
        {"maybe": "evil"},
        {"named": {"one": {"module": "evil"}}},
    ],
)
def test_a_module_is_found_wherever_a_configuration_may_hold_one(data):
    assert list(module_names({"plain": "evil"} | data, [Outer])) == [("evil", True)]


@pytest.mark.parametrize("name", ["evil-one:X", "évil:X", "evil:X.y", "evil:", ":X"])
def test_what_is_spelled_otherwise_than_an_entry_point_is_refused_before_any_import(name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("evil-one", "évil", "evil"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('imported')")
    with pytest.raises(ValueError, match=name):
        make(name)
    with pytest.raises(CustomEnvError, match=name):
        named_env(name)


def test_the_first_seed_of_a_run_is_the_smallest(tmp_path):
    config = dataclasses.replace(train.SMOKE, methods=("ippo",))
    for seed in (10, 9, 100):
        (tmp_path / "trials" / f"ippo-seed{seed}").mkdir(parents=True)
    assert list(StoredRun(tmp_path, train.EXPERIMENT, config).trials["ippo"]) == [9, 10, 100]
