"""Wait until the cluster in RAY_ADDRESS has this number of nodes: `python -m cluster.await_nodes 3`."""

import sys
import time

from tune_experiments.core.errors import UserError, exits_with_one_sentence

SECONDS = 300.0


@exits_with_one_sentence
def main() -> int:
    """Poll until the cluster has all its nodes.

    Raises UserError where a node is still missing after `SECONDS`.
    """
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        raise UserError("write python -m cluster.await_nodes NUMBER")
    wanted, deadline, status = int(sys.argv[1]), time.monotonic() + SECONDS, "no answer"
    while time.monotonic() < deadline:
        try:
            there = _nodes()
        except Exception as error:  # the head is still starting
            status = str(error).strip().split("\n")[0]
        else:
            status = f"{there} of {wanted} nodes are there"
            if there >= wanted:
                print(status, flush=True)
                return 0
        time.sleep(2)
    raise UserError(f"the cluster is not complete after {SECONDS:.0f} s ({status}); see the logs of its nodes")


def _nodes() -> int:
    import ray

    ray.init(log_to_driver=False, logging_level="ERROR")
    try:
        return sum(node["Alive"] for node in ray.nodes())
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
