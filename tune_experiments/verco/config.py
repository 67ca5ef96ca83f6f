"""Every setting of a run in the salad kitchen, with the laptop's values as defaults.

Constants of the published agents are the preset `paper`. `trials.py` builds a trial from it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs import make
from rl_envs.salad.tasks import TASKS
from rl_envs.salad.world import Salad
from rl_models.algorithms.learner_config import LearnerConfig, ValueLossAt
from rl_models.chat.chat_settings import ChatSettings
from rl_models.configuration import MAY_CHANGE, UnitInterval, Unread, fields_of_others
from rl_models.hub.catalog import absolute_model_name
from rl_models.llm.llm_config import DistillationSettings, LanguageTeamSettings
from rl_models.networks.network_config import VectorConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig
from tune_experiments.run.run_folder import LANGUAGE_MODEL

FIRST_WARM_START_WORLD = 10_000
"""First world of the warm start and the corpus; training uses other worlds."""
_SYMBOLIC = ("symbolic_ppo", "symbolic_imitation_ppo", "commnet")
"""Methods with vector observations."""
_WARM_STARTED = ("verco", "shuffled")
"""Methods whose message adapter is trained before PPO."""


@dataclass(frozen=True)
class WarmStartSettings:
    """Rollouts of scripted cooks with random errors, for the small model's corpus or a teacher's messages."""

    worlds: PositiveInt = 8
    """Number of kitchens in parallel."""
    env_steps: PositiveInt = 60
    """Number of env steps of each kitchen in a round."""
    error: UnitInterval = 0.4
    """Share of decisions, from 0 to 1, that are random instead of the cooks'."""


@dataclass(frozen=True)
class CorpusSettings(WarmStartSettings):
    """Corpus of the small model: messages of the teacher, and legal or expert actions, in generated kitchens."""

    kitchens: PositiveInt = 36
    """Number of generated kitchens, none of which is in a test."""
    worlds: PositiveInt = 3
    """Number of parallel games in each kitchen."""
    env_steps: PositiveInt = 90
    """Number of env steps of each game."""
    expert_share: UnitInterval = 0.75
    """Share of the actions, from 0 to 1, that are a scripted cook's; the others are random legal ones. With 0 the model
    does not read how a salad is made, and PPO must find it out; a large model knows it from its own training texts."""
    follow_share: UnitInterval = 1.0
    """Share of the actions after a message, from 0 to 1, that are those of a cook that follows it; the others are those
    of a cook without messages. With 0 the model does not read that messages are to be followed; a large model knows it
    from its own training texts."""


@dataclass(frozen=True, kw_only=True)
class ImitationSettings:
    """Imitation of the corpus' decisions by a team with vector observations."""

    num_epochs: PositiveInt = 30
    """Number of epochs over all decisions."""
    batch_size: PositiveInt = 128
    """Number of decisions in a minibatch."""
    learning_rate: PositiveFloat = 3e-3
    """Learning rate of Adam, above 0."""


@dataclass(frozen=True, kw_only=True)
class VercoLearnerConfig(LearnerConfig):
    """Learner of all methods: each cook has its own ratio, and values are learned at decisions.

    A decision of d env steps is discounted by gamma^d, and lambda counts once for each decision.
    """

    learning_rate: PositiveFloat = 3e-3
    """Learning rate of language teams at the start, above 0."""
    symbolic_learning_rate: PositiveFloat = 3e-3
    """Learning rate of teams with vector observations at the start, above 0."""
    critic_learning_rate: NonNegativeFloat = 0.0
    """Learning rate of a language team's value head at the start, at least 0; 0: the team's learning rate."""
    joint_ratio: bool = False
    """Whether the loss has one probability ratio for the whole team; if not, each agent has a ratio of its own."""
    value_loss_at: ValueLossAt = "decisions"
    """Steps at which values are learned: all, or decisions, those at which an agent decides or a fragment begins."""
    value_coef: NonNegativeFloat = 0.5
    """Weight of the squared value error in the loss, at least 0."""
    final_entropy_coef: NonNegativeFloat | None = 0.002
    """Weight of the entropy bonus to which it falls linearly, at least 0; None keeps the weight constant."""
    max_grad_norm: NonNegativeFloat = 0.5
    """Maximum global gradient norm, at least 0; 0 clips no gradient."""


@dataclass(frozen=True, kw_only=True)
class VercoConfig(
    ExperimentConfig,
    workers=Workers(worlds_per_runner=16, fragment_length=32),
    validate_every_env_steps=2_500,
    valid_episodes=32,
    checkpoint_every_env_steps=4_000,
):
    """One run in one kitchen."""

    methods: tuple[str, ...] = (
        "verco",
        "twosome",
        "symbolic_ppo",
        "symbolic_imitation_ppo",
        "commnet",
        "lookup",
        "base",
    )
    """Methods to train: verco, twosome, shuffled, teacher_messages, symbolic_ppo, symbolic_imitation_ppo, commnet,
    lookup, base, base_sum, base_token, base_word, api."""
    task: str = "tomato_b"
    """Name of the kitchen with its order: SALAD_MAP, where SALAD is tomato, lettuce, lettuce_tomato, onion,
    onion_tomato, lettuce_onion or lettuce_onion_tomato, and MAP is a, b, c or d; or secret_order; or tuning_order,
    for tuning."""
    model: str = ""
    """Causal language model, as --team.language.model: a name of `concord models`, a folder or a hub id; empty: a small
    one that learns the kitchen's texts first."""
    team: LanguageTeamSettings = field(default_factory=LanguageTeamSettings)
    """The team's language model, adapters, messages and critic."""
    symbolic: VectorConfig = field(default_factory=VectorConfig)
    """Widths of teams with vector observations."""
    corpus: CorpusSettings = CorpusSettings()
    """Corpus of the small model, the same for every task, without the tested kitchens."""
    imitation: ImitationSettings = ImitationSettings()
    """Imitation of the corpus' decisions in the method symbolic_imitation_ppo, before PPO."""
    warm_start: WarmStartSettings = WarmStartSettings(worlds=16, env_steps=80)
    """Size and errors of the rollouts for the teacher in each round."""
    warm_start_by: Literal["cooks", "policy"] = "cooks"
    """Policy of the warm start's rollouts: cooks, scripted cooks with random errors; policy, the team before it learns
    to act."""
    rounds: PositiveInt = 2
    """Number of rounds of the warm start before the team learns to act."""
    distillation: DistillationSettings = field(default_factory=lambda: DistillationSettings(num_epochs=3))
    """Training of the message adapter."""
    teacher: Literal["scripted", "endpoint"] = "scripted"
    """Teacher that writes the messages of the warm start: `scripted`, rules written by hand; `endpoint`, a chat
    model."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """Connection to a chat model, for this teacher and for the method `api`."""
    concurrency: PositiveInt = field(default=4, metadata=MAY_CHANGE)
    """Number of concurrent questions to a chat model."""
    replay: str = ""
    """Folder of a run whose records replace the endpoint's answers, to repeat that run offline."""
    learner: VercoLearnerConfig = VercoLearnerConfig()
    """Learner of all methods, each cook with its own ratio."""
    max_episode_steps: NonNegativeInt = 0
    """Number of env steps of an episode, in training and in tests; 0: as many as the task has."""
    training_episode_steps: NonNegativeInt = 64
    """Number of env steps of an episode only in training; 0: the same as in tests."""
    budget_env_steps: PositiveInt = 20_000
    """Number of joint env steps of training, after the warm start."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._find_folders()
        if self.task not in TASKS:
            raise UserError(f"--task must be one of {', '.join(TASKS)}, not {self.task!r}")
        if "symbolic_imitation_ppo" in self.methods and self.corpus_env_steps >= self.budget_env_steps:
            raise UserError(
                f"--budget-env-steps must be above the {self.corpus_env_steps:,} of the corpus, which count in the "
                f"budget of the method symbolic_imitation_ppo, not {self.budget_env_steps:,}; or leave out that method"
            )
        talkers = sorted({"twosome", "teacher_messages", *_WARM_STARTED} & {*self.methods})
        if talkers and (self.learner.joint_ratio or self.learner.value_loss_at == "all"):
            flag = "--learner.no-joint-ratio" if self.learner.joint_ratio else "--learner.value-loss-at decisions"
            raise UserError(
                f"{talkers[0]} has no values of cooks that carry on, which this learner needs: choose {flag}, or leave "
                "out methods with a language model"
            )
        if "shuffled" in self.methods:  # messages of another kitchen
            for flag, value in (
                ("--workers.worlds-per-runner", self.workers.worlds_per_runner),
                ("--valid-episodes", self.valid_episodes),
            ):
                if value < 2:
                    raise UserError(f"{flag} must be at least 2 with the method shuffled, not {value}")
            if self.workers.worlds_per_runner < 2 * self.workers.world_groups:
                raise UserError(
                    f"--workers.world-groups {self.workers.world_groups} leaves a group without two worlds, and "
                    f"shuffled hears messages of another world of its group: lower it, or leave out that method"
                )
        width, heads = self.team.language.small.width, self.team.language.small.heads
        if width % (2 * heads):
            raise UserError(
                "--team.language.small.width must be a multiple of twice --team.language.small.heads, "
                f"{2 * heads}, not {width}"
            )
        if not self.symbolic.hidden_sizes or min(self.symbolic.hidden_sizes) < 1:
            raise UserError(
                f"--symbolic.hidden-sizes must be one or more widths of at least 1, not {self.symbolic.hidden_sizes}"
            )

    def _find_folders(self) -> None:
        """Make paths absolute, because trials run and are evaluated in other folders; hub ids are not changed."""
        named = self.team.language.model
        model = absolute_model_name(self.model)
        if model and named and named != model:
            raise UserError(f"--model {self.model} and --team.language.model {named} differ: name one language model")
        object.__setattr__(self, "model", model or named)
        object.__setattr__(self, "team", dataclasses.replace(self.team, adapters=_whole(self.team.adapters)))
        object.__setattr__(self, "replay", _whole(self.replay))

    def unread_by(self, method: str) -> Unread:
        """Settings of other methods, and of other teachers and language models."""
        asking = ("api", *(_WARM_STARTED if self.teacher == "endpoint" else ()))
        of_messages = {f"distillation.{one.name}" for one in fields(self.distillation)} - {"distillation.held_out"}
        readers: dict[str, tuple[str, ...]] = {
            **dict.fromkeys(("symbolic", "learner.symbolic_learning_rate"), _SYMBOLIC),
            **dict.fromkeys(("warm_start", "warm_start_by", "rounds", "teacher", *sorted(of_messages)), _WARM_STARTED),
            "imitation": ("symbolic_imitation_ppo",),
        }
        found = {"team.messages.heard": "choose --methods twosome or shuffled"} | fields_of_others(method, readers)
        if method not in asking:
            found |= dict.fromkeys(("chat", "concurrency", "replay"), "train api, or choose --teacher endpoint")
        if method in (*_SYMBOLIC, "lookup", "api"):
            names = ("model", "team", "learner.learning_rate", "learner.critic_learning_rate")
            found |= dict.fromkeys(names, "train a method with a language model, such as verco, or leave it out")
        if self.model:
            found["team.language.small"] = "leave out --model, or the flag"
        if method.startswith(("base_", "twosome")):
            found["team.messages"] = "train a method with messages, such as verco, or leave it out"
        if method.startswith("base_"):
            found["team.normalisation"] = "train base, or leave it out"
        if method.startswith(("base", "lookup", "api")):
            found["learner"] = "train a method that learns, such as verco, or leave it out"
        return found

    @property
    def pretrained_model(self) -> str:
        """The language model that a run records, if one is named."""
        return self.model

    @property
    def corpus_env_steps(self) -> int:
        """Number of env steps of the corpus."""
        return self.corpus.kitchens * self.corpus.worlds * self.corpus.env_steps

    @property
    def changes(self) -> dict[str, Any]:
        """Changed arguments of the task's worlds."""
        return {"max_episode_steps": self.max_episode_steps} if self.max_episode_steps else {}

    @property
    def training(self) -> VercoConfig:
        """The configuration with the horizon of training."""
        return dataclasses.replace(self, max_episode_steps=self.training_episode_steps or self.max_episode_steps)

    def language_team(self, trial_folder: Path | None) -> LanguageTeamSettings:
        """The team's settings with this run's model; a small one is that of the trial, if its folder exists."""
        kept = trial_folder / LANGUAGE_MODEL if trial_folder is not None and not self.model else None
        model = str(kept) if kept is not None and kept.is_dir() else self.model
        return dataclasses.replace(self.team, language=dataclasses.replace(self.team.language, model=model))


def _whole(path: str) -> str:
    """The absolute path of an existing folder; other names are not changed."""
    found = Path(path).expanduser()
    return str(found.absolute()) if path and found.is_dir() else path


def make_world(config: VercoConfig, num_worlds: int = 1, first_world: int = 0) -> Salad:
    """Kitchens of a run."""
    return salad_world(TASKS[config.task] | config.changes, num_worlds, first_world)


def salad_world(arguments: dict[str, Any], num_worlds: int = 1, first_world: int = 0) -> Salad:
    """Kitchens with these arguments of `salad-v0`."""
    world = make("salad-v0", num_worlds, first_world=first_world, **arguments)
    assert isinstance(world, Salad)
    return world
