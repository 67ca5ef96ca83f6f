"""One stage of the planner asked many times at once: prompt rendered, reply checked, everything in the transcript.

Prompts are text files of this package: the system message, a line of three dashes, the user message.
"""

import functools
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Generic, TypeVar

from rl_models.chat.client import Answer, ChatClient, Question
from rl_models.chat.exchange import ChatRequest, Message
from rl_models.chat.parsing import read_record
from rl_models.planners.replies import Reply
from rl_models.planners.transcript import Transcript

R = TypeVar("R", bound=Reply)
T = TypeVar("T")


@dataclass(frozen=True)
class Stage(Generic[R]):
    """A stage: its prompt and the form of its reply.

    Attributes:
        name: name of the stage and of its prompt's file.
        reply: form of the reply.
        max_tokens: largest number of tokens of a reply.
    """

    name: str
    reply: type[R]
    max_tokens: int = 800


@dataclass(frozen=True)
class Call(Generic[R, T]):
    """One question of a stage.

    Attributes:
        values: name in the prompt -> text that replaces it.
        rule: answers without a model.
        check: turns a reply into the result; raises `RejectedReplyError`.
        fallback: builds the result when no reply can be used; None where the rule's reply always passes the check.
        choices, agent: phrases that a backend may score, and the agent that gets one of them.
    """

    values: Mapping[str, str]
    rule: Callable[[], R]
    check: Callable[[R], T]
    fallback: Callable[[], T] | None = None
    choices: tuple[str, ...] = ()
    agent: str = ""


class Caller:
    """Sends the questions of all stages to one backend, and records them in a transcript."""

    def __init__(
        self,
        client: ChatClient,
        model: str,
        transcript: Transcript | None = None,
        seed: int | None = None,
        prepare: Callable[[Sequence[ChatRequest]], None] | None = None,
    ) -> None:
        """Bind a backend.

        `seed` is the sampling seed of every request; a server may ignore it. `prepare` is called with all requests of a
        stage before they are asked; a backend may answer them together.
        """
        self._client, self._model, self._seed, self._prepare = client, model, seed, prepare
        self.transcript = transcript or Transcript()

    @property
    def counts(self) -> dict[str, int]:
        """How questions ended so far (`ChatClient.counts`)."""
        return dict(self._client.counts)

    def call(self, stage: Stage[R], calls: Sequence[Call[R, T]]) -> list[Answer[T]]:
        """Answers to all calls of a stage, in their order."""
        questions = [self._question(stage, call) for call in calls]
        if self._prepare is not None:
            self._prepare([question.request for question in questions])
        answers = self._client.ask(questions)
        for question, answer in zip(questions, answers, strict=True):
            self.transcript.add_call(question.request, answer)
        return answers

    def _question(self, stage: Stage[R], call: Call[R, T]) -> Question[T]:
        request = ChatRequest(
            model=self._model,
            messages=render(stage.name, call.values),
            max_tokens=stage.max_tokens,
            seed=self._seed,
            is_json=True,
            choices=call.choices,
            stage=stage.name,
            context=call.agent or call.rule,
        )
        fallback = call.fallback or (lambda: call.check(call.rule()))
        return Question(request, lambda text: call.check(read_record(text, stage.reply)), fallback)


def render(stage: str, values: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages of a stage; values are put in as they are and never read as a prompt again."""
    system, user = _prompt(stage)
    return Message("system", system.substitute(values)), Message("user", user.substitute(values))


@functools.cache
def _prompt(stage: str) -> tuple[string.Template, string.Template]:
    text = files("rl_models.planners.prompts").joinpath(f"{stage}.txt").read_text(encoding="utf-8")
    system, user = text.split("\n---\n")
    return string.Template(system.strip()), string.Template(user.strip())
