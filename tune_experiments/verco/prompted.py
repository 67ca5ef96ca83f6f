"""Chat models in the kitchen: one that chooses actions (the method `api`), and a teacher of messages.

Both use an endpoint whose key is in the environment, and record every exchange, so that a run can be replayed.
An illegal or unknown action is rejected and the question repeated; finally the cook waits.
"""

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rl_envs.core.spec import Array
from rl_envs.salad.symbols import AGENT_NAMES
from rl_envs.salad.text import Narrator
from rl_models.chat.chat_settings import ChatSettings, open_transport
from rl_models.chat.client import ChatClient
from rl_models.chat.endpoint import API_KEY_VARIABLE, BASE_URL_VARIABLE, ChatSettingsError
from rl_models.chat.record import RecordError
from rl_models.chat.team_teacher import MAX_WORDS, ChatPlayer, ChatTeacher
from rl_models.chat.usage import read_usage
from rl_models.policy import TeamPolicy
from tune_experiments.core.errors import UserError
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.verco.answering import AnsweringNetwork, answering_team
from tune_experiments.verco.config import VercoConfig, make_world

_INSTRUCTION = (
    "You are one of two cooks who make a salad together. Foods are chopped on a cutting board, go into a bowl when "
    "they are chopped, and the bowl is served at the delivery. You hold one thing at a time and see only what is near."
)


def check_endpoint(config: VercoConfig) -> None:
    """Check that a chat model's key is set, or that there is a record to replay, else raise UserError."""
    if config.replay:
        trials = (Path(config.replay) / "trials").glob("*")
        if not any((trial / config.chat.record).is_file() for trial in trials):
            raise UserError(
                f"--replay must be the folder of a run with records of a chat model, which {config.replay} is not"
            )
        return
    if config.chat.backend == "openai" and not os.environ.get(API_KEY_VARIABLE):
        raise UserError(
            f"this run needs a chat model, but {API_KEY_VARIABLE} is not set in the environment: set it (and "
            f"{BASE_URL_VARIABLE} for a server of your own), repeat a run from its records with "
            "--replay FOLDER, or leave out the method api and the endpoint's teacher"
        )


def trial_chat_settings(config: VercoConfig, trial_folder: Path | None) -> ChatSettings:
    """Settings of a trial's chat model, with the record in its folder, or that of the same trial in a replayed run."""
    chat, folder = config.chat, trial_folder or Path()
    if config.replay:
        folder = Path(config.replay) / "trials" / folder.name
        chat = dataclasses.replace(chat, backend="replay")
    return dataclasses.replace(chat, record=str(folder / chat.record))


class EndpointTeacher:
    """Writes the messages of both cooks from both observations; scripted ones if no reply is valid."""

    def __init__(self, config: VercoConfig, trial_folder: Path | None) -> None:
        self._narrator, self._chat = Narrator(make_world(config)), trial_chat_settings(config, trial_folder)
        self._client = client(self._chat, config.concurrency)
        self._teacher = ChatTeacher(self._client, self._chat.model, AGENT_NAMES)
        self._known: dict[str, tuple[str, ...]] = {}

    def messages(self, situations: Array, scripted: list[list[str]]) -> list[tuple[str, ...]]:
        """`[B][N]` for situations [B, N, F]; one question for each distinct one."""
        prompts = [self._narrator.teacher_prompt(list(team), MAX_WORDS) for team in situations]
        new = {prompt: row for row, prompt in enumerate(prompts) if prompt not in self._known}
        taught = self._teacher.messages(list(new), [scripted[row] for row in new.values()])
        self._known |= {prompt: one.value for prompt, one in zip(new, taught, strict=True)}
        return [self._known[prompt] for prompt in prompts]

    def metrics(self) -> dict[str, float]:
        """Results and costs of the questions, for the log."""
        counts = {name: float(count) for name, count in self._client.counts.items()}
        return {f"teacher/{name}": number for name, number in (counts | usage(self._chat)).items()}


@functools.lru_cache(2)
def client(settings: ChatSettings, concurrency: int) -> ChatClient:
    """The endpoint's client, one in a process, because there is one record; a UserError if either cannot be used."""
    try:
        return ChatClient(open_transport(settings, Path()), concurrency)
    except (ChatSettingsError, RecordError) as error:
        raise UserError(str(error)) from error


def usage(settings: ChatSettings) -> dict[str, float]:
    """Totals of the exchanges of a trial, name -> number; empty without questions."""
    record = Path(settings.record)
    return read_usage(record).numbers(settings.prices) if record.is_file() else {}


def refusals(chat: ChatSettings, concurrency: int, trial_folder: Path) -> dict[str, float]:
    """Numbers of questions, of rejected and of missing answers of a trial, name -> number; empty if all are 0.

    A teacher's are in the log: a trial that was continued after the warm start does not ask again.
    """
    log = trial_folder / METRICS_FILE
    taught = [row for row in read_metrics(log) if "teacher/asked" in row] if log.is_file() else []
    counts: Mapping[str, float] = client(chat, concurrency).counts if Path(chat.record).is_file() else {}
    if taught:
        counts = {name.removeprefix("teacher/"): number for name, number in taught[-1].items()}
    return {f"chat_{name}": float(counts.get(name, 0)) for name in ("asked", "rejected", "fallback")} if counts else {}


class PromptedNetwork(AnsweringNetwork):
    """The action of each cook is a chat model's answer."""

    def __init__(self, config: VercoConfig, trial_folder: Path | None) -> None:
        world = make_world(config)
        super().__init__(world.num_agents)
        self._chat, self._concurrency = trial_chat_settings(config, trial_folder), config.concurrency
        self._narrator = Narrator(world)
        self._known: dict[tuple[str, tuple[str, ...]], int] = {}

    def answers(
        self, situations: Sequence[Array], agents: Sequence[int], choices: Sequence[Sequence[int]]
    ) -> list[int]:
        """See `AnsweringNetwork.answers`, situations [N, F] each; repeated questions are cached."""
        codes = [team[agent] for team, agent in zip(situations, agents, strict=True)]
        questions = [
            (self._narrator.action_prompt(code), tuple(self._narrator.actions(code)[a] for a in some))
            for code, some in zip(codes, choices, strict=True)
        ]
        new = [question for question in dict.fromkeys(questions) if question not in self._known]
        if new:
            player = ChatPlayer(client(self._chat, self._concurrency), self._chat.model, _INSTRUCTION)
            answers = player.choose([text for text, _ in new], [some for _, some in new], [0] * len(new))
            self._known |= {question: answer.value for question, answer in zip(new, answers, strict=True)}
        return [some[self._known[question]] for question, some in zip(questions, choices, strict=True)]


def prompted_team(config: VercoConfig, seed: int, trial_folder: Path | None) -> TeamPolicy:
    """Two cooks whose actions are a chat model's."""
    network = PromptedNetwork(config, trial_folder)
    return answering_team(network, len(make_world(config).macros))
