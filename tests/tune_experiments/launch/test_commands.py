"""What `python -m tune_experiments` says to words that it cannot take."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tune_experiments.__main__ import main
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import known_experiments
from tune_experiments.play.loading import find_checkpoint
from tune_experiments.play.team_paths import PRETRAINED


def test_help_lists_the_experiments(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert ", ".join(known_experiments()) in " ".join(capsys.readouterr().out.split())


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
