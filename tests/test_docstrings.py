"""Each docstring, of an attribute too, names what it describes.

None is a genitive or a comparison without its noun, and none begins with a question word.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rl_envs", "rl_models", "tune_experiments", "cluster", "benchmarks", "examples", "tests")
FRAGMENT = re.compile(r'^[ \t]*[rR]?"""\s*(?:Of |As |All of (?:it|them)\b)', re.MULTILINE)
"""A line that begins with a string is a docstring; ruff holds that it has three double quotes."""
WITHOUT_RIDDLES = ("rl_envs", "rl_models", "tune_experiments", "cluster", "benchmarks", "examples")
"""Packages whose docstrings must not begin with a question word."""
RIDDLE = re.compile(r'^[ \t]*[rR]?"""\s*(?:What|Who|Whose|Whoever|Where)\b', re.MULTILINE)
"""A docstring that begins with a question word, so that a reader must find out the noun."""


def lines_of(pattern, text):
    """Numbers of the lines at which matches of a pattern begin."""
    return [text.count("\n", 0, found.start()) + 1 for found in pattern.finditer(text)]


def found_in(packages, pattern):
    """Lines of the packages' files that match a pattern, file -> numbers."""
    files = sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix(): lines_of(pattern, path.read_text(encoding="utf-8")) for path in files}
    return {name: lines for name, lines in found.items() if lines}


def fragments(text):
    """Lines of the docstrings that lack their noun."""
    return lines_of(FRAGMENT, text)


def test_no_docstring_lacks_its_noun():
    assert found_in(PACKAGES, FRAGMENT) == {}, "name what the docstring describes"


def test_no_docstring_begins_with_a_question_word():
    assert found_in(WITHOUT_RIDDLES, RIDDLE) == {}, "begin with a noun phrase or an imperative"


def test_question_words_are_found():
    assert lines_of(RIDDLE, '"""What it is."""\nA = 1\nr"""Who acts."""\ndef f():\n    """Whose."""\n') == [1, 3, 5]
    assert lines_of(RIDDLE, '"""\nWhere it is."""\nA = 1\n"""Whoever."""\n') == [1, 4]
    assert lines_of(RIDDLE, '"""Whether it acts."""\nA = """What b"""\n"""Whole batch."""\n"""Wherever."""\n') == []


def test_fragments_are_found():
    assert fragments('"""Of it."""\nA = 1\n"""All of them."""\ndef f():\n    """As `g`."""\n') == [1, 3, 5]
    assert fragments('"""Off."""\nA = """Of b"""\n"""All of their names."""\n"""Number of runs."""\n') == []
