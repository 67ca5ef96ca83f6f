"""Teams whose module is not there: what is read needs no code, and no advice would lose work."""

import json

import pytest
import torch

from tests.tune_experiments.run.refusals import save
from tune_experiments.__main__ import main
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.loading import load_policy
from tune_experiments.run.run_folder import RunFolder

TEAMS = find_experiment("train")
ROW = {
    "env_steps": 800,
    "speed/env_steps_per_second": 100.0,
    "speed/env_steps_per_second_of_a_runner": 200.0,
    "speed/learner_busy_share": 0.5,
}


@pytest.fixture
def trained(tmp_path):
    """A run of an environment whose module has gone, with a log."""
    config = config_to_json(TEAMS.presets["smoke"]) | {"env": "gone.away:parallel_env"}
    RunFolder.open(tmp_path, config, TEAMS.name).close()
    trial = tmp_path / "trials/ippo-seed0"
    save(trial / "checkpoints", experiment=TEAMS.name, config=config, method="ippo")
    (trial / "metrics.jsonl").write_text("".join(json.dumps(ROW | {"env_steps": n}) + "\n" for n in (800, 1600)))
    return tmp_path


@pytest.mark.parametrize("place", ["", "trials/ippo-seed0", "trials/ippo-seed0/checkpoints/checkpoint_000000"])
def test_the_doctor_imports_nothing(trained, capsys, place):
    assert main(["doctor", str(trained / place)]) == 0
    assert "100 env steps/s" in capsys.readouterr().out


def test_a_team_whose_module_is_missing_is_not_told_to_train_anew(trained):
    with pytest.raises(UserError) as refusal:
        load_policy(trained / "trials/ippo-seed0", allow=["gone.away"])
    assert "PYTHONPATH" in str(refusal.value) and "gone" in str(refusal.value)
    assert "anew" not in str(refusal.value)


def test_a_team_of_other_code_is_to_be_opened_with_that_code(trained):
    checkpoint = save(trained / "trials/other-seed0/checkpoints", weights={"other": torch.zeros(1)})
    with pytest.raises(UserError) as refusal:
        load_policy(checkpoint)
    assert "anew" not in str(refusal.value) and "manifest.json" in str(refusal.value)
