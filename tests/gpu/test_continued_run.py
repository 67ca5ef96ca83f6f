"""A run that was killed and continued on a real GPU, through Ray, has the counters and data of an unbroken one."""

import os

import pytest

from rl_models.runtime.device import chosen_device
from tests.tune_experiments.rtfm.curriculum_runs import log_of
from tests.tune_experiments.run.killed_run import TRIAL, unbroken_and_continued

pytestmark = pytest.mark.skipif("CONCORD_GPU_TESTS" not in os.environ, reason="`make gpu` runs these")
__all__ = ["unbroken_and_continued"]


def test_a_continued_run_on_a_gpu_has_the_counters_and_data_of_an_unbroken_one(runs):
    assert chosen_device("cuda").type == "cuda"
    unbroken, broken = (log_of(folder / TRIAL) for folder in runs)
    assert len(unbroken) == len(broken)
    for one, other in zip(broken, unbroken, strict=True):
        assert one.keys() == other.keys()
        for name, value in other.items():
            if isinstance(value, float):
                # Sums of floats on a GPU have no fixed order.
                assert one[name] == pytest.approx(value, rel=1e-3, abs=1e-3), name
            else:
                assert one[name] == value, name
