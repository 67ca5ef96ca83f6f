"""Codes reach the narrator whole, wherever they are kept, and leave it as token ids, each text once."""

import numpy as np
import pytest
import torch

from rl_models.llm.narration import TokenTable, situations
from rl_models.runtime.texts import MissingTextsError


def test_codes_of_several_keys_are_joined_and_told_once_each():
    sentences = torch.tensor([[[[1, 300], [2, 300]]], [[[1, 300], [1, 300]]]])  # [2, 1, 2, 2]
    phrases = torch.tensor([[[[7], [7]]], [[[7], [8]]]])
    codes, rows = situations({"sentences": sentences, "phrases": phrases}, ("sentences", "phrases"))
    np.testing.assert_array_equal(codes, [[1, 300, 7], [1, 300, 8], [2, 300, 7]])
    np.testing.assert_array_equal(rows, [[[0, 2]], [[0, 1]]])


def test_rows_of_a_table_mean_what_the_table_says():
    obs = {"situation": torch.tensor([[[2, 0]], [[2, 2]]]), "texts/situation": torch.tensor([[5, 6], [0, 0], [3, 4]])}
    codes, rows = situations(obs, ("situation",))
    np.testing.assert_array_equal(codes, [[3, 4], [5, 6]])
    np.testing.assert_array_equal(rows, [[[0, 1]], [[0, 0]]])
    with pytest.raises(MissingTextsError, match="row numbers"):
        situations({"situation": obs["situation"]}, ("situation",))


def test_a_table_holds_each_text_once_however_long_it_is():
    table = TokenTable()
    np.testing.assert_array_equal(table.add([(5, 6), (7,), (5, 6)]), [0, 1, 0])
    np.testing.assert_array_equal(table.table, [[5, 6], [7, -1]])
    np.testing.assert_array_equal(table.add([(7,), (1, 2, 3)]), [1, 2])
    np.testing.assert_array_equal(table.table, [[5, 6, -1], [7, -1, -1], [1, 2, 3]])


def test_texts_that_nothing_shows_are_dropped_and_the_others_found_again():
    table, again = TokenTable(), TokenTable()
    rows = table.add([(9,), (5, 6), (1, 2, 3), (7,)])[[3, 1, 3]].reshape(3, 1)
    kept = table.keep(rows)
    np.testing.assert_array_equal(table.table[kept[:, 0]], [[7, -1], [5, 6], [7, -1]])
    assert len(table.table) == 2
    # Numbers hang on the texts alone, so whoever continues elsewhere comes to the same ones.
    np.testing.assert_array_equal(again.keep(again.add([(7,), (5, 6), (7,)]))[:, None], kept)
