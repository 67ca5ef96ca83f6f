"""A transcript in Markdown: each call, goal and reflection of a run, readable in order.

Model-written text is indented, so that it cannot become markup, and loses characters that control a terminal or the
direction of text.
"""

import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rl_models.chat.client import Answer
from rl_models.chat.exchange import ChatRequest

_STEERING = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_ENTRY = re.compile(r"^#{2,3} (.*)$", re.MULTILINE)
"""Title of an entry."""


class Transcript:
    """A transcript in a file or in memory."""

    def __init__(self, path: Path | None = None, max_entries: int = 2_000) -> None:
        """Begin a transcript in a file, which is overwritten, or in memory; later entries are only counted."""
        self._path, self._most = path, max_entries
        self._lock = threading.Lock()
        self._instructions: dict[str, int] = {}
        self.entries = 0
        self._kept: list[str] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
        self._write("# Transcript of the planner\n")

    @property
    def text(self) -> str:
        """The whole transcript."""
        return self._path.read_text(encoding="utf-8") if self._path is not None else "".join(self._kept)

    def entries_since(self, place: int) -> tuple[list[tuple[str, str]], int]:
        """Titles and bodies of the entries after a place in the text (0, or an earlier result), and its present end."""
        text = self.text
        _, *parts = _ENTRY.split(text[place:])
        return [(title, body.strip()) for title, body in zip(parts[::2], parts[1::2], strict=True)], len(text)

    def add_call(self, request: ChatRequest, answer: Answer[Any]) -> None:
        """Add one question, all its replies, and the reasons why they were rejected."""
        parts = [f"### Call: {request.stage}", self._instruction(request), quoted(request.messages[-1].content)]
        for attempt in answer.attempts:
            if attempt.text is not None:
                parts += ["Reply:", quoted(attempt.text)]
            if attempt.rejection is not None:
                parts.append(f"Not used, because: {one_line(attempt.rejection)}.")
        if answer.source == "fallback":
            parts += ["Answered by rule instead:", quoted(str(answer.value))]
        self._add(parts)

    def add_note(self, title: str, lines: Iterable[str]) -> None:
        """A goal, a result, a reflection."""
        self._add([f"## {one_line(title)}", "\n".join(f"- {one_line(line)}" for line in lines)])

    def _instruction(self, request: ChatRequest) -> str:
        """The instruction in full the first time, later its number."""
        text = request.messages[0].content
        with self._lock:
            is_new = text not in self._instructions
            number = self._instructions.setdefault(text, len(self._instructions) + 1)
        return f"Instruction {number}:\n\n{quoted(text)}\n\nQuestion:" if is_new else f"Instruction {number}. Question:"

    def _add(self, parts: list[str]) -> None:
        with self._lock:
            self.entries += 1
            if self.entries == self._most + 1:
                self._write("\nThe transcript ends here; the record of exchanges holds the rest.\n")
            if self.entries <= self._most:
                self._write("\n" + "\n\n".join(part for part in parts if part) + "\n")

    def _write(self, text: str) -> None:
        if self._path is None:
            self._kept.append(text)
        else:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(text)


def quoted(text: str) -> str:
    """Text as an indented block, escaped."""
    return "\n".join(f"    {line}" for line in _STEERING.sub("\N{REPLACEMENT CHARACTER}", text).splitlines())


def one_line(text: str) -> str:
    """Text on one line, escaped."""
    plain = " ".join(_STEERING.sub("\N{REPLACEMENT CHARACTER}", text).split())
    return "".join(f"\\{sign}" if sign in "\\`*_<>[]#|" else sign for sign in plain)
