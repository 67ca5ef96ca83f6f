"""One exchange with a chat model: the request, and the reply or the failure that answers it.

This file must not know how an answer is got.
"""

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
    """One turn of the conversation."""

    role: Role
    content: str


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """What is sent. `key` names it by content, so equal requests share one answer."""

    model: str
    messages: tuple[Message, ...]
    most_tokens: int = 512
    """Length at which the model must stop."""
    temperature: float = 0.0
    seed: int | None = None
    is_json: bool = False
    """Asks the server for a JSON object; the reply is checked all the same."""
    stage: str = field(default="", compare=False)
    """What the request is for. Stands in records and transcripts and is not sent."""
    context: Any = field(default=None, compare=False)
    """The values that the messages were rendered from, for backends that answer by rule. Not sent, not recorded."""

    @cached_property
    def key(self) -> str:
        """SHA-256 of everything that is sent."""
        text = json.dumps(self.sent(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def sent(self) -> dict[str, Any]:
        """The fields that reach the model, as JSON."""
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "most_tokens": self.most_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "is_json": self.is_json,
        }

    def after_rejection(self, reply: str, reason: str) -> ChatRequest:
        """The same question asked again: the rejected reply stands in the conversation with what is wrong with it."""
        again = f"That reply cannot be used: {reason}. Answer the question again, in the form it asks for."
        return replace(self, messages=(*self.messages, Message("assistant", reply), Message("user", again)))


@dataclass(frozen=True)
class ChatReply:
    """Text that came back, and what it cost."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        return {
            "text": self.text,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }


@dataclass(frozen=True)
class ChatFailure:
    """No reply came back; the reason is a clause of our own words, never the server's."""

    reason: str


Outcome = ChatReply | ChatFailure


class Transport(Protocol):
    """Gets one request answered. Called from several threads at once; never raises for what the other side does."""

    def complete(self, request: ChatRequest) -> Outcome:
        """Answer one request."""


def outcome_from_json(line: Mapping[str, Any]) -> Outcome:
    """Read a record's line; the inverse of what `Recorded` writes.

    Raises:
        ValueError: the line holds neither a reply nor a failure, or one of another form.
    """
    reply, failure = line.get("reply"), line.get("failure")
    if isinstance(failure, str):
        return ChatFailure(failure)
    if isinstance(reply, dict) and isinstance(reply.get("text"), str):
        prompt, completion = reply.get("prompt_tokens"), reply.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int):
            return ChatReply(reply["text"], prompt, completion)
    raise ValueError("holds neither a reply nor a failure")
