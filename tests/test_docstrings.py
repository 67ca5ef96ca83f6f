"""Each docstring, of an attribute too, names what it describes: none is a genitive or a comparison without its noun."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rl_envs", "rl_models", "tune_experiments", "cluster", "benchmarks", "examples", "tests")
FRAGMENT = re.compile(r'^[ \t]*[rR]?"""\s*(?:Of |As |All of (?:it|them)\b)', re.MULTILINE)
"""A line that begins with a string is a docstring; ruff holds that it has three double quotes."""


def fragments(text):
    """Lines of the docstrings that lack their noun."""
    return [text.count("\n", 0, found.start()) + 1 for found in FRAGMENT.finditer(text)]


def test_no_docstring_lacks_its_noun():
    files = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix(): fragments(path.read_text(encoding="utf-8")) for path in files}
    assert {name: lines for name, lines in found.items() if lines} == {}, "name what the docstring describes"


def test_fragments_are_found():
    assert fragments('"""Of it."""\nA = 1\n"""All of them."""\ndef f():\n    """As `g`."""\n') == [1, 3, 5]
    assert fragments('"""Off."""\nA = """Of b"""\n"""All of their names."""\n"""Number of runs."""\n') == []
