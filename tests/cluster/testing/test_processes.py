"""Processes are found by their mark, and listening sockets are read from the kernel."""

import os
import socket
import subprocess
import sys

import pytest

from cluster.testing.local_cluster import LocalCluster, wait_until
from cluster.testing.processes import MARK, command_line, is_alive, kill_marked, listeners, marked
from tests.private_ray import SETTING_OF_TITLE
from tests.timeouts import TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="looks into /proc")


WAITS = "import threading; threading.Event().wait()"


def start(mark, code=WAITS):
    return subprocess.Popen([sys.executable, "-c", code], env=os.environ | {MARK: mark})


@pytest.mark.processes
def test_only_processes_with_the_mark_are_found_and_killed():
    name = f"test_{os.getpid()}"
    ours, other_node, other_cluster = start(f"{name}/worker_1"), start(f"{name}/worker_10"), start(f"{name}0/worker_1")
    try:
        wait_until(lambda: set(marked(name)) == {ours.pid, other_node.pid}, TIMEOUT_SECONDS, "two processes")
        assert WAITS in command_line(ours.pid)
        assert kill_marked(f"{name}/worker_1") == 1
        assert ours.wait(TIMEOUT_SECONDS) < 0
        assert is_alive(other_node.pid)
        assert is_alive(other_cluster.pid)
        assert kill_marked(name) == 1
        assert marked(name) == []
        assert is_alive(other_cluster.pid)
    finally:
        for process in (ours, other_node, other_cluster):
            process.kill()
            process.wait()


@pytest.mark.processes
def test_a_ray_process_that_sets_its_title_keeps_the_mark():
    """By default a title overwrites the environment, and a process without its mark is neither found nor killed."""
    cluster = LocalCluster(workers=0)
    title = "ray::DashboardAgent"
    code = f"{SETTING_OF_TITLE.format(title=title)}; import time; time.sleep(100_000)"
    process = cluster.start_process("head", [sys.executable, "-c", code])
    try:
        wait_until(lambda: command_line(process.pid) == title, TIMEOUT_SECONDS, "its title")
        assert marked(cluster.mark("head")) == [process.pid]
        assert cluster.nodes() == ["head"]
        assert cluster.kill_node("head") == 1
    finally:
        process.kill()
        process.wait()
        cluster.stop()


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_listening_sockets_are_found_with_their_address(family, address):
    with socket.socket(family) as one:
        try:
            one.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no {address}")
        assert (address, one.getsockname()[1]) not in listeners([os.getpid()])
        one.listen()
        assert (address, one.getsockname()[1]) in listeners([os.getpid()])
        assert listeners([]) == []
