"""What errors say in one line."""

import errno
import os

import pytest

from tune_experiments.core.errors import EXIT_CODE, exits_with_one_sentence
from tune_experiments.core.files import write_atomically


def test_a_full_disk_is_one_sentence_with_the_file_and_leaves_what_was_there(tmp_path, monkeypatch, capsys):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "rows").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    assert exits_with_one_sentence(write_atomically)(tmp_path / "rows", "new") == EXIT_CODE
    assert str(tmp_path / "rows") in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("rows", "old")]


def test_an_error_of_no_file_is_raised():
    def fail():
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        exits_with_one_sentence(fail)()
