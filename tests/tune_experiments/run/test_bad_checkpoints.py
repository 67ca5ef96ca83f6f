"""A wrong, damaged or hostile checkpoint is told in one sentence, and loses nothing."""

import hashlib
import json
import pickle

import pytest

from tests.tune_experiments.run.refusals import SMOKE, complaint, save
from tune_experiments import load_policy
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError


@pytest.fixture
def checkpoint(tmp_path):
    """A whole checkpoint of a team that learned nothing."""
    return save(tmp_path / "checkpoints")


def refusal(path):
    with pytest.raises(UserError) as told:
        load_policy(path)
    assert "\n" not in str(told.value)
    return str(told.value)


def forge(checkpoint, name, content):
    """Replace a file and make size and digests fit, as an attacker would."""
    (checkpoint / name).write_bytes(content)
    document = json.loads((checkpoint / "state.json").read_text())
    document["files"][name] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    del document["sha256"]
    document["sha256"] = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    (checkpoint / "state.json").write_text(json.dumps(document))


def test_a_whole_checkpoint_is_loaded(checkpoint):
    assert load_policy(checkpoint).method == "marginal"


@pytest.mark.processes
def test_the_command_line_tells_a_corrupt_checkpoint(checkpoint):
    (checkpoint / "weights.safetensors").write_bytes(b"nothing")
    sentence = complaint("-m", "tune_experiments", "evaluate", checkpoint)
    assert sentence.startswith(f"{checkpoint}/weights.safetensors ")


@pytest.mark.parametrize(
    "name", ["os", "../x", "__main__", "common.main", "", "furnmove_sync.__class__", 3, None, ["os"]]
)
def test_a_checkpoint_can_name_no_module_that_is_no_experiment(tmp_path, name, monkeypatch):
    path = save(tmp_path, experiment=name)
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(f"{name} was imported"))
    assert "no experiment is called" in refusal(path)


def test_rooms_of_training_are_not_needed_any_more(tmp_path):
    assert load_policy(save(tmp_path, config=config_to_json(SMOKE) | {"train_rooms": "gone.json"}))


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('the bomb went off')",)


@pytest.mark.processes
def test_a_pickle_bomb_in_place_of_the_weights_does_not_go_off(checkpoint):
    forge(checkpoint, "weights.safetensors", pickle.dumps(Bomb()))
    assert "weights.safetensors" in refusal(checkpoint)
    sentence = complaint("-m", "tune_experiments", "evaluate", checkpoint)
    assert "weights.safetensors" in sentence
