"""Questions that always end with a checked value: asked, checked, asked again with what was wrong, then done without.

This file must not know what is asked, or how a request reaches whoever answers it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import TimeoutError
from multiprocessing.pool import IMapIterator, ThreadPool
from typing import Generic, Literal, TypeVar

from rl_models.chat.exchange import ChatFailure, ChatRequest, Transport

T = TypeVar("T")
_CLIPPED_TO = 2_000
_LOOKS_AFTER_SECONDS = 1.0


class RejectedReplyError(ValueError):
    """A reply cannot be used; the text is a clause that says why, fit for being shown to the model."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """What to ask, how to read the reply, and the value when no reply can be read."""

    request: ChatRequest
    check: Callable[[str], T]
    """Reads a reply; raises `RejectedReplyError`."""
    fallback: Callable[[], T]


@dataclass(frozen=True)
class Attempt:
    """One reply, or none, and why it was not used."""

    text: str | None
    rejection: str | None


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A value and where it comes from."""

    value: T
    source: Literal["model", "fallback"]
    attempts: tuple[Attempt, ...]

    @property
    def rejections(self) -> tuple[str, ...]:
        """Why replies were not used, in order."""
        return tuple(attempt.rejection for attempt in self.attempts if attempt.rejection is not None)


class Asker:
    """Asks many questions at once. `counts` sums up how they ended."""

    def __init__(
        self, transport: Transport, concurrency: int = 4, most_attempts: int = 3, longest_reply: int = 8_000
    ) -> None:
        """Bounds for every question.

        Args:
            transport: whoever answers.
            concurrency: questions under way at the same time.
            most_attempts: replies that are looked at before a question is answered by its fallback.
            longest_reply: characters of a reply that is looked at; a longer one is rejected.
        """
        self._transport = transport
        self._concurrency, self._most_attempts, self._longest_reply = concurrency, most_attempts, longest_reply
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        """`asked`, `answered`, `rejected`, `failed` and `fallback`, of the questions so far."""

    def ask(self, questions: Sequence[Question[T]]) -> list[Answer[T]]:
        """An answer for each question, in their order."""
        if self._concurrency == 1 or len(questions) < 2:
            return [self._ask_one(question) for question in questions]
        # Its threads are daemons: whoever interrupts a run need not wait for answers that are under way.
        with ThreadPool(min(self._concurrency, len(questions))) as threads:
            answers = threads.imap(self._ask_one, questions)
            return [_next(answers) for _ in questions]

    def _ask_one(self, question: Question[T]) -> Answer[T]:
        self._count("asked")
        request, attempts = question.request, list[Attempt]()
        for _ in range(self._most_attempts):
            outcome = self._transport.complete(request)
            if isinstance(outcome, ChatFailure):
                # The transport has tried as often as it may.
                self._count("failed")
                attempts.append(Attempt(None, outcome.reason))
                break
            try:
                value = self._read(question, outcome.text)
            except RejectedReplyError as rejected:
                self._count("rejected")
                attempts.append(Attempt(outcome.text, str(rejected)))
                request = request.after_rejection(outcome.text[:_CLIPPED_TO], str(rejected))
                continue
            self._count("answered")
            return Answer(value, "model", (*attempts, Attempt(outcome.text, None)))
        self._count("fallback")
        return Answer(question.fallback(), "fallback", tuple(attempts))

    def _read(self, question: Question[T], text: str) -> T:
        if len(text) > self._longest_reply:
            raise RejectedReplyError(f"it is longer than {self._longest_reply} characters")
        return question.check(text)

    def _count(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1


def _next(answers: IMapIterator[Answer[T]]) -> Answer[T]:
    """The next answer, however late; an interrupt just as Python begins to wait would be lost without another look."""
    while True:
        try:
            return answers.next(_LOOKS_AFTER_SECONDS)
        except TimeoutError:
            continue
