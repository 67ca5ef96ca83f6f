"""Token tables: each text once, rows that stay good until the owner compacts, and nothing outside the vocabulary."""

import numpy as np
import pytest

from rl_envs.core.spec import ArraySpec, TextSpec
from rl_envs.core.texts import TextStore

SPEC = TextSpec(length=3, vocabulary=10, meaning="a test")


@pytest.fixture
def store():
    return TextStore(SPEC)


def test_a_text_is_kept_once(store):
    rows = store.add(np.array([[1, 2, 3], [4, 5, 6], [1, 2, 3]]))
    assert rows.tolist() == [0, 1, 0]
    assert rows.dtype == np.int32
    assert store.add(np.array([[4, 5, 6]], np.int64)).tolist() == [1]
    assert store.table.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_the_store_does_not_share_memory_with_its_callers(store):
    texts = np.array([[1, 2, 3]], np.int32)
    store.add(texts)
    texts[:] = 9
    store.table[:] = 9
    store.look_up(np.array([0]))[:] = 9
    assert store.table.tolist() == [[1, 2, 3]]


def test_compact_keeps_what_is_used_and_renumbers_it(store):
    rows = store.add(np.arange(9).reshape(3, 3))
    used = np.array([[rows[2], rows[2]], [rows[1], rows[2]]])
    before = store.table[used]
    renumbered = store.compact(used)
    assert renumbered.shape == used.shape
    assert renumbered.dtype == np.int32
    assert len(store.table) == 2
    np.testing.assert_array_equal(store.table[renumbered], before)
    assert store.add(np.array([[0, 1, 2]])).tolist() == [2], "a forgotten text is new again"
    assert store.add(np.array([[6, 7, 8]])).tolist() == [int(renumbered[0, 0])], "a kept text keeps its row"


@pytest.mark.parametrize("texts", [[[1, 2]], [[1, 2, 3, 4]], [1, 2, 3], [[1, 2, 3.5]]])
def test_texts_of_another_length_or_type_are_refused(store, texts):
    with pytest.raises(ValueError, match="3 tokens"):
        store.add(np.array(texts))


@pytest.mark.parametrize("token", [-1, 10, 2**32])
def test_tokens_outside_the_vocabulary_are_refused(store, token):
    with pytest.raises(ValueError, match=r"0 \.\. 9"):
        store.add(np.array([[0, token, 0]]))
    assert len(store.table) == 0


@pytest.mark.parametrize(
    ("array", "fits"),
    [
        (np.zeros((4, 2, 3), np.uint8), True),
        (np.full((2, 3), 5, np.uint8), True),
        (np.full((2, 3), 6, np.uint8), False),
        (np.zeros((4, 2, 3), np.int64), False),
        (np.zeros((3, 2), np.uint8), False),
        (np.zeros(3, np.uint8), False),
        (np.zeros((0, 2, 3), np.uint8), True),
    ],
)
def test_an_array_spec_contains_exactly_its_type_shape_and_bounds(array, fits):
    assert ArraySpec((2, 3), "uint8", 0, 5, "a test").contains(array) is fits
