"""One worker node of a cluster on this machine: a raylet on 127.0.0.1 that lives as long as this process.

    python -m cluster.testing.worker_node --address 127.0.0.1:46379 --cpus 2 --temp-dir /tmp/node_1

`ray start --address` cannot do this: it refuses to run while clusters of several machines are disabled, and they must
be disabled to keep all of Ray on the loopback address (see README.md).
"""

import argparse
import signal
import sys
import time
from typing import Any

from rl_models.rllib.private_ray import start_node


def main() -> int:
    """Join the cluster, then wait for a signal or for the end of the raylet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--address", required=True, help="HOST:PORT of the head node")
    add("--cpus", type=int, required=True, help="number of CPUs that this node offers")
    add("--temp-dir", required=True, help="folder of this node; nodes delete each other's jobs in a shared one")
    add("--object-store-bytes", type=int, default=150 * 2**20, help="object store size in bytes")
    words = parser.parse_args()
    node = start_node(**_parameters(words))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"node of {words.cpus} CPUs joined {words.address}", flush=True)
    while not node.dead_processes():
        time.sleep(0.5)
    print(f"ended: {node.dead_processes()}", flush=True)
    return 1


def _parameters(words: argparse.Namespace) -> dict[str, Any]:
    return dict(
        gcs_address=words.address,
        node_ip_address="127.0.0.1",
        temp_dir=words.temp_dir,
        num_cpus=words.cpus,
        num_gpus=0,
        resources={},
        object_store_memory=words.object_store_bytes,
        # 0 and None let the system choose free ports, because several nodes share this machine.
        node_manager_port=0,
        dashboard_agent_listen_port=None,
        min_worker_port=0,
        max_worker_port=0,
        include_log_monitor=False,
    )


if __name__ == "__main__":
    sys.exit(main())
