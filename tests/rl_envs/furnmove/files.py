"""What tests of room files and of start files have in common."""

import re
from pathlib import Path

import numpy as np
import pytest


def examples(page):
    """The JSON blocks of a page of the documentation."""
    text = (Path(__file__).parents[3] / "docs" / page).read_text()
    return [block.encode() for block in re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)]


def damaged(good, count):
    """A text with one to nine characters replaced at random, so many times."""
    rng = np.random.Generator(np.random.PCG64(4))
    for _ in range(count):
        letters = list(good)
        for place in rng.integers(len(good), size=rng.integers(1, 10)):
            letters[place] = chr(rng.integers(32, 300))
        yield "".join(letters).encode()


def assert_refused(load, path, error, sentence):
    """A file is refused in one sentence that names it; the sentence is enough, without the error that it came from."""
    with pytest.raises(error, match=sentence) as refusal:
        load(path)
    message = str(refusal.value)
    assert str(path) in message and "\n" not in message and len(message) < 500
    assert refusal.value.__suppress_context__
