"""What errors say in one line, and that names in what commands print are no markup."""

import errno
import os
import subprocess
import sys

import pytest

from rl_models.errors import first_line
from tune_experiments.core.errors import EXIT_CODE, exits_with_one_sentence
from tune_experiments.core.files import write_atomically
from tune_experiments.core.terminal import Terminal


def test_a_full_disk_is_one_sentence_with_the_file_and_leaves_what_was_there(tmp_path, monkeypatch, capsys):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "rows").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    assert exits_with_one_sentence(write_atomically)(tmp_path / "rows", "new") == EXIT_CODE
    assert str(tmp_path / "rows") in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("rows", "old")]


@pytest.mark.parametrize(("message", "line"), [("", "ValueError"), (" ...\n", "ValueError"), ("\na.\r\nb", "a")])
def test_the_first_line_of_an_error_has_words(message, line):
    assert first_line(ValueError(message)) == line


def test_an_error_of_no_file_is_raised():
    def fail():
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        exits_with_one_sentence(fail)()


@pytest.mark.processes
def test_control_c_in_the_middle_of_an_import_exits_with_130(tmp_path):
    """Imports evaluate strings (named tuples, dataclasses)."""
    (tmp_path / "command.py").write_text(
        "import signal, sys\n"
        "from tune_experiments.core.errors import exits_with_one_sentence\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background\n"
        "sys.exit(exits_with_one_sentence(lambda: exec('signal.raise_signal(signal.SIGINT)'))())\n"
    )
    run = subprocess.run([sys.executable, "-m", "command"], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (130, "interrupted\n")


@pytest.mark.processes
@pytest.mark.parametrize(("sleeps", "named"), [(0.2, False), (60, True)])
def test_a_thread_that_an_environment_leaves_running_does_not_keep_a_command_from_ending(sleeps, named):
    script = (
        "import sys, threading, time\n"
        "from tune_experiments.core.errors import ending_threads\n"
        f"threading.Thread(target=time.sleep, args=[{sleeps}], name='engine').start()\n"
        "print('done')\n"
        "sys.exit(ending_threads(3, seconds=1.0))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stdout, "engine" in run.stderr) == (3, "done\n", named)


@pytest.mark.parametrize("line", ["wrote runs/a[/b]/läuf [red]/table.md", "my_env:A: 3 agents"])
def test_brackets_and_colons_in_a_name_are_no_markup(capsys, line):
    Terminal().print(line)
    assert capsys.readouterr().out == line + "\n"
