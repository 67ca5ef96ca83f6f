"""Drills on what goes wrong inside a process: a world that raises or hangs, a gradient that is not a number."""

from __future__ import annotations

import functools
import itertools
import math
import os
import secrets
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from cluster.testing.fault_injection.faulty import AT_UPDATE, FAULTS
from cluster.testing.fault_injection.report import Finding
from cluster.testing.local_cluster import ROOT, LocalCluster
from cluster.testing.submission import TrialFolder
from rl_models.training.checkpoint import load_checkpoint, newest_whole_checkpoint

__all__ = ["DRILLS", "FRAGMENT_SECONDS"]

FRAGMENT_SECONDS = 15
"""How long a fragment may take on the drills' cluster; 540 s elsewhere."""
_SEEN = {
    "world_raises": "the traceback in the runner's log; RLlib starts the runner anew and it begins new episodes",
    "world_hangs": f"where it hangs, in the runner's log, after {FRAGMENT_SECONDS} s (else 540); its process ends",
    "nan_gradient": "learner/skipped_update 1 in the log and in TensorBoard",
}


def inside(fault: str, cluster: LocalCluster) -> Finding:
    """Train with the fault built in, and look at the log that it leaves."""
    folder = cluster.home / f"{fault}_{secrets.token_hex(3)}"
    folder.mkdir()
    environment = {**os.environ, **cluster.environment, "RAY_ADDRESS": cluster.address, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "cluster.testing.fault_injection.faulty", fault, str(folder)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=900)
    trial = TrialFolder(folder)
    if done.returncode or not trial.rows():
        return Finding(fault.replace("_", " "), 0, math.nan, done.stderr.strip()[-300:], False)
    times = [row["wall_time"] for row in trial.rows()]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    is_whole = trial.is_finished() and _happened(fault, folder.name, trial)
    return Finding(fault.replace("_", " "), 0, max(gaps, default=math.nan), _SEEN[fault], is_whole)


def _happened(fault: str, name: str, trial: TrialFolder) -> bool:
    """Whether the fault struck, and left finite weights behind."""
    newest = newest_whole_checkpoint(trial.path / "checkpoints")
    assert newest is not None, f"{name} has no checkpoint"
    weights = load_checkpoint(newest).tensors["weights"]
    is_finite = all(bool(np.isfinite(np.asarray(value)).all()) for value in weights.values())
    if fault != "nan_gradient":
        return is_finite and (trial.path / "fault_happened").exists()
    skipped = [row for row in trial.rows() if row.get("learner/skipped_update")]
    return is_finite and bool(skipped) and trial.rows()[-1]["progress/updates"] > AT_UPDATE


DRILLS: dict[str, Callable[[LocalCluster], Finding]] = {fault: functools.partial(inside, fault) for fault in FAULTS}
