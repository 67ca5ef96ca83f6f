"""Silence of transformers while a model is loaded."""

import pytest
from transformers.utils import logging

from rl_models.hub.quiet import quiet_transformers


def test_transformers_tells_as_much_as_before_after_a_failure_too():
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(RuntimeError), quiet_transformers():
        assert logging.get_verbosity() == logging.ERROR and not logging.is_progress_bar_enabled()
        raise RuntimeError
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
