"""The loops of RTFM's benchmark that are timed beside the papers': they play and learn, and count every env step."""

import pytest

from benchmarks.rtfm import MATCHING_GAMES, MATCHING_LENGTH, time_ppo


@pytest.mark.slow
@pytest.mark.parametrize("name", MATCHING_GAMES)
def test_a_loop_of_a_reader_is_timed(name):
    times = time_ppo(*MATCHING_GAMES[name], turns=1, worlds=8)
    assert times.agent_steps == 8 * MATCHING_LENGTH
    assert 0 < times.per_second(times.loop) < times.per_second(times.collect)
