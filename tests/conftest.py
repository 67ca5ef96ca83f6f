"""What all tests share: one thread an operation, and one Ray session for those that need a cluster."""

import os
import secrets

# Before torch and Ray are imported: several processes share the cores, and Ray must not look for a cluster elsewhere.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

import pytest


@pytest.fixture(scope="session")
def ray_session():
    """A local cluster of our own with four logical CPUs, behind a token that only these tests know."""
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    os.environ.pop("RAY_ADDRESS", None)
    import ray

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()
