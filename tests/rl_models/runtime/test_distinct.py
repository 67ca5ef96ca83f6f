"""Distinct rows are those of `unique`, and an accelerator is asked for none of them, or once."""

import pytest
import torch

from rl_models.layers.words import TextGroups
from rl_models.runtime.device import count_rows, distinct, distinct_rows, to_device, to_host
from tests.emulated_device import DEVICE, emulated_device


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2)])
def test_distinct_numbers_on_an_emulated_device_are_those_of_unique_without_a_question(shape):
    rows = torch.randint(9, shape)
    expected, inverse = rows.unique(return_inverse=True)
    assert all(map(torch.equal, distinct(rows, 9), (expected, inverse)))
    with emulated_device() as counts:
        used, which = distinct(rows.to(DEVICE), 9)
        assert counts.syncs == 0
        used, which = used.cpu(), which.cpu()
    assert len(used) == min(9, rows.numel())
    assert torch.equal(used[: len(expected)], expected) and torch.equal(which, inverse)
    assert (used[len(expected) :] == expected[-1]).all()  # so that they can be searched in order


@pytest.mark.parametrize(("columns", "largest"), [(3, 60_000), (1, 1), (6, 60_000), (5, 80), (9, 2**31 - 5)])
def test_distinct_rows_are_those_of_unique_however_many_columns_one_number_holds(columns, largest):
    table = torch.randint(largest, (37, columns))[torch.randint(37, (200,))]
    for one in (table, table[:0], table.clamp(max=255).to(torch.uint8)):
        expected = one.unique(dim=0, return_inverse=True)
        (found,) = distinct_rows(one)
        assert all(map(torch.equal, found, expected))
        assert found[0].dtype == one.dtype


def test_distinct_rows_on_an_emulated_device_are_those_of_unique_with_one_question():
    tables = [torch.randint(3, (20, 3)), torch.randint(2, (20, 2), dtype=torch.uint8)]
    expected = [table.unique(dim=0, return_inverse=True) for table in tables]
    with emulated_device() as counts:
        found = distinct_rows(*(table.to(DEVICE) for table in tables))
        assert counts.syncs == 1
        found = [(rows.cpu(), which.cpu()) for rows, which in found]
    for one, other in zip(found, expected, strict=True):
        assert all(map(torch.equal, one, other))


def test_rows_are_counted_on_an_emulated_device_without_a_question():
    rows = torch.tensor([3, 0, 3, 1])
    assert count_rows(rows, 5).tolist() == [1, 1, 0, 2, 0]
    with emulated_device() as counts:
        found = count_rows(rows.to(DEVICE), 5)
        assert counts.syncs == 0
        assert found.cpu().tolist() == [1, 1, 0, 2, 0]


@pytest.mark.parametrize("frames", [5, 40])
def test_groups_of_frames_attend_on_an_emulated_device_as_on_the_cpu_without_a_question(frames):
    rows, states, queries = torch.randint(4, (frames,)), torch.randn(4, 3, 6), torch.randn(frames, 6)
    padding = torch.zeros(4, 1, 3)
    groups = TextGroups(rows, 4)
    expected = groups.attend(states[groups.texts], padding[groups.texts], queries)
    with emulated_device() as counts:
        groups = TextGroups(rows.to(DEVICE), 4)
        states, padding = states.to(DEVICE), padding.to(DEVICE)
        found = groups.attend(states[groups.texts], padding[groups.texts], queries.to(DEVICE))
        assert counts.syncs == 0
        found = [value.cpu() for value in found]
    torch.testing.assert_close(found, list(expected))


def test_tensors_of_several_types_come_to_the_host_in_one_copy():
    arrays = {
        "floats": torch.randn(3, 2),
        "bytes": torch.randint(9, (5,), dtype=torch.uint8),
        "bools": torch.tensor([[True], [False]]),
        "numbers": torch.arange(3),
        "nothing": torch.zeros(0, 4),
    }
    with emulated_device() as counts:
        there = to_device({name: value.numpy() for name, value in arrays.items()}, DEVICE)
        counts.copies = 0
        here = to_host(there | {"at home": torch.ones(2)})
        assert counts.copies == 1
    assert torch.equal(here.pop("at home"), torch.ones(2))
    for name, value in arrays.items():
        assert torch.equal(here[name], value) and here[name].dtype == value.dtype, name
