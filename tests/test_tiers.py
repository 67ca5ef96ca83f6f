"""A test of the check tier can start neither Ray nor a process without failing."""

import re
from pathlib import Path

import pytest

from tests.tiers import MAY_START_PROCESSES

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
import pytest

pytest_plugins = ["tests.tiers"]

@pytest.fixture
def ray_session():
    pass
"""
HEAD = "import multiprocessing, os, subprocess, sys\nimport pytest\n"


@pytest.fixture
def outcomes(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(body, *arguments):
        pytester.makeconftest(CONFTEST)
        pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {mark}\n" for mark in MAY_START_PROCESSES))
        pytester.makepyfile(HEAD + body)
        return pytester.runpytest_inprocess(*arguments).parseoutcomes()

    return run


def test_a_process_fails_a_test_without_a_mark(outcomes):
    lines = [
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "multiprocessing.get_context('spawn').Process(target=print).start()",
        "multiprocessing.get_context('fork').Process(target=print).start()",
    ]
    body = "".join(f"def test_{number}(): {line}\n" for number, line in enumerate(lines))
    assert outcomes(body) == {"failed": len(lines)}


def test_a_refusal_that_is_swallowed_fails_the_test_all_the_same(outcomes):
    body = "def test_it():\n    try:\n        subprocess.run(['true'])\n    except Exception:\n        pass\n"
    assert outcomes(body) == {"failed": 1}


def test_a_process_of_a_fixture_counts_as_well(outcomes):
    body = "@pytest.fixture\ndef started(): return subprocess.run(['true'])\ndef test_it(started): pass\n"
    assert outcomes(body) == {"errors": 1}


def test_ray_cannot_start_in_a_test_without_a_mark(outcomes):
    body = "def test_it():\n    import ray\n    ray.init(num_cpus=1, include_dashboard=False)\n"
    assert outcomes(body) == {"failed": 1}


@pytest.mark.processes
def test_a_test_with_a_mark_may_start_one(outcomes):
    marks = sorted(MAY_START_PROCESSES)
    body = "".join(f"@pytest.mark.{mark}\ndef test_{mark}(): subprocess.run(['true'])\n" for mark in marks)
    assert outcomes(body) == {"passed": len(marks)}


def test_who_uses_the_ray_session_is_marked_by_rule(outcomes):
    body = "def test_with(ray_session): pass\ndef test_without(): pass\n"
    assert outcomes(body, "-m", "ray") == {"passed": 1, "deselected": 1}
    assert outcomes(body, "-m", "not ray") == {"passed": 1, "deselected": 1}


def test_make_check_leaves_out_every_mark_and_make_test_only_the_slow_ones():
    makefile = (ROOT / "Makefile").read_text()
    (check,) = re.findall(r"^check:.*\n\t.* -m \"not \((.*)\)\"", makefile, re.MULTILINE)
    assert set(check.split(" or ")) == MAY_START_PROCESSES | {"long"}
    assert re.search(r"^test:.*\n\t.* -m \"not slow\"", makefile, re.MULTILINE)
    assert re.search(r"^slow:.*\n\t.* -m slow ", makefile, re.MULTILINE)
