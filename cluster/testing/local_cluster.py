"""A cluster on this machine, for tests and demonstrations: a head and worker nodes, one raylet each.

All nodes listen on free ports of 127.0.0.1 and require a token of this cluster, so several clusters can run on one
machine. A node can be killed with all its processes. Every process has a mark and is ended by process id: `ray stop`
would end every Ray process on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from cluster.testing.processes import MARK, kill_marked

ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 180.0
_OBJECT_STORE_BYTES = 150 * 2**20
_ENDS = (signal.SIGTERM, signal.SIGHUP)


class LocalCluster:
    """A running cluster; as a context manager it ends all its processes and removes its files.

    Args:
        workers: number of worker nodes at the start.
        cpus_per_worker: CPUs that each worker node offers.
        environment: more environment variables of all nodes, and so of every process on them.

    Attributes:
        address: `127.0.0.1:PORT` for `ray.init`.
        api_address: `http://127.0.0.1:PORT` for job submission.
        environment: environment variables of a client: address, token and the switch to loopback.
    """

    def __init__(
        self, workers: int = 2, cpus_per_worker: int = 2, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = f"cluster_{secrets.token_hex(4)}"
        self.home = Path(tempfile.mkdtemp(prefix="concord_"))
        self.workers, self._cpus = workers, cpus_per_worker
        gcs, dashboard, *self._agent_ports = free_ports(4)
        self.address, self.api_address = f"127.0.0.1:{gcs}", f"http://127.0.0.1:{dashboard}"
        self.environment = _client_environment(self.api_address)
        # Without SPT_NOENV Ray's agents write their titles over their environment, and so over our mark.
        self._node_environment = {**os.environ, **self.environment, "SPT_NOENV": "1", **(environment or {})}
        self._node_environment.pop("RAY_ADDRESS", None)
        # Jobs call `python`: it must be the interpreter that has Ray.
        here = str(Path(sys.executable).parent)
        self._node_environment["PATH"] = f"{here}{os.pathsep}{self._node_environment['PATH']}"
        self._number = 0

    def __enter__(self) -> LocalCluster:
        with ExitStack() as stack:
            stack.enter_context(_ending_on_signals())
            stack.callback(self.stop)
            self.start_head()
            for _ in range(self.workers):
                self.add_worker()
            self._ends = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def start_head(self, starts: int = 3) -> None:
        """Start the head at the cluster's address and wait until it accepts jobs.

        Ray gives a raylet 30 s, too short on a busy machine, so there are several tries; RuntimeError if all fail.
        """
        client, agent = self._agent_ports
        port, dashboard = self.address.rpartition(":")[2], self.api_address.rpartition(":")[2]
        flags = {
            "node-ip-address": "127.0.0.1",
            "port": port,
            "dashboard-host": "127.0.0.1",
            "dashboard-port": dashboard,
            "dashboard-agent-listen-port": agent,
            "ray-client-server-port": client,
            "num-cpus": 0,  # no trials on the head, so that their faults cannot end it
            "object-store-memory": _OBJECT_STORE_BYTES,
            "temp-dir": tempfile.mkdtemp(prefix="head_", dir=self.home),
        }
        words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
        starter = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
        process = self.start_process("head", [*starter, *words])
        try:
            self._wait(process, "head", self._takes_jobs)
        except RuntimeError:
            self.kill_node("head")
            if starts <= 1:
                raise
            self.start_head(starts - 1)

    def add_worker(self, starts: int = 3) -> str:
        """Start a worker node in at most `starts` tries, and return its name when it has joined."""
        self._number += 1
        name = f"worker_{self._number}"
        words = ["--address", self.address, "--cpus", str(self._cpus), "--temp-dir", str(self.home / name)]
        words += ["--object-store-bytes", str(_OBJECT_STORE_BYTES)]
        process = self.start_process(name, [sys.executable, "-m", "cluster.testing.worker_node", *words])
        try:
            self._wait(process, name, lambda: f"joined {self.address}" in self.log(name))
        except RuntimeError:
            self.kill_node(name)
            if starts <= 1:
                raise
            return self.add_worker(starts - 1)
        return name

    def kill_node(self, name: str) -> int:
        """Kill all processes of a node at once; returns their number."""
        return kill_marked(self.mark(name))

    def mark(self, node: str) -> str:
        """The mark that all processes of a node carry."""
        return f"{self.name}/{node}"

    def nodes(self) -> list[str]:
        """Names of all nodes, killed ones included."""
        return sorted(path.stem for path in self.home.glob("*.log") if re.fullmatch(r"head|worker_\d+", path.stem))

    def log(self, node: str) -> str:
        """Output of the process that started a node."""
        path = self.home / f"{node}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def stop(self) -> None:
        """Kill every process of this cluster and remove its files, ignoring signals."""
        _ignore_signals()
        kill_marked(self.name)
        shutil.rmtree(self.home, ignore_errors=True)

    def start_process(self, node: str, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a process that carries the mark of a node; its output is the node's log."""
        environment = self._node_environment | {MARK: self.mark(node)}
        with (self.home / f"{node}.log").open("wb") as log:
            null = subprocess.DEVNULL
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, stdin=null)

    def _wait(self, process: subprocess.Popen[bytes], node: str, is_ready: Callable[[], bool]) -> None:
        def look() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{node} ended while it started:\n{self.log(node)[-2000:]}")
            return is_ready()

        wait_until(look, _START_SECONDS, f"{node} is not up; its log is {self.home / f'{node}.log'}")

    def _takes_jobs(self) -> bool:
        """Whether the head answers a listing of jobs; its dashboard starts before its job agent."""
        command = [sys.executable, "-m", "cluster.submit", "list"]
        done = subprocess.run(command, env=os.environ | self.environment, cwd=ROOT, capture_output=True)
        return done.returncode == 0


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[None]:
    """In this context SIGTERM and SIGHUP call `sys.exit`, so that contexts are closed; ignored signals stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _end(number: int, frame: Any) -> None:
    _ignore_signals()
    sys.exit(128 + number)


def _ignore_signals() -> None:
    if threading.current_thread() is threading.main_thread():
        for number in _ENDS:
            if signal.getsignal(number) is _end:
                signal.signal(number, signal.SIG_IGN)


def _client_environment(api_address: str) -> dict[str, str]:
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_API_SERVER_ADDRESS": api_address,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "OMP_NUM_THREADS": "1",
    }


def free_ports(count: int) -> list[int]:
    """`count` different ports of 127.0.0.1 on which no process listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: str) -> float:
    """Poll until `holds()` is true; returns the seconds that it took.

    Raises TimeoutError where it was not true within `seconds`; the message ends with `otherwise`.
    """
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            raise TimeoutError(f"after {seconds:g} s: {otherwise}")
        time.sleep(0.2)
    return time.monotonic() - begun


def main() -> None:
    """Keep a cluster up until it is told to end: `python -m cluster.testing.local_cluster`."""
    argparse.ArgumentParser(prog="python -m cluster.testing.local_cluster", description=__doc__).parse_args()
    with LocalCluster(workers=2, cpus_per_worker=2) as cluster:
        for name in ("RAY_API_SERVER_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            print(f"export {name}={cluster.environment[name]}")
        print(f"# two nodes of two CPUs, files in {cluster.home}; Control-C or a closed terminal ends it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
