"""What `python -m tune_experiments` says to words that it cannot take."""

import shutil
import typing
from pathlib import Path

import pytest

from rl_envs import WORLDS
from tune_experiments.__main__ import main
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import known_experiments
from tune_experiments.play.loading import find_checkpoint
from tune_experiments.play.team_paths import PRETRAINED
from tune_experiments.teams.config import MethodName


def test_run_lists_the_experiments_and_runs_one(capsys):
    assert main(["run"]) == 0
    assert set(known_experiments()) <= set(capsys.readouterr().out.split())
    for words in (["run", "furnmove_sync", "--help"], ["train", "--help"]):
        with pytest.raises(SystemExit):
            main(words)
        assert f"usage: concord {' '.join(words[:-1])} " in capsys.readouterr().out


def test_every_environment_and_every_method_has_a_line(capsys):
    for command, names in (("envs", WORLDS), ("methods", typing.get_args(MethodName))):
        assert main([command]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [name for name in names if not any(line.startswith(f"{name} ") for line in lines)] == []
        assert main([command, "--help"]) == 0
        assert f"usage: concord {command}" in capsys.readouterr().out


def test_a_checkpoint_is_found_from_its_own_folder_and_a_run_by_any_name(tmp_path, monkeypatch):
    folder = PRETRAINED / "rtfm_letters"
    whole = find_checkpoint(folder)
    monkeypatch.chdir(whole.parent)
    assert find_checkpoint(Path(whole.name)) == whole
    run = tmp_path / "checkpoint_study"
    shutil.copytree(folder, run / "trials" / "one" / "inner")
    (run / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"config\.json"):
        find_checkpoint(run)
