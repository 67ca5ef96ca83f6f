"""The Slurm script, run with stand-ins for Slurm and for Python that write down how they were called."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cluster.testing.local_cluster import wait_until
from tests.timeouts import TIMEOUT_SECONDS

pytestmark = pytest.mark.processes

SCRIPT = Path(__file__).resolve().parents[2] / "cluster" / "slurm" / "concord.sbatch"
TOKEN = "a" * 64

STAND_INS = {
    "scontrol": """[ "$1" = show ] && printf 'node1\\nnode2\\nnode3\\n'; echo "scontrol $*" >> "$CALLS" """,
    "srun": """echo "srun ${RAY_AUTH_MODE} ${RAY_AUTH_TOKEN} $*" >> "$CALLS"
echo $$ >> "$CALLS.steps"
exec sleep infinity""",
    "python": """case "$1 $2" in
  "-c import"*) echo "$TOKEN";;
  "-m cluster.await_nodes")
    # Until both steps have begun: the one of the head and the one of the other nodes.
    until [ "$(cat "$CALLS.steps" 2>/dev/null | wc -l)" = 2 ]; do sleep 0.05; done
    echo "await $3 $RAY_ADDRESS" >> "$CALLS";;
  *) echo "run $* $RAY_ADDRESS" >> "$CALLS"; exec sh -c "$RUN";;
esac""",
}


@pytest.fixture
def start(tmp_path):
    """`start(what the experiment does) -> process`, whose calls are written into tmp_path / "calls"."""
    for name, text in STAND_INS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(tmp_path / "calls"),
        "CONCORD_PYTHON": str(tmp_path / "python"),
        "TOKEN": TOKEN,
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NUM_NODES": "3",
        "SLURM_JOB_NODELIST": "node[1-3]",
        "SLURM_CPUS_PER_TASK": "8",
    }

    begun = []

    def begin(run):
        words = ["bash", str(SCRIPT), "matrix_game", "--preset", "smoke"]
        process = subprocess.Popen(
            words, env=environment | {"RUN": run}, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        with contextlib.suppress(ProcessLookupError):  # all of it has ended, as it should
            os.killpg(process.pid, signal.SIGKILL)


def steps_that_run(tmp_path):
    pids = (tmp_path / "calls.steps").read_text().split()
    return [pid for pid in pids if Path(f"/proc/{pid}/status").exists()]


@pytest.mark.parametrize("code", [0, 3])
def test_it_makes_one_cluster_runs_the_experiment_and_ends_with_its_code(start, tmp_path, code):
    process = start(f"exit {code}")
    assert process.wait(TIMEOUT_SECONDS) == code, process.stderr.read()
    calls = (tmp_path / "calls").read_text().splitlines()
    head, workers = sorted((line for line in calls if line.startswith("srun ")), key=lambda line: "--head" not in line)
    assert "--nodelist=node1" in head
    assert head.startswith(f"srun token {TOKEN} ")
    assert workers.startswith(f"srun token {TOKEN} ")
    assert "--port 24711" in head
    assert "--nodes=2 --ntasks=2 --exclude=node1" in workers
    assert "--address node1:24711" in workers
    for line in (head, workers):
        assert TOKEN not in line.split(" ", 3)[3], "a command line can be read by everybody on the node"
    assert "await 3 node1:24711" in calls
    assert "run tune_experiments/matrix_game.py --preset smoke node1:24711" in calls
    assert steps_that_run(tmp_path) == []


def test_before_the_time_limit_the_run_is_ended_and_queued_again(start, tmp_path):
    calls, is_ready = tmp_path / "calls", tmp_path / "is_ready"
    process = start(f"trap 'echo ended >> {calls}; exit 143' TERM; touch {is_ready}; while :; do sleep 0.1; done")
    wait_until(lambda: is_ready.exists() or process.poll() is not None, TIMEOUT_SECONDS, "no experiment began")
    process.send_signal(signal.SIGUSR1)
    assert process.wait(TIMEOUT_SECONDS) != 0
    assert calls.read_text().splitlines()[-2:] == ["ended", "scontrol requeue 4711"]
    assert steps_that_run(tmp_path) == []


def test_it_asks_for_an_experiment():
    done = subprocess.run(["bash", str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode != 0
    assert "furnmove_sync" in done.stderr
