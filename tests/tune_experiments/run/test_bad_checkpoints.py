"""A wrong, damaged or hostile checkpoint is told in one sentence, and loses nothing."""

import dataclasses
import hashlib
import json
import pickle

import pytest
import torch

from tests.tune_experiments.run.refusals import SMOKE, checked, complaint, save
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


def test_a_checkpoint_that_was_cut_off_or_altered_is_told(checkpoint):
    weights = checkpoint / "weights.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-100])
    assert "weights.safetensors has" in refusal(checkpoint)
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "differs from its recorded SHA-256" in refusal(checkpoint)
    (checkpoint / "state.json").write_text("{")
    assert "is not whole JSON" in refusal(checkpoint)
    (checkpoint / "state.json").write_text('{"weights": 1}')
    assert "give a checkpoint that Concord wrote" in refusal(checkpoint)


@pytest.mark.processes
def test_the_command_line_tells_a_corrupt_checkpoint(checkpoint):
    (checkpoint / "weights.safetensors").write_bytes(b"nothing")
    sentence = complaint("-m", "tune_experiments", "evaluate", checkpoint)
    assert sentence.startswith(f"{checkpoint}/weights.safetensors has 7 bytes instead of ")


@pytest.mark.parametrize("name", ["episode.png", "file/episode.gif"])
def test_a_video_that_cannot_be_written_is_told(name, checkpoint, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    (tmp_path / "file").write_text("a file where a folder should be")
    code = after_training(["render", str(checkpoint), "--out", str(tmp_path / name)])
    assert "--out" in checked(code, capsys.readouterr().err)


def test_a_video_does_not_replace_a_file(checkpoint, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    (tmp_path / "mine.gif").write_text("mine")
    code = after_training(["render", str(checkpoint), "--out", str(tmp_path / "mine.gif")])
    assert "already exists: name a new file" in checked(code, capsys.readouterr().err)
    assert (tmp_path / "mine.gif").read_text() == "mine"


@pytest.mark.parametrize("command", ["evaluate", "play", "render", "table"])
def test_every_command_tells_a_folder_that_holds_nothing(command, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    for path in (tmp_path, tmp_path / "missing"):
        sentence = checked(after_training([command, str(path)]), capsys.readouterr().err)
        assert sentence.startswith(f"{path} does not exist" if path != tmp_path else str(path))


@pytest.mark.parametrize("command", ["evaluate", "doctor"])
def test_every_command_tells_a_file_in_place_of_a_folder(command, tmp_path, capsys):
    from tune_experiments.__main__ import main as after_training

    (tmp_path / "notes.txt").touch()
    sentence = checked(after_training([command, str(tmp_path / "notes.txt")]), capsys.readouterr().err)
    assert sentence.startswith(f"{tmp_path / 'notes.txt'} is a file, not a folder: ")


@pytest.mark.parametrize("words", [["evalute", "x"], []])
def test_a_misspelt_command_is_told(words, capsys):
    from tune_experiments.__main__ import main as after_training

    checked(after_training(words), capsys.readouterr().err)


@pytest.mark.parametrize(
    "name", ["os", "../x", "__main__", "common.main", "", "furnmove_sync.__class__", 3, None, ["os"]]
)
def test_a_checkpoint_can_name_no_module_that_is_no_experiment(tmp_path, name, monkeypatch):
    path = save(tmp_path, experiment=name)
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(f"{name} was imported"))
    assert "no experiment is called" in refusal(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "central"},
        {"method": "__init__"},
        {"method": 3},
        {"method": "learner"},
        {"method": "budget_env_steps"},
        {"seed": "many"},
        {"seed": None},
        {"config": {}},
        {"config": 3},
        {"config": config_to_json(SMOKE) | {"budget_env_steps": -1}},
        {
            "config": config_to_json(SMOKE)
            | {"network": config_to_json(dataclasses.replace(SMOKE.network, hidden_size=7))}
        },
        {"progress": 3},
        {"progress": {}},
        {"progress": {"env_steps": "many"}},
    ],
    ids=str,
)
def test_a_checkpoint_whose_state_is_no_trials_is_told(tmp_path, changes):
    path = save(tmp_path, **changes)
    refusal(path)


def test_rooms_of_training_are_not_needed_any_more(tmp_path):
    assert load_policy(save(tmp_path, config=config_to_json(SMOKE) | {"train_rooms": "gone.json"}))


def test_a_checkpoint_of_another_network_is_told(tmp_path):
    assert "does not fit" in refusal(save(tmp_path, weights={"w": torch.zeros(3)}))


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('the bomb went off')",)


@pytest.mark.processes
def test_a_pickle_bomb_in_place_of_the_weights_does_not_go_off(checkpoint):
    forge(checkpoint, "weights.safetensors", pickle.dumps(Bomb()))
    assert "weights.safetensors is not a safetensors file" in refusal(checkpoint)
    sentence = complaint("-m", "tune_experiments", "evaluate", checkpoint)
    assert "is not a safetensors file" in sentence
