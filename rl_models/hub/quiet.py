"""Silence transformers while it loads a model, whose warnings are expected."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Show neither warnings nor progress bars of transformers; afterwards both are as before."""
    from transformers.utils import logging

    shown, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(shown)
        if has_bars:
            logging.enable_progress_bar()
