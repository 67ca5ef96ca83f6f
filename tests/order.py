"""Which files of tests run first: those that take longest, so that no worker is left alone with one of them at the end.

xdist hands out whole files, in the order of collection (`--dist loadfile --no-loadscope-reorder`), those of the
fixture `ray_session` together, so that one worker starts Ray, and those that play MiniRTS, whose kernels take a minute
to compile, so that one worker compiles them. How long a file takes follows, roughly, from the marks of
its tests, so nobody keeps a list.
"""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SECONDS = {"slow": 60.0, "cluster": 30.0, "ray": 10.0, "browser": 10.0, "processes": 4.0, "long": 3.0}
"""Mark -> what a test with it takes, roughly; any other test takes a tenth of a second."""


@pytest.hookimpl(trylast=True)  # of the tests that -m and -k have left
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files by what they take, longest first; tests of a file, and files that take as long, stay in order."""
    seconds: Counter[str] = Counter()
    for item in items:
        marks = [SECONDS[mark.name] for mark in item.iter_markers() if mark.name in SECONDS]
        seconds[_file(item)] += max(marks, default=0.1)
    items.sort(key=lambda item: -seconds[_file(item)])


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]


@pytest.hookimpl(optionalhook=True)  # unknown without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out the files of `ray_session` as one, and those that play MiniRTS."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            if _has_ray_session(file):
                return "ray"
            return "minirts" if any(part in file for part in ("minirts", "/red/")) else file

    return Together(config, log)


@functools.cache
def _has_ray_session(file: str) -> bool:
    """Whether a file of tests, or the `conftest.py` beside it, names the fixture."""
    paths = Path(file), Path(file).with_name("conftest.py")
    return any(path.is_file() and "ray_session" in path.read_text(encoding="utf-8") for path in paths)
