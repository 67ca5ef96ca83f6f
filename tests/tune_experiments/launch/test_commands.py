"""What `python -m tune_experiments` says to words that it cannot take."""

import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from rl_envs import WORLDS
from tune_experiments.__main__ import COMMANDS, main
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import known_experiments
from tune_experiments.play.loading import find_checkpoint
from tune_experiments.play.team_paths import PRETRAINED
from tune_experiments.teams.config import MethodName


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("furnmove_snyc", "unknown command 'furnmove_snyc'; did you mean furnmove_sync?"),
        ("evalute", "unknown command 'evalute'; did you mean evaluate?"),
        ("qqqq", "unknown command 'qqqq'; see concord --help"),
    ],
)
def test_an_unknown_word_is_told_with_the_nearest_command_or_experiment(word, said, capsys):
    assert main([word]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("play x --seed -1", "--seed must be a whole number, 0 or larger, not -1"),
        ("show x --seed -1", "--seed must be a whole number, 0 or larger, not -1"),
        ("render x --seed -1", "--seed must be a whole number, 0 or larger, not -1"),
        ("render minirts-v0", "a match in minirts-v0 needs its sides: render minirts-v0 --policies NAME NAME"),
        ("doctor pretrained/rtfm_letters", "has no metrics.jsonl, as teams of the package have none"),
    ],
)
def test_a_command_that_cannot_be_read_says_which_word_is_wrong(words, said, capsys):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_without_a_command_the_page_lists_them_all(words, capsys):
    assert main(words) == 0
    page = capsys.readouterr().out
    assert len(page.splitlines()) <= 30
    assert [name for name in ("train", "run", "envs", "methods", *COMMANDS) if f"\n  {name}" not in page] == []


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


@pytest.mark.slow
@pytest.mark.processes
def test_a_reader_that_wants_no_more_ends_a_command_as_a_shell_expects():
    words = [sys.executable, "-m", "tune_experiments", "play", "pretrained/rtfm_letters"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == ""
    assert command.returncode == 141


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


def test_a_video_of_a_team_of_the_package_has_its_name_and_replaces_no_file_in_the_present_folder(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["render", "pretrained/rtfm_letters"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["rtfm_letters.gif"]
    assert main(["render", "pretrained/rtfm_letters"]) == 2
    assert "rtfm_letters.gif already exists: name a new file with --out" in capsys.readouterr().err
