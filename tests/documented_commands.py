"""The commands of the documents: of every code block and code span of the pages, and of every docstring.

A command is a line that begins with `python`, `concord` or `make`, after a prompt, variables and a path to an
interpreter. What a reader must replace or leave out (`[flags]`, `a|b`, `...`) makes a synopsis of it, whose flags have
no values to read.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "cluster", "examples", "rl_envs", "rl_models", "tune_experiments")
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "cluster" / "README.md", *ROOT.glob("docs/**/*.md")]
)
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
_START = re.compile(
    r"(?:\$ |nohup |nice (?:-n \d+ )?|[A-Z_]+=\S* )*(?:\S*/)?"
    r"(python3? (?:-m \w|\w+[./])[\w./:|-]*.*|make [a-z]+\b.*|concord [a-z].*)"
)
_FENCE = re.compile(r"^ *```[^`\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_END_OF_COMMAND = re.compile(r"^(?:&&?|\|\|?|;|>+|2>.*|do|done)$")


def texts_of(path: Path) -> list[str]:
    """The prose of a file: a page, or all docstrings of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [text]
    return [inspect.cleandoc(docstring) for docstring in re.findall(r'"""(.*?)"""', text, re.DOTALL)]


def commands_of(path: Path) -> list[str]:
    """The commands of a file, each in one line, without repetitions."""
    return list(dict.fromkeys(command for text in texts_of(path) for command in commands_in(text)))


def commands_in(text: str) -> Iterator[str]:
    """The commands of a text."""
    blocks = _FENCE.findall(text)
    prose = _FENCE.sub("", text)
    blocks += re.findall(r"(?:^ {4,}\S.*\n?)+", prose, re.MULTILINE)
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    spans = [" ".join(span.split()) for span in _SPAN.findall(prose)]
    for line in [*lines, *spans]:
        found = _START.match(line.strip())
        if found is not None:
            yield found[1].strip()


def words_of(command: str) -> list[str]:
    """The words of one command, up to a comment or the next command of the line."""
    words = shlex.split(command, comments=True)
    ends = [place for place, word in enumerate(words) if _END_OF_COMMAND.match(word)]
    words = words[: min(ends, default=len(words))]
    return [word.rstrip(";") for word in words]


def is_synopsis(words: list[str]) -> bool:
    """Whether a reader is to replace, choose or leave out some of the words."""
    return any("..." in word or word.startswith("[") or re.search(r"^[^{]*\|", word) for word in words)
