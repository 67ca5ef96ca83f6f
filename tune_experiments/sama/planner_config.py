"""Settings of the planner, common to all games: the planner, and the content of its prompts."""

import dataclasses
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal, Protocol, TypeAlias, TypeVar

from pydantic import Field, NonNegativeInt, PositiveInt

from rl_models.chat.chat_settings import ChatSettings
from rl_models.configuration import MAY_CHANGE, UnitInterval, Unread
from rl_models.hub.catalog import absolute_model_name
from rl_models.llm.llm_config import Normalisation
from rl_models.planners.commander import RandomFrom
from rl_models.planners.domain import Domain
from rl_models.planners.rewards import RewardSource
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig

MAX_REFLECTIONS = 3
RULES = ("offline", "noisy")
"""Planners without a language model."""
LOCAL = (*RULES, "scored")
"""Planners that run in this process."""
PlannerName: TypeAlias = Literal["offline", "noisy", "scored", "openai", "replay"]
_DEFAULT_MODEL = "gpt-4o-mini"
_SHARES = (0.25, 0.5, 0.75, 1.0)
_MANY_SHOTS = 3


class GameDomain(Domain, Protocol):
    """A `Domain` of one game."""

    title: str
    """Common name of the game, for questions about papers."""
    map: str
    """Text of the map, below a manual that was written from a paper."""
    source: Path
    """Folder with the source code of the game."""


@dataclass(frozen=True)
class ModelSettings:
    """The language model of the planners `openai`, `replay` and `scored`."""

    name: str = _DEFAULT_MODEL
    """Name of the model at the endpoint; for `scored` a name of `concord models`, a folder or a hub id."""
    normalisation: Normalisation = "token"
    """Divisor of a sub-goal's log-probability in `scored`: sum, none; token, its number of tokens; word, its number of
    words."""
    folder: str = ""
    """Folder of the record of all exchanges with the model, and of transcripts, with one folder in it for each kitchen:
    recorded questions are not sent again, and `replay` reads from there. By default it is one in the user's cache."""
    concurrency: PositiveInt = field(default=4, metadata=MAY_CHANGE)
    """Largest number of concurrent calls of all trials together."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """Limits of a call, and budget of all trials together in one session of a run; its fields model and record have no
    effect."""


@dataclass(frozen=True, kw_only=True)
class PlannerConfig(ExperimentConfig):
    """One run with a planner."""

    planner: PlannerName = "offline"
    """Planner: offline, rules written by hand; noisy, these rules with errors on purpose; scored, a language model on
    this machine (--model.name), which scores the sub-goals that are possible now; openai, a language model behind an
    endpoint; replay, the record of one."""
    noise: Literal["weak", "weaker"] = "weak"
    """Error rate of the noisy planner: weak, or weaker, which is higher."""
    goals: Literal["sama", "deps", "plan4mc"] = "sama"
    """Method of goal generation: sama, deps or plan4mc."""
    reflections: Annotated[int, Field(ge=0, le=MAX_REFLECTIONS)] = MAX_REFLECTIONS
    """Maximum number of retries after a failed round, from 0 to 3, each after a reflection."""
    after_failure: Literal["reflect", "retry"] = "reflect"
    """Preparation of a retry: reflect, the planner reflects and remembers; retry, the control of reflection, a
    planner with another seed and an empty memory plans again; offline and scored read no seed, so they repeat the
    failed plan."""
    random_share: UnitInterval = 0.0
    """Share of the commands, from 0 to 1, that are replaced by random ones in the test."""
    random_from: RandomFrom = "all"
    """Sub-goals from which random commands are drawn: all, or possible, those that the agent can begin now."""
    manual: str = ""
    """LaTeX file of a paper about the game; from it the planner's model writes the rules for prompts and policies;
    empty: the game's own rules."""
    translates_states: bool = False
    """Whether the planner's model describes states in sentences, with the game's source code in its prompt."""
    extracts_objects: bool = True
    """Whether prompts name the objects and list the valid sub-goals."""
    shots: NonNegativeInt = 1
    """Number of worked examples in a prompt, at least 0."""
    reward_source: RewardSource = "builtin"
    """Source of the tests of sub-goals: builtin, hand-written; code, written by the planner's model in Python."""
    model: ModelSettings = field(default_factory=ModelSettings)
    """The language model of the planners that need one."""
    record: str = ""
    """Folder in which all questions and answers are saved, those of rules and scores, too; empty: only those of a
    language model behind an endpoint are saved, in `--model.folder`."""
    replay: str = ""
    """Folder of --record or --model.folder of another run; its answers replace those of the planner."""

    def __post_init__(self) -> None:
        """Check the values, and make paths absolute: trials run and continue in other folders."""
        super().__post_init__()
        if self.record and self.replay:
            raise UserError("--record and --replay exclude each other: leave one out")
        self._check_scored()
        asked = "" if self.planner in LOCAL else self.replay or self.record
        if asked and self.model.folder and absolute(asked) != absolute(self.model.folder):
            flag = "--replay" if self.replay else "--record"
            raise UserError(f"{flag} {asked} and --model.folder {self.model.folder} name two records: leave one out")
        name = absolute_model_name(self.model.name) if self.planner == "scored" else self.model.name
        model = dataclasses.replace(self.model, name=name, folder=absolute(asked or self.model.folder))
        planner = "replay" if self.replay and self.planner == "openai" else self.planner
        paths = {name: absolute(getattr(self, name)) for name in ("manual", "record", "replay")}
        for name, value in (paths | {"model": model, "planner": planner}).items():
            object.__setattr__(self, name, value)

    def unread_by(self, method: str) -> Unread:
        """Settings of other planners, and of what is switched off."""
        found: Unread = dict.fromkeys(("model.chat.model", "model.chat.record"), "give --model.name or --model.folder")
        if self.planner in RULES:
            found["model"] = "choose a --planner with a language model, or leave it out"
        if self.planner == "scored":
            found["extracts_objects"] = "choose a --planner that writes, or leave it out"
        else:
            found["model.normalisation"] = "choose --planner scored, or leave it out"
        if self.planner != "noisy":
            found["noise"] = "choose --planner noisy, or leave it out"
        return found

    @property
    def pretrained_model(self) -> str:
        """The model that a run records, if the planner uses one on this machine."""
        return self.model.name if self.planner == "scored" and not self.replay else ""

    def _check_scored(self) -> None:
        """Check that `--planner scored` has a model, and no setting that needs generated text."""
        if self.planner != "scored":
            return
        if self.model.name in ("", _DEFAULT_MODEL):
            raise UserError(
                "--planner scored needs a language model on this machine: add --model.name smollm2-135m-instruct, "
                "another name of `concord models`, a folder or a hub id"
            )
        written = {
            "--reward-source code": self.reward_source == "code",
            "--manual": bool(self.manual),
            "--translates-states": self.translates_states,
            "--goals deps": self.goals == "deps",
        }
        for flag in (flag for flag, is_set in written.items() if is_set):
            self.check_not_scored(flag)

    def check_not_scored(self, flag: str) -> None:
        """Raise UserError for a flag that needs generated text, if the planner is `scored`."""
        if self.planner == "scored":
            raise UserError(
                f"{flag} needs a planner that writes, and --planner scored only scores sub-goals: leave it out, or "
                "choose --planner openai"
            )

    def domain(self, task: str) -> GameDomain:
        """Domain of a task, such as a kitchen, that the planner plans for."""
        raise NotImplementedError(f"{type(self).__name__} names no domain")


PLANNER_FIELDS = {one.name for one in fields(PlannerConfig)} - {one.name for one in fields(ExperimentConfig)}
"""Names of a planner's own settings."""
Planned = TypeVar("Planned", bound=PlannerConfig)
"""Type of a configuration with a planner."""


def as_loaded(config: Planned) -> Planned:
    """The configuration with which a stored run is loaded, perhaps from another user.

    It names no folder to write and no paid endpoint: answers of a language model are replayed from their record. A
    model on this machine scores again, with the same plans.
    """
    return dataclasses.replace(config, planner=config.planner if config.planner in LOCAL else "replay", record="")


def absolute(path: str) -> str:
    """The absolute path; "" is not changed."""
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def erring_tests(config: Planned, noise: Literal["weak", "weaker"], name: str) -> dict[str, Planned]:
    """Noisy rules with 0 to 3 reflections and with as many retries, never replayed: records lack their answers."""
    replay = config.replay if config.planner in RULES else ""
    noisy = dataclasses.replace(config, planner="noisy", noise=noise, replay=replay, after_failure="reflect")
    again = dataclasses.replace(noisy, after_failure="retry")
    counts = range(MAX_REFLECTIONS + 1)
    found = {f"{name}, {n} reflections": dataclasses.replace(noisy, reflections=n) for n in counts}
    return found | {f"{name}, {n} retries": dataclasses.replace(again, reflections=n) for n in counts[1:]}


def random_tests(config: Planned) -> dict[str, Planned]:
    """Shares of random commands, without reflection."""
    return {f"random commands {n}": dataclasses.replace(config, random_share=n, reflections=0) for n in _SHARES}


def goal_tests(config: Planned) -> dict[str, Planned]:
    """Other methods of goal generation."""
    return {"DEPS": dataclasses.replace(config, goals="deps"), "Plan4MC": dataclasses.replace(config, goals="plan4mc")}


def prompt_tests(config: Planned) -> dict[str, Planned]:
    """Other prompts, only for language models."""
    if config.planner in RULES:
        return {}
    found = {f"{_MANY_SHOTS} shots": dataclasses.replace(config, shots=_MANY_SHOTS)}
    if config.planner == "scored":  # its prompts name no objects
        return found
    return {"no objects extracted": dataclasses.replace(config, extracts_objects=False)} | found
