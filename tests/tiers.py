"""The check tier: what a test may start follows from its marks, and a test that starts more fails.

`make check` runs the tests without any of the marks below; they start neither Ray nor a process. This pytest plugin
sets the mark that follows from a rule, and watches all other tests in every tier: a test that starts a process fails,
also where the code under test swallows the refusal. Ray cannot start without a process.

It also keeps in pytest's cache how long each test took, so that `--max-cpu-seconds` can leave out those that are known
to take longer: `make check` is fast from its second run on.
"""

from __future__ import annotations

import multiprocessing.util
import sys
import time
from collections.abc import Generator
from typing import Any, ClassVar

import pytest

MAY_START_PROCESSES = frozenset({"ray", "cluster", "browser", "slow", "models", "processes"})
"""A test with one of these marks is not in the check tier."""
_MARKED_BY = {"ray_session": "ray", "real_model": "models"}
"""Marks that follow from a fixture, fixture -> mark."""
_EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"})
_PROBES = frozenset({"fc-list", "git", "nvidia-smi", "uname"})
"""Programs that answer at once: what a run's manifest and libraries ask about the checkout and the machine. matplotlib
asks for the fonts where it has no list of them yet."""

_SECONDS = "concord/cpu_seconds"
"""Key of CPU-seconds, of a test with its fixtures, in reports and in pytest's cache. The cache keeps the fewest of all
runs of a test, because the first test of a process imports for the others."""


class ProcessRefusedError(RuntimeError):
    """A test without a mark starts a process."""


class _Watch:
    """What the running test has started although it must not (None while processes are allowed), and past ones took."""

    started: list[str] | None = None
    is_set = False
    seconds: ClassVar[dict[str, float]] = {}


def _refuse(what: str) -> None:
    if _Watch.started is not None:
        _Watch.started.append(what)
        raise ProcessRefusedError(f"{what}: mark this test `processes` or `ray`, or start nothing")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _EVENTS and arguments[:1] not in {(probe,) for probe in _PROBES}:
        _refuse(f"{event} {arguments[:2]}")


def pytest_configure() -> None:
    """Hear of every process that this interpreter starts, for good; a pytest inside a test finds the watch set."""
    if _Watch.is_set:
        return
    _Watch.is_set = True
    spawn = multiprocessing.util.spawnv_passfds  # the one way without an audit event

    def spawnv_passfds(path: Any, arguments: Any, descriptors: Any) -> int:
        _refuse(f"multiprocessing {arguments}")
        return spawn(path, arguments, descriptors)

    multiprocessing.util.spawnv_passfds = spawnv_passfds
    sys.addaudithook(_audit)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the limit of the check tier."""
    help_text = "leave out tests that took more CPU-seconds in every run that pytest's cache knows"
    parser.addoption("--max-cpu-seconds", type=float, help=help_text)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark a test by the fixtures that it uses, itself or through another fixture; leave out what takes too long."""
    for item in items:
        for fixture, mark in _MARKED_BY.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
    cache, limit = getattr(config, "cache", None), config.getoption("max_cpu_seconds")
    if cache and limit is not None:
        seconds = cache.get(_SECONDS, {})
        config.hook.pytest_deselected(items=[item for item in items if seconds.get(item.nodeid, 0) > limit])
        items[:] = [item for item in items if seconds.get(item.nodeid, 0) <= limit]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a test took, 0 if it failed, so that it is run again; with pytest-xdist in its main process, too."""
    if report.when == "call":
        took = sum(value for name, value in report.user_properties if name == _SECONDS)
        _Watch.seconds[report.nodeid] = 0.0 if report.failed else took


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what the tests took, in the main process."""
    cache = getattr(session.config, "cache", None)
    if cache and not hasattr(session.config, "workerinput"):
        known = cache.get(_SECONDS, {})
        least = {test: min(seconds, known.get(test, seconds)) for test, seconds in _Watch.seconds.items()}
        cache.set(_SECONDS, known | least)


def _watched(item: pytest.Item) -> Generator[None, Any, Any]:
    before, started, begun = _Watch.started, [], time.process_time()
    _Watch.started = None if any(map(item.get_closest_marker, MAY_START_PROCESSES)) else started
    try:
        result = yield
    finally:
        _Watch.started = before
        item.user_properties.append((_SECONDS, time.process_time() - begun))
    if started:
        raise ProcessRefusedError(f"{started[0]}: mark this test `processes` or `ray`, or start nothing")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the fixtures."""
    return (yield from _watched(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the test."""
    return (yield from _watched(item))
