"""`make cluster`: a smoke experiment on three nodes on this machine, one of which is killed during training.

The command starts a head and two worker nodes as separate raylets. It checks that the cluster refuses a missing and a
wrong token, submits the experiment, kills the worker node that trains it, waits until the job ends with its table, and
ends every process that it started.
"""

import argparse
import sys
import time
from collections.abc import Callable

from cluster.testing.local_cluster import LocalCluster, wait_until
from cluster.testing.processes import listeners, marked
from cluster.testing.submission import WRONG_TOKENS, Submission, TrialFolder, refusal

EXPERIMENT, METHOD = "furnmove_sync", "sync_13_cordial"
FLAGS = ["--preset", "smoke", "--methods", METHOD, "--budget-env-steps", "4000", "--checkpoint-every-env-steps", "640"]
TRIAL_PROCESS = "ray::ImplicitFunc"
"""Ray's name for the process of a trial."""


def main() -> int:
    """Run all steps; 0 if each of them succeeded."""
    argparse.ArgumentParser(prog="python -m cluster.testing.three_nodes", description=__doc__).parse_args()
    begun = time.monotonic()

    def print_fn(sentence: str) -> None:
        print(f"[{time.monotonic() - begun:5.0f} s] {sentence}", flush=True)

    print_fn("starting a head and two worker nodes")
    with LocalCluster(workers=2, cpus_per_worker=2) as cluster:
        name = cluster.name
        print_fn(f"up at {cluster.api_address}: {len(marked(name))} processes")
        print_fn(_addresses(cluster))
        refusals = {
            description: refusal(cluster, EXPERIMENT, FLAGS, token) for description, token in WRONG_TOKENS.items()
        }
        for description, sentence in refusals.items():
            print_fn(f"with {description}: {sentence or 'the job was accepted, or refused without a message'}")
        job = Submission(cluster, EXPERIMENT, FLAGS, cluster.home / "results")
        trial = job.trial(f"{METHOD}-seed0")
        try:
            _lose_a_node(job, trial, print_fn)
            code = job.wait()
        finally:
            job.process.kill()
            print(job.printed, flush=True)
        print_fn(f"the job ended with exit code {code} after {trial.env_steps():,} env steps")
        steps = [int(row["env_steps"]) for row in trial.rows()]
        print_fn(f"its log has {len(steps)} rows, {len(steps) - len(set(steps))} of them double")
        is_whole = code == 0 and trial.is_finished() and len(steps) == len(set(steps)) and all(refusals.values())
        home = cluster.home
    print_fn(f"stopped: {len(marked(name))} processes left, {home} {'left' if home.exists() else 'removed'}")
    return 0 if is_whole and not marked(name) else 1


def _lose_a_node(job: Submission, trial: TrialFolder, print_fn: Callable[[str], None]) -> None:
    job.wait_for_checkpoint(trial)
    node = next(node for node in job.processes(TRIAL_PROCESS).values())
    at, saved = trial.env_steps(), trial.saved()
    killed = job.cluster.kill_node(node)
    print_fn(f"killed {node} ({killed} processes) at {at:,} env steps; the newest checkpoint is of {saved:,}")
    seconds = wait_until(lambda: trial.env_steps() > at or trial.is_finished(), 300, "training did not continue")
    print_fn(f"training passed that point {seconds:.0f} s later, on {set(job.processes(TRIAL_PROCESS).values())}")


def _addresses(cluster: LocalCluster) -> str:
    found = listeners(marked(cluster.name))
    elsewhere = sorted({address for address, _ in found} - {"127.0.0.1", "::1"})
    return f"{len(found)} sockets listen, all on loopback" if not elsewhere else f"listens on {elsewhere}"


if __name__ == "__main__":
    sys.exit(main())
