"""The check tier: which tests it leaves out."""

TESTS = """
import time

def test_slow():
    while time.process_time() < begun + 0.5:
        pass

def test_slow_and_broken():
    test_slow()
    assert not begun

def test_fast():
    pass

begun = time.process_time()
"""


def test_tests_that_passed_and_took_long_in_every_earlier_run_are_left_out(pytester):
    pytester.makepyfile(TESTS)
    for passed, deselected in ((2, 0), (1, 1)):
        ran = pytester.runpytest_inprocess("-p", "tests.tiers", "--max-cpu-seconds", "0.1")
        ran.assert_outcomes(passed=passed, failed=1, deselected=deselected)
