"""Whatever ends a local cluster ends it whole: no process of it is left, and no file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.testing.local_cluster import LocalCluster, wait_until
from cluster.testing.processes import marked
from tests.timeouts import TIMEOUT_SECONDS

ROOT = Path(__file__).resolve().parents[3]
ENDS = [signal.SIGTERM, signal.SIGHUP]
# A cluster whose nodes are processes that only wait, each with a child in a session of its own, as Ray's workers are.
WAITS = """
import subprocess, sys, threading
from cluster.testing.local_cluster import LocalCluster

CHILD = "import threading; threading.Event().wait()"
NODE = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}], start_new_session=True)"

class Fake(LocalCluster):
    def start_head(self, starts=3):
        print(self.name, self.home, flush=True)
        self.start_process("head", [sys.executable, "-c", NODE])
    def add_worker(self, starts=3):
        self.start_process("worker_1", [sys.executable, "-c", NODE])

with Fake(workers=1) as cluster:
    threading.Event().wait()
"""


def hears_hangups():
    """Undo for a new process what tests that run under nohup inherit."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def parts(text):
    name, home = text.split()[:2]
    return name, Path(home)


@pytest.mark.processes
@pytest.mark.parametrize("number", ENDS)
def test_a_signal_ends_all_processes_of_a_cluster_and_removes_its_files(number):
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS], cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=hears_hangups
    )
    name = ""
    try:
        name, home = parts(process.stdout.readline())
        wait_until(lambda: len(marked(name)) == 4, TIMEOUT_SECONDS, "two nodes with a child each")
        process.send_signal(number)
        process.send_signal(number)  # an impatient one must not cut the first one's work off
        assert process.wait(TIMEOUT_SECONDS) == 128 + number
        assert marked(name) == []
        assert not home.exists()
    finally:
        process.kill()
        process.wait()
        for pid in marked(name) if name else []:
            os.kill(pid, signal.SIGKILL)


def test_what_ignores_a_signal_goes_on_ignoring_it_and_others_get_theirs_back(monkeypatch):
    monkeypatch.setattr(LocalCluster, "start_head", lambda *_: None)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    try:
        with LocalCluster(workers=0):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            with pytest.raises(SystemExit):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is before[1]
    finally:
        signal.signal(signal.SIGHUP, before[0])
