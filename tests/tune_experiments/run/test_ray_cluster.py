"""A cluster that a run starts has a token and binds to loopback, also where an environment has imported Ray before."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, os, sys
if "first" in sys.argv:
    import ray
import psutil
from tune_experiments.run.ray_cluster import ray_cluster
with ray_cluster(1) as joined:
    mode = joined.get(joined.remote(lambda: os.environ["RAY_AUTH_MODE"]).remote())
    here = psutil.Process()
    found = [one for process in (here, *here.children(True)) for one in process.net_connections("inet")]
    print(json.dumps([mode, [one.laddr.ip for one in found if one.status == "LISTEN"]]))
"""


@pytest.mark.processes
@pytest.mark.parametrize("order", ["first", "last"])
def test_a_cluster_started_here_needs_a_token_and_listens_to_loopback_alone(order):
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_AUTH", "RAY_ENABLE"))}
    command = [sys.executable, "-c", PROGRAM, order]
    done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=300, check=True)
    mode, addresses = json.loads(done.stdout.splitlines()[-1])
    assert mode == "token" and {one.removeprefix("::ffff:") for one in addresses} == {"127.0.0.1"}
