"""A chat model as a teacher of messages, and as a player (Verco, section 4.2 and the prompted baseline).

The teacher reads all agents' observations and writes one short message for each agent. A reply of another form is
rejected and asked again, and after the last attempt scripted messages replace it. The player names one of the allowed
actions.
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from rl_models.chat.client import Answer, ChatClient, Question, RejectedReplyError
from rl_models.chat.exchange import ChatRequest, Message
from rl_models.chat.parsing import read_json_object

T = TypeVar("T")
MAX_WORDS = 10
"""Largest number of words in a message (Verco, appendix, prompt of the teacher)."""
_MAX_CHARACTERS = 120
_WRITABLE = re.compile(r"[A-Za-z0-9 ,.;:!?'()\-]+")


class ChatTeacher:
    """Writes messages for all agents of a team, from a prompt that describes the state of their world."""

    def __init__(self, client: ChatClient, model: str, agents: Sequence[str]) -> None:
        self._client, self._model, self._agents = client, model, tuple(agents)

    def messages(self, prompts: Sequence[str], scripted: Sequence[Sequence[str]]) -> list[Answer[tuple[str, ...]]]:
        """One message per agent for each prompt, or the scripted ones.

        A prompt has role, rules, all agents' observations, and the form of the answer, one line `NAME: message` for
        each agent.
        """
        return _ask(
            self._client,
            [_request(self._model, (Message("user", prompt),), "teacher") for prompt in prompts],
            [lambda text: read_messages(text, self._agents)] * len(prompts),
            [tuple(lines) for lines in scripted],
        )


class ChatPlayer:
    """Chooses actions, for one agent at a time, among the allowed ones."""

    def __init__(self, client: ChatClient, model: str, instruction: str) -> None:
        """Build the player of one task; `instruction` has role, task and rules of the world."""
        self._client, self._model = client, model
        self._system = (
            f'{instruction}\n\nAnswer with one JSON object, {{"action": "..."}}, naming one of the listed actions in '
            "the words of the list. Write nothing else."
        )

    def choose(
        self, situations: Sequence[str], actions: Sequence[Sequence[str]], fallback: Sequence[int]
    ) -> list[Answer[int]]:
        """An action for each situation, as its index in the allowed ones; `fallback` where no reply is valid."""
        prompts = [
            f"{situation}\n\nActions: {'; '.join(allowed)}"
            for situation, allowed in zip(situations, actions, strict=True)
        ]
        checks = [_make_action_reader(tuple(allowed)) for allowed in actions]
        system = Message("system", self._system)
        requests = [_request(self._model, (system, Message("user", text)), "player", True) for text in prompts]
        return _ask(self._client, requests, checks, list(fallback))


def read_messages(text: str, agents: Sequence[str]) -> tuple[str, ...]:
    """Messages in the order of `agents`, from a reply with one line `NAME: message` for each agent.

    Raises RejectedReplyError where the reply has another form, or a message is missing, long or not plain.
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
    if len(message) > _MAX_CHARACTERS or not _WRITABLE.fullmatch(message):
        raise RejectedReplyError(
            f"the message of {name} must be one line of plain letters of at most {_MAX_CHARACTERS} characters"
        )
    if (words := len(message.split())) > MAX_WORDS:
        raise RejectedReplyError(f"the message of {name} has {words} words and may have {MAX_WORDS}")
    return message


def _make_action_reader(allowed: tuple[str, ...]) -> Callable[[str], int]:
    plain = [action.strip().lower() for action in allowed]

    def read(text: str) -> int:
        action = read_json_object(text).get("action")
        if not isinstance(action, str) or action.strip().lower() not in plain:
            raise RejectedReplyError("it names none of the listed actions")
        return plain.index(action.strip().lower())

    return read


def _request(model: str, messages: tuple[Message, ...], stage: str, is_json: bool = False) -> ChatRequest:
    return ChatRequest(model=model, messages=messages, max_tokens=200, is_json=is_json, stage=stage)


def _ask(
    client: ChatClient, requests: Sequence[ChatRequest], checks: Sequence[Callable[[str], T]], fallbacks: Sequence[T]
) -> list[Answer[T]]:
    questions = [
        Question(request, check, lambda value=value: value)  # type: ignore[misc]
        for request, check, value in zip(requests, checks, fallbacks, strict=True)
    ]
    return client.ask(questions)
