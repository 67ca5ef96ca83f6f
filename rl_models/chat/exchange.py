"""One exchange with a chat model: a request, and the reply or the failure that answers it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """A request. Its `key` is a hash of its content, so equal requests share one answer."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int = 512
    """Largest number of tokens in the reply."""
    temperature: float = 0.0
    seed: int | None = None
    is_json: bool = False
    """Whether the server is asked for a JSON object. The reply is checked in any case."""
    choices: tuple[str, ...] = ()
    """Phrases among which a backend that scores chooses; empty: the reply is free text."""
    stage: str = field(default="", compare=False)
    """Purpose of the request, for records and transcripts; it is not sent."""
    context: Any = field(default=None, compare=False)
    """What a backend without a chat model needs beside the messages; neither sent nor recorded."""

    @cached_property
    def key(self) -> str:
        """SHA-256 of all fields that are sent."""
        text = json.dumps(self.sent(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def sent(self) -> dict[str, Any]:
        """The fields that are sent, as JSON. Records on disk use these names, so they must not change."""
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "most_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "is_json": self.is_json,
        } | ({"choices": list(self.choices)} if self.choices else {})

    def after_rejection(self, reply: str, reason: str) -> ChatRequest:
        """The same question asked again, after the rejected reply and the reason in the conversation."""
        again = f"That reply cannot be used: {reason}. Answer the question again, in the form it asks for."
        return replace(self, messages=(*self.messages, Message("assistant", reply), Message("user", again)))


@dataclass(frozen=True)
class ChatReply:
    """Text of a reply, and its number of tokens."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_recorded: bool = field(default=False, compare=False)
    """Whether it comes from a record, so that nothing was sent."""


@dataclass(frozen=True)
class ChatFailure:
    """No reply came. The reason is a clause in our words; text from the server never enters it."""

    reason: str
    is_recorded: bool = field(default=False, compare=False)
    """Whether it comes from a record, so that nothing was sent."""


Outcome = ChatReply | ChatFailure


class Transport(Protocol):
    """Answers requests, in several threads at once. It raises no error for anything that the server does."""

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request."""


def outcome_from_json(line: Mapping[str, Any]) -> Outcome:
    """Read a line of a record, as `Recorded` writes it; raises ValueError for neither a reply nor a failure."""
    reply, failure = line.get("reply"), line.get("failure")
    if isinstance(failure, str):
        return ChatFailure(failure, is_recorded=True)
    if isinstance(reply, dict) and isinstance(reply.get("text"), str):
        prompt, completion = reply.get("prompt_tokens"), reply.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int):
            return ChatReply(reply["text"], prompt, completion, is_recorded=True)
    raise ValueError("holds neither a reply nor a failure")
