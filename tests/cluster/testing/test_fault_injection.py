"""The report of injected faults, and a world that fails once."""

import pytest

from cluster.testing.fault_injection.faulty import FaultyWorld


def test_a_faulty_world_fails_once(tmp_path, monkeypatch):
    class World:
        num_worlds = 3

        def step(self, actions):
            return actions

    monkeypatch.setattr("cluster.testing.fault_injection.faulty.AT_STEP", 2)
    world = FaultyWorld(World(), "world_raises", tmp_path)
    assert (world.num_worlds, world.step(7)) == (3, 7)
    with pytest.raises(ArithmeticError):
        world.step(7)
    again = FaultyWorld(World(), "world_raises", tmp_path)
    assert [again.step(number) for number in range(3)] == [0, 1, 2]
