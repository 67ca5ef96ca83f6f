"""Chat client: asks questions whose replies are checked; each question ends with a value.

A reply that fails its check is sent back with the reason, and the question is asked again. After the last attempt the
fallback gives the value.
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
from rl_models.chat.meter import REFUSED

T = TypeVar("T")
_CLIPPED_TO = 2_000
"""Characters of a rejected reply that are sent back to the model."""
_MAX_REPLY_BYTES = 8_000
"""Characters of the longest reply that is accepted."""
_POLL_SECONDS = 1.0


class RejectedReplyError(ValueError):
    """A reply cannot be used; the message is a clause that says why, and it is sent to the model."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """A request, the check of its reply, and a fallback."""

    request: ChatRequest
    check: Callable[[str], T]
    """Turns a reply into a value, or raises `RejectedReplyError`."""
    fallback: Callable[[], T]
    """Returns the value if no reply passes the check."""


@dataclass(frozen=True)
class Attempt:
    """One attempt to get a reply."""

    text: str | None
    """The reply; None if none came."""
    rejection: str | None
    """Why the reply was not used; None if it was used."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The value of a question, its source, and all attempts."""

    value: T
    source: Literal["model", "fallback"]
    attempts: tuple[Attempt, ...]

    @property
    def rejections(self) -> tuple[str, ...]:
        """The reasons why replies were not used, in order."""
        return tuple(attempt.rejection for attempt in self.attempts if attempt.rejection is not None)


class ChatClient:
    """Asks many questions at the same time, and counts in `counts` how they ended."""

    def __init__(self, transport: Transport, concurrency: int = 4, max_attempts: int = 3) -> None:
        """Set the number of questions that are asked at the same time, and of replies that are checked for each."""
        self._transport = transport
        self._concurrency, self._max_attempts = concurrency, max_attempts
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        """Counts `asked`, `answered`, `rejected`, `failed`, `unsent` (the budget was used up) and `fallback` of all
        questions so far; `recorded`, those answered, rejected and failed that came from a record; and the tokens of the
        other replies, `prompt_tokens` and `completion_tokens`."""

    def ask(self, questions: Sequence[Question[T]]) -> list[Answer[T]]:
        """The answers to the questions, in their order."""
        if self._concurrency == 1 or len(questions) < 2:
            return [self._ask_one(question) for question in questions]
        # The threads are daemons, so an interrupted run does not wait for pending answers.
        with ThreadPool(min(self._concurrency, len(questions))) as threads:
            answers = threads.imap(self._ask_one, questions)
            return [_next(answers) for _ in questions]

    def _ask_one(self, question: Question[T]) -> Answer[T]:
        self._count("asked")
        request, attempts = question.request, list[Attempt]()
        for _ in range(self._max_attempts):
            outcome = self._transport.complete(request)
            if isinstance(outcome, ChatFailure):
                # The transport has used all its attempts.
                is_unsent = outcome.reason.startswith(REFUSED)
                self._count("unsent" if is_unsent else "failed")
                self._count("recorded", outcome.is_recorded and not is_unsent)
                attempts.append(Attempt(None, outcome.reason))
                break
            if outcome.is_recorded:
                self._count("recorded")
            else:
                self._count("prompt_tokens", outcome.prompt_tokens)
                self._count("completion_tokens", outcome.completion_tokens)
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
        if len(text) > _MAX_REPLY_BYTES:
            raise RejectedReplyError(f"it is longer than {_MAX_REPLY_BYTES} characters")
        return question.check(text)

    def _count(self, name: str, number: int = 1) -> None:
        if number:
            with self._lock:
                self.counts[name] += number


def _next(answers: IMapIterator[Answer[T]]) -> Answer[T]:
    """The next answer. Polling keeps an interrupt from being lost that comes just before Python begins to wait."""
    while True:
        try:
            return answers.next(_POLL_SECONDS)
        except TimeoutError:
            continue
