"""Groups of worlds that take turns play what all worlds at once play, and the host works while a device computes."""

import numpy as np
import pytest

from rl_models.training import collector as collector_module
from rl_models.training.collector import Collector
from rl_models.training.grouped_collector import GroupedCollector, make_collector, make_groups
from tests.emulated_device import DEVICE, emulated_device
from tests.rl_models.training.small import LENGTH, ROUNDING, assert_equal_fragments, rooms, team


def grouped(groups, policy=None):
    """Five numbered rooms in groups."""
    one = make_collector(make_groups(rooms, 5, 2, groups), policy or team(), LENGTH, needs_values=True)
    one.reset(3)
    return one


@pytest.mark.long
def test_groups_play_what_all_worlds_play_at_once():
    whole, parts = grouped(1), grouped(3)
    assert isinstance(whole, Collector) and isinstance(parts, GroupedCollector)
    for version in range(3):
        whole.version = parts.version = version
        assert_equal_fragments(whole.collect(), parts.collect(), close=ROUNDING)
        one, other = whole.pop_episodes(), parts.pop_episodes()
        assert one.keys() == other.keys()
        for name, values in one.items():
            np.testing.assert_allclose(np.sort(other[name], 0), np.sort(values, 0), err_msg=name)


def test_the_worlds_of_one_group_are_stepped_while_the_actions_of_the_other_are_on_their_way(monkeypatch):
    happened = []

    class Watched(collector_module.PendingHostCopy):
        """Writes down when the host asks for actions and when it waits for them."""

        def __init__(self, tensors):
            self.worlds = len(next(iter(tensors.values())))
            happened.append(("ask", self.worlds))
            super().__init__(tensors)

        def wait(self):
            happened.append(("wait", self.worlds))
            return super().wait()

    monkeypatch.setattr(collector_module, "PendingHostCopy", Watched)
    grouped(2).collect()
    three, two = [("wait", 3), ("ask", 3)], [("wait", 2), ("ask", 2)]
    steps = (three + two) * (LENGTH - 1)
    assert happened == [("ask", 3), ("ask", 2), *steps, ("wait", 3), ("wait", 2)]


@pytest.mark.long
def test_two_groups_on_an_emulated_device_play_as_on_the_cpu_and_copy_no_more_than_two_collectors():
    expected = grouped(2).collect()
    with emulated_device() as counts:
        policy = team().to(DEVICE)
        alone = [grouped(1, policy) for _ in range(2)]
        counts.copies = counts.syncs = 0
        for one in alone:
            one.collect()
        waited = counts.copies, counts.syncs
        there = grouped(2, policy)
        counts.copies = counts.syncs = 0
        found = there.collect()
        assert counts.copies <= waited[0] and counts.syncs <= waited[1]
    assert_equal_fragments(found, expected, close=(*ROUNDING, "component"))
