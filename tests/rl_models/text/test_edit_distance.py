"""The nearest text is the one that a plain computation finds."""

import numpy as np
import pytest

from rl_models.text.edit_distance import TextIndex, tokenize


def plain_distance(one, other):
    """Levenshtein's recursion, cell by cell."""
    above = list(range(len(other) + 1))
    for number, token in enumerate(one, start=1):
        row = [number]
        for place, there in enumerate(other, start=1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (token != there)))
        above = row
    return above[-1]


def random_texts(count, chance):
    return [" ".join(chance.choice(list("abcdef"), chance.integers(1, 12))) for _ in range(count)]


def test_tokens_are_words_and_punctuation_marks():
    assert tokenize('Bob says: "wait."') == ["Bob", "says", ":", '"', "wait", ".", '"']


def test_the_nearest_text_is_the_first_of_least_distance():
    chance = np.random.default_rng(0)
    texts = random_texts(300, chance)
    index = TextIndex(texts)
    for query in [*random_texts(60, chance), "a z z b", "z"]:
        distances = [plain_distance(tokenize(query), tokenize(text)) for text in texts]
        assert index.nearest(query) == (int(np.argmin(distances)), min(distances))


def test_only_the_texts_that_are_asked_for_are_found():
    index = TextIndex(["a b c", "a b d", "x"])
    assert index.nearest("a b c", np.array([1, 2])) == (1, 1)


def test_a_share_is_of_the_longer_text():
    index = TextIndex(["a b c d", "a"])
    assert index.relative_distance("a b c d", 0, 0) == 0
    assert index.relative_distance("a b", 2, 0) == 0.5
    assert index.relative_distance("a b c", 2, 1) == pytest.approx(2 / 3)
