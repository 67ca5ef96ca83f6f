"""An environment that hangs: the sentence names the call, the seconds and the line, and the process ends."""

import threading

import pytest

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_pettingzoo, hangs
from tests.rl_envs.wrappers.odd_games import Signal


def test_the_present_call_is_known_with_its_line_and_none_after_it():
    found, goes_on = [], threading.Event()

    class Slow(Signal):
        def step(self, actions):
            found.append(hangs.hang_message(0.0))
            goes_on.set()
            return super().step(actions)

    world = from_pettingzoo(Slow)
    world.reset(0)
    world.step([[0, 0]])
    assert goes_on.is_set()
    assert all(word in found[0] for word in ("step", "for 0 s", "line"))
    assert hangs.hang_message(0.0) is None


@pytest.mark.parametrize("seconds", ["ten", "0", "-1", "nan", ""])
def test_a_limit_that_is_no_number_of_seconds_is_refused_by_its_name(seconds, monkeypatch):
    monkeypatch.setattr(hangs, "_watch", None)
    monkeypatch.setenv(hangs.TIMEOUT_VARIABLE, seconds)
    with pytest.raises(ValueError, match=rf"{hangs.TIMEOUT_VARIABLE} is '{seconds}'"):
        hangs.watch(print)


@pytest.mark.processes
def test_a_worker_process_that_hangs_answers_with_the_sentence(monkeypatch):
    monkeypatch.setenv(hangs.TIMEOUT_VARIABLE, "2")
    world = from_pettingzoo(Asleep, 2, num_processes=1)
    try:
        world.reset(0)
        with pytest.raises(CustomEnvError, match=r"step for 2 s \(test_hangs.py, line \d+\)"):
            world.step([[0, 0], [0, 0]])
    finally:
        world.close()


class Asleep(Signal):
    """Never returns from step."""

    def step(self, actions):
        threading.Event().wait()
