"""The loop whose CPU time `make bench ONLY=minirts` quotes for RED is PPO's."""

import dataclasses

import pytest

from benchmarks.minirts import time_red
from tune_experiments.red.config import RedConfig


@pytest.mark.slow
def test_reds_loop_is_timed_with_its_acting_and_learning():
    config = RedConfig()
    few = dataclasses.replace(config, workers=dataclasses.replace(config.workers, worlds_per_runner=4))
    times = time_red(few, length=3, turns=1)
    assert times.agent_steps == 4 * 3
    assert 0 < times.per_second(times.loop) < times.per_second(times.collect)
    assert times.overhead > 0
