"""What all tests share: one thread an operation, one Ray session for those that need a cluster, and patience."""

import functools
import gc
import inspect
import os
import secrets
import sys

# Read when torch and Ray are imported, so set before: several processes share the cores, Ray must not look for a
# cluster elsewhere, and the one that these tests start answers to nobody who does not know their token. Ray's workers
# are as urgent as the tests that wait for them, and may be slow to start: by default they stand back, hardly run on a
# busy machine, and are given up after a minute.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAY_worker_niceness", "0")
os.environ.setdefault("RAY_worker_register_timeout_seconds", "600")
os.environ.setdefault("RAY_agent_register_timeout_ms", "600000")
os.environ.setdefault("RAY_raylet_start_wait_time_s", "600")
# A learner whose thread has died never leaves its process group, and is killed after this many seconds instead of 30.
os.environ.setdefault("TORCH_PROCESS_GROUP_SHUTDOWN_TIMEOUT_S", "1")
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ.pop("RAY_ADDRESS", None)
# Tests are of the CPU and of a GPU that they emulate, on every machine alike. `make gpu` runs those of a real one.
if "CONCORD_GPU_TESTS" not in os.environ:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

import hypothesis
import pytest

pytest_plugins = ["tests.tiers", "tests.order", "pytester"]

# RLlib asks for the whole stack in every connector that it builds; lines of source would take a tenth of a second each.
inspect.stack = functools.partial(inspect.stack, 0)
# tyro looks up the source of every class of a configuration for every command line, and its file is parsed each time.
inspect.getsource = functools.cache(inspect.getsource)

# The same examples every time, however long the machine takes over each.
hypothesis.settings.register_profile("concord", deadline=None, derandomize=True)
hypothesis.settings.load_profile("concord")


def pytest_collection_finish():
    """Exclude the imported modules from garbage collection, which would visit them again and again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup():
    """Whoever draws without a seed draws the same, whichever tests this process has run before."""
    if torch := sys.modules.get("torch"):  # whose own function looks at the whole stack for each kind of accelerator
        (torch.manual_seed if "CONCORD_GPU_TESTS" in os.environ else torch.default_generator.manual_seed)(0)


@pytest.fixture(scope="session", autouse=True)
def models_folder(tmp_path_factory):
    """Small language models and encodings lie in temporary folders, so that nobody's cache grows.

    The processes of pytest-xdist share the folder of the models, so that each is trained once.
    """
    own = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "language_models"
        patch.setenv("CONCORD_LANGUAGE_MODELS", str(folder))
        patch.setenv("CONCORD_ENCODINGS", str(tmp_path_factory.mktemp("encodings")))
        yield


@pytest.fixture(scope="session")
def real_model():
    """Name of a model of the catalog -> the same name; skips a test where the model was not fetched."""
    from rl_models.hub.catalog import CATALOG

    def need(name):
        if not CATALOG[name].is_present:
            pytest.skip(f"{name} is not on this machine: run `concord models fetch {name}`")
        return name

    return need


@pytest.fixture(scope="session")
def ray_session(models_folder):
    """A local cluster of our own with four logical CPUs."""
    import ray

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()
