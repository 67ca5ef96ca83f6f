"""A test of the check tier can start neither Ray nor a process without failing."""

import pytest

from tests.tiers import MAY_START_PROCESSES

CONFTEST = """
import pytest

pytest_plugins = ["tests.tiers"]

@pytest.fixture
def ray_session():
    pass

@pytest.fixture
def real_model():
    pass
"""
HEAD = "import contextlib, multiprocessing, subprocess\nimport pytest\n"


@pytest.fixture
def outcomes(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(body, *arguments):
        pytester.makeconftest(CONFTEST)
        pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {mark}\n" for mark in MAY_START_PROCESSES))
        pytester.makepyfile(HEAD + body)
        return pytester.runpytest_inprocess(*arguments).parseoutcomes()

    return run


START = {
    "run": "subprocess.run(['true'])",
    "spawned": "multiprocessing.get_context('spawn').Process(target=print).start()",
    "forked": "multiprocessing.get_context('fork').Process(target=print).start()",
}


def test_a_process_fails_a_test_without_a_mark_also_in_a_fixture_or_where_the_refusal_is_swallowed(outcomes):
    body = "".join(f"def test_{name}(): {line}\n" for name, line in START.items())
    body += "def test_swallowed():\n    with contextlib.suppress(Exception):\n        subprocess.run(['true'])\n"
    body += "@pytest.fixture\ndef started(): return subprocess.run(['true'])\ndef test_fixture(started): pass\n"
    assert outcomes(body) == {"failed": 4, "errors": 1}


@pytest.mark.parametrize(("fixture", "mark"), [("ray_session", "ray"), ("real_model", "models")])
def test_what_uses_ray_or_a_real_model_is_marked_by_rule(fixture, mark, outcomes):
    body = f"def test_with({fixture}): pass\ndef test_without(): pass\n"
    assert outcomes(body, "-m", mark) == {"passed": 1, "deselected": 1}
