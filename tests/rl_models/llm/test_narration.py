"""Codes reach the narrator whole, wherever they are kept."""

import numpy as np
import pytest
import torch

from rl_models.llm.narration import situations
from rl_models.networks.texts import MissingTextsError


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
