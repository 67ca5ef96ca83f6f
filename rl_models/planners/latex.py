"""The paragraphs of a paper from its LaTeX: no comments, no commands, no figures, bounded (SAMA, section 3.1).

This file must not know what the paper is about.
"""

from __future__ import annotations

import re
from pathlib import Path

LARGEST_FILE = 4_000_000
LONGEST_PARAGRAPH = 2_000
MOST_PARAGRAPHS = 400
_FEWEST_WORDS = 6
_COMMENT = re.compile(r"(?<!\\)%.*")
_LEFT_OUT = re.compile(
    r"\\begin\{(figure|table|tabular|equation|align|algorithm|thebibliography)\*?\}.*?\\end\{\1\*?\}", re.DOTALL
)
_POINTERS = re.compile(
    r"~?\\(?:cite[a-z]*|ref|eqref|autoref|label|footnote|includegraphics)\*?(?:\[[^\]]*\])*\{[^{}]*\}"
)
_HEADING = re.compile(r"\\(?:sub)*section\*?\{[^{}]*\}|\\paragraph\*?\{([^{}]*)\}")
_WITH_TEXT = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?")
_ESCAPED = re.compile(r"\\([%&_#$])")


class LatexError(ValueError):
    """A file cannot be read; the sentence says which and how to mend it."""


def read_paragraphs(path: Path) -> list[str]:
    """Paragraphs of a LaTeX file as plain text.

    Raises:
        LatexError: it cannot be read or is too large.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise LatexError(f"{path} cannot be read ({error.strerror}): check the path") from None
    if len(raw) > LARGEST_FILE:
        raise LatexError(f"{path} is larger than {LARGEST_FILE} bytes: hand in the paper's text alone")
    return paragraphs(raw.decode("utf-8", "replace"))


def paragraphs(latex: str) -> list[str]:
    """Paragraphs of a LaTeX text, those of a few words left out."""
    _, begun, body = latex.partition("\\begin{document}")
    text = body.partition("\\end{document}")[0] if begun else latex
    text = _LEFT_OUT.sub("\n\n", "\n".join(_COMMENT.sub("", line) for line in text.splitlines()))
    text = _HEADING.sub(lambda found: f"\n\n{found[1] or ''} ", _POINTERS.sub("", text))
    found = (" ".join(_plain(part).split())[:LONGEST_PARAGRAPH] for part in re.split(r"\n\s*\n", text))
    return [part for part in found if len(part.split()) >= _FEWEST_WORDS][:MOST_PARAGRAPHS]


def _plain(text: str) -> str:
    # Commands may stand within commands; a few layers are enough for prose.
    for _ in range(4):
        text = _WITH_TEXT.sub(r"\1", text)
    text = _ESCAPED.sub(r"\1", _COMMAND.sub(" ", text))
    return text.translate(str.maketrans("{}~$\\", "     "))
