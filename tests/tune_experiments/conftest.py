"""What the tests of experiments share."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def untimed_cost():
    """A run says what it costs without timing three updates of a team, which take longer than a small run trains.

    tests/tune_experiments/run/test_cost.py times, and so do the runs of tests/examples.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tune_experiments.run.speed.measured_seconds", lambda plan: (1e-3, 1e-3))
        yield


@pytest.fixture(scope="module", autouse=True)
def figures_as_png():
    """Figures are written as PNG alone; PDF and SVG, which test_figures.py looks at, take twice as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tune_experiments.results.plots.figures.FORMATS", (".png",))
        yield
