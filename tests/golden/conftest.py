"""What is not replayed of GOLDEN_DIR is never silent: skipped by name, or a failure where it was asked for."""

import os
import re
from pathlib import Path

import pytest

REPLAYS_NOTHING = pytest.StashKey[bool]()


def pytest_configure(config):
    config.addinivalue_line("markers", "unreplayed(world, reason): GOLDEN_DIR holds nothing of it that can be replayed")


def pytest_collection_finish(session):
    """Note whether none of the selected tests replays a file of GOLDEN_DIR."""
    golden = os.environ.get("GOLDEN_DIR")
    paths = [parameters_of(item).get("path") for item in session.items]
    replayed = [path for path in paths if isinstance(path, Path) and golden and Path(golden) in path.parents]
    session.config.stash[REPLAYS_NOTHING] = bool(golden) and not replayed


def pytest_runtest_setup(item):
    for mark in item.iter_markers("unreplayed"):
        world, reason = mark.args
        if world.lower() in re.sub(r"\bnot \S+", "", item.config.option.keyword.lower()):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    if item.config.stash[REPLAYS_NOTHING] and "path" in parameters_of(item):
        said = f"nothing in GOLDEN_DIR={os.environ['GOLDEN_DIR']} is replayed by the tests that were asked for"
        pytest.fail(said, pytrace=False)


def parameters_of(item):
    return item.callspec.params if hasattr(item, "callspec") else {}
