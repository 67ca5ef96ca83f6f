"""What all tests share: one thread an operation, and one Ray session for those that need a cluster."""

import os
import secrets

# Read when torch and Ray are imported, so set before: several processes share the cores, Ray must not look for a
# cluster elsewhere, and the one that these tests start answers to nobody who does not know their token. Ray's workers
# are as urgent as the tests that wait for them: by default they stand back, and on a busy machine hardly run at all.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_worker_niceness", "0")
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ.pop("RAY_ADDRESS", None)

import pytest

pytest_plugins = ["tests.tiers", "pytester"]


@pytest.fixture(scope="session", autouse=True)
def models_folder(tmp_path_factory):
    """Small language models lie in one temporary folder, so that each is trained once and nobody's cache grows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONCORD_LANGUAGE_MODELS", str(tmp_path_factory.mktemp("language_models")))
        yield


@pytest.fixture(scope="session")
def ray_session(models_folder):
    """A local cluster of our own with four logical CPUs."""
    import ray

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()
