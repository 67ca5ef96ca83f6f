"""A chat model as the teacher of messages, and as a player: Verco, section 4.2 and the baseline that is only prompted.

The teacher sees all agents' observations and says one short message for each agent; a reply of another form is
rejected, asked again and at last replaced by the scripted message. The player names one of the actions it may take.
This file must not know the kitchen: prompts, names, scripted messages and actions are handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rl_models.chat.asker import Asker, Question, RejectedReplyError
from rl_models.chat.exchange import ChatRequest, Message
from rl_models.chat.parsing import read_json_object

T = TypeVar("T")
MOST_WORDS = 10
"""Of a message (Verco, appendix: the prompt of the teacher)."""
_LONGEST_MESSAGE = 120
_WRITABLE = re.compile(r"[A-Za-z0-9 ,.;:!?'()\-]+")


@dataclass(frozen=True)
class Taught(Generic[T]):
    """What was asked for, and whether the model said it or the fallback."""

    values: T
    is_from_model: bool
    rejections: tuple[str, ...]


class ChatTeacher:
    """Messages for all agents of a team from the state of their world."""

    def __init__(self, asker: Asker, model: str, agents: Sequence[str]) -> None:
        """One teacher for one task.

        Args:
            asker: carries the questions.
            model: name the endpoint knows the model by.
            agents: names, in the order of messages.
        """
        self._asker, self._model, self._agents = asker, model, tuple(agents)

    def messages(self, prompts: Sequence[str], scripted: Sequence[Sequence[str]]) -> list[Taught[tuple[str, ...]]]:
        """One message per agent for each prompt.

        Args:
            prompts: role, rules, what all agents see, and the form of the answer: a line `NAME: message` for each.
            scripted: for each prompt the messages to use when the model says nothing of use.
        """
        return _ask(
            self._asker,
            [_request(self._model, (Message("user", prompt),), "teacher") for prompt in prompts],
            [lambda text: read_messages(text, self._agents)] * len(prompts),
            [tuple(lines) for lines in scripted],
        )


class ChatPlayer:
    """Actions for one agent after another, chosen among those its mask allows."""

    def __init__(self, asker: Asker, model: str, instruction: str) -> None:
        """One player for one task; `instruction` gives role, task and rules of the world."""
        self._asker, self._model = asker, model
        self._system = (
            f'{instruction}\n\nAnswer with one JSON object, {{"action": "..."}}, naming one of the listed actions in '
            "the words of the list. Write nothing else."
        )

    def choose(
        self, situations: Sequence[str], actions: Sequence[Sequence[str]], fallback: Sequence[int]
    ) -> list[Taught[int]]:
        """An action for each situation, as its place in the list of allowed ones.

        Args:
            situations: what the agent sees, as text.
            actions: for each situation the allowed actions in words.
            fallback: for each situation the action to take when the model names none of them.
        """
        prompts = [
            f"{situation}\n\nActions: {'; '.join(allowed)}"
            for situation, allowed in zip(situations, actions, strict=True)
        ]
        checks = [_reader_of_actions(tuple(allowed)) for allowed in actions]
        system = Message("system", self._system)
        requests = [_request(self._model, (system, Message("user", text)), "player", True) for text in prompts]
        return _ask(self._asker, requests, checks, list(fallback))


def read_messages(text: str, agents: Sequence[str]) -> tuple[str, ...]:
    """Messages in the order of `agents` from a reply of one line `NAME: message` for each.

    Raises:
        RejectedReplyError: another form, an agent without a message, or a message that is not short and plain.
    """
    lines = [line.partition(":") for line in text.splitlines() if line.strip()]
    if sorted(name.strip() for name, _, _ in lines) != sorted(agents):
        wanted = " and ".join(f'"{name}: message"' for name in agents)
        raise RejectedReplyError(f"it must be one line each of {wanted}, and nothing else")
    found = {name.strip(): message.strip() for name, _, message in lines}
    return tuple(_read_message(name, found[name]) for name in agents)


def _read_message(name: str, message: str) -> str:
    if not message:
        raise RejectedReplyError(f"the message of {name} is empty")
    if len(message) > _LONGEST_MESSAGE or not _WRITABLE.fullmatch(message):
        raise RejectedReplyError(
            f"the message of {name} must be one line of plain letters of at most {_LONGEST_MESSAGE} characters"
        )
    if (words := len(message.split())) > MOST_WORDS:
        raise RejectedReplyError(f"the message of {name} has {words} words and may have {MOST_WORDS}")
    return message


def _reader_of_actions(allowed: tuple[str, ...]) -> Callable[[str], int]:
    plain = [action.strip().lower() for action in allowed]

    def read(text: str) -> int:
        action = read_json_object(text).get("action")
        if not isinstance(action, str) or action.strip().lower() not in plain:
            raise RejectedReplyError("it names none of the listed actions")
        return plain.index(action.strip().lower())

    return read


def _request(model: str, messages: tuple[Message, ...], stage: str, is_json: bool = False) -> ChatRequest:
    return ChatRequest(model=model, messages=messages, most_tokens=200, is_json=is_json, stage=stage)


def _ask(
    asker: Asker, requests: Sequence[ChatRequest], checks: Sequence[Callable[[str], T]], fallbacks: Sequence[T]
) -> list[Taught[T]]:
    questions = [
        Question(request, check, lambda value=value: value)  # type: ignore[misc]
        for request, check, value in zip(requests, checks, fallbacks, strict=True)
    ]
    answers = asker.ask(questions)
    return [Taught(answer.value, answer.source == "model", answer.rejections) for answer in answers]
