"""Files of tests that take long come first."""

import pytest

from tests.order import SECONDS

CONFTEST = 'pytest_plugins = ["tests.order"]\n'
FILES = {
    "test_a": "def test_one(): pass\ndef test_two(): pass\n",
    "test_b": "import pytest\n\n@pytest.mark.ray\ndef test_one(): pass\n",
    "test_c": "import pytest\n\ndef test_last(): pass\n@pytest.mark.ray\ndef test_first(): pass\n",
    "test_d": "def test_one(): pass\n",
    "test_e": "import pytest\n\n@pytest.mark.parametrize('n', range(2))\n@pytest.mark.ray\ndef test_one(n): pass\n",
}


@pytest.fixture
def order(pytester, monkeypatch):
    """Names of the tests in the order in which they run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"    {mark}\n" for mark in SECONDS))
    pytester.makepyfile(**FILES)

    def run(*words):
        lines = pytester.runpytest_inprocess("--collect-only", "-q", *words).outlines
        return [line for line in lines if "::" in line]

    return run


def test_files_are_sorted_by_what_their_marks_say_and_keep_their_own_order(order):
    assert order() == [
        "test_e.py::test_one[0]",
        "test_e.py::test_one[1]",
        "test_c.py::test_last",
        "test_c.py::test_first",
        "test_b.py::test_one",
        "test_a.py::test_one",
        "test_a.py::test_two",
        "test_d.py::test_one",
    ]


def test_a_test_that_was_left_out_makes_its_file_no_longer(order):
    assert [name.split(".")[0] for name in order("-m", "not ray")] == ["test_a", "test_a", "test_c", "test_d"]
