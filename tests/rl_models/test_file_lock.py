"""Rules of a lock on a file: one owner, said waiting, and no stop where a file system has no locks."""

import errno
import fcntl
import threading

import pytest

from rl_models.file_lock import hold_lock, hold_open_file
from tests.timeouts import TIMEOUT_SECONDS


def test_a_second_owner_waits_says_so_and_gets_it_in_the_end(tmp_path):
    waits, has_got_it = threading.Event(), threading.Event()

    def gets_it():
        with hold_lock(tmp_path / "lock", TIMEOUT_SECONDS, waits.set):
            has_got_it.set()

    with hold_lock(tmp_path / "lock"):
        thread = threading.Thread(target=gets_it)
        thread.start()
        assert waits.wait(TIMEOUT_SECONDS)
        assert not has_got_it.is_set()
    thread.join()
    assert has_got_it.is_set()


def test_what_a_file_holds_stays(tmp_path):
    (tmp_path / "lock").write_text("of another program")
    with hold_lock(tmp_path / "lock"), pytest.raises(TimeoutError), hold_lock(tmp_path / "lock"):
        pass
    assert (tmp_path / "lock").read_text() == "of another program"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_stops_nobody(tmp_path, monkeypatch, number):
    def refuses(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuses)
    path, went_on = tmp_path / "lock", []
    with hold_lock(path), hold_lock(path, 5), path.open("rb") as file, hold_open_file(file):
        went_on.append(True)
    assert went_on == [True]
