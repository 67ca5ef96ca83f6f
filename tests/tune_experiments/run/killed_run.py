"""A run of which all processes are killed in the middle and that is continued, beside one that was left alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.testing.local_cluster import wait_until
from cluster.testing.processes import MARK, kill_marked
from tests.private_ray import setup_hook_variable
from tests.timeouts import TIMEOUT_SECONDS
from tests.tune_experiments.run.halting import HALTED, HALTS_AT
from tests.tune_experiments.run.in_process import no_pictures, trials_in_process
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.launch.experiment import main
from tune_experiments.results.trial_log import read_metrics

ROOT = Path(__file__).parents[3]
# Episodes of 15 steps and fragments of 10: the kill falls into the middle of episodes.
SETTINGS = {
    "preset": "smoke",
    "methods": "sync_13_cordial",
    "max-episode-steps": 15,
    "budget-env-steps": 1280,
    "checkpoint-every-env-steps": 320,
    "validate-every-env-steps": 800,
    "valid-starts-per-room": 1,
    "test-starts-per-room": 2,
}
FLAGS = [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]
ROWS = 8
KILLED_AT = 800
TRIAL = "trials/sync_13_cordial-seed0"


def start(out, log, **more):
    """Start the script in a process group of its own; all its processes carry `out` in their environment."""
    # Without SPT_NOENV Ray's processes write their titles over their environment, and so over our mark.
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "SPT_NOENV": "1"}
    environment = os.environ | fixed | {MARK: str(out)} | more
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, str(ROOT / "tune_experiments" / "furnmove_sync.py"), *FLAGS, "--out", str(out)]
    return subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment, start_new_session=True)


def finish(out):
    """Run the script's command to its end."""
    assert main(find_experiment("furnmove_sync"), [*FLAGS, "--out", str(out)]) == 0


def kill_in_the_middle(out, tries=3):
    """Run the command and kill all of its processes while it halts, two checkpoints and a row on.

    Where Ray does not start, on a very busy machine, the command says to run it again.
    """
    halted = out.with_suffix(".halted")
    halting = {
        setup_hook_variable(): "tests.tune_experiments.run.halting.halts_after_a_row",
        HALTS_AT: str(KILLED_AT),
        HALTED: str(halted),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with (out.parent / f"{out.name}.killed.log").open("w") as log:
        process = start(out, log, **halting)
        try:
            wait_until(lambda: halted.exists() or process.poll() is not None, TIMEOUT_SECONDS, "it did not halt")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kill_marked(str(out))  # Ray's own processes have left the group
    if not halted.exists():
        assert tries > 1 and "Ray did not start" in Path(log.name).read_text(), f"it ended on its own: {log.name}"
        kill_in_the_middle(out, tries - 1)


@pytest.fixture(name="runs", scope="module")
def unbroken_and_continued(ray_session, tmp_path_factory):
    """(unbroken, continued) run folders; only what is killed runs in processes of its own, by Tune."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("finds the processes of a run in /proc")
    unbroken, broken = (tmp_path_factory.mktemp("runs") / name for name in ("unbroken", "broken"))
    kill_in_the_middle(broken)
    assert not (broken / TRIAL / "test_results.json").exists()
    rows = read_metrics(broken / TRIAL / "metrics.jsonl")
    assert [row["env_steps"] for row in rows] == list(range(160, KILLED_AT + 1, 160))
    with trials_in_process(), no_pictures():
        finish(broken)
        finish(unbroken)
    return unbroken, broken
