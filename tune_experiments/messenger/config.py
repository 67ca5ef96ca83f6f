"""Every setting of a run on MESSENGER, with the laptop's values as defaults.

EMMA (Hanjie et al., ICML 2021), sections 3 to 5; constants of training from its release, which EnDi's, a fork of it,
shares. Other presets are made from a laptop's.
"""

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt

from rl_envs import make
from rl_envs.messenger.corpus import Corpus
from rl_envs.messenger.corpus_file import FOLDER_VARIABLE, OWN, PUBLISHED, build_corpus
from rl_envs.messenger.games import Games
from rl_envs.messenger.world import STAGES, Messenger
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.configuration import UnitInterval, Unread, list_constants
from rl_models.networks.network_config import RELEASED, EmmaConfig
from rl_models.rllib.workers import Workers
from rl_models.text.choice import BERT, TextEncoderConfig
from tune_experiments.core.checks import check_distinct
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import PlanArguments, StagedExperimentConfig

MethodName: TypeAlias = Literal["game_id", "emma", "emma_grounding", "emma_movement_grounding"]
GROUNDED = "_grounding"
"""Suffix of methods with our contrastive grounding loss."""
MOVING = "emma_movement"
"""Prefix of methods whose queries contain how sprites move, an idea of ours."""


_ByStage: TypeAlias = tuple[NonNegativeFloat, NonNegativeFloat, NonNegativeFloat]
_SharesByStage: TypeAlias = tuple[UnitInterval, UnitInterval, UnitInterval]


@dataclass(frozen=True, kw_only=True)
class MessengerLearnerConfig(LearnerConfig):
    """Learner of all methods. A triple holds one number for each of MESSENGER's stages."""

    final_learning_rate_share: UnitInterval = 0.05
    """Share of the learning rate, from 0 to 1, that is left at the end of a stage's budget; the release has 1."""
    optimiser_epsilon: PositiveFloat = 1e-8
    """Constant above 0 that the optimiser adds to its denominators."""
    gamma: _SharesByStage = (0.8, 0.99, 0.99)  # type: ignore[assignment]  # `at_stage` gives one number
    """Discounts of an env step, from 0 to 1, by stage, as in the release."""
    num_epochs: PositiveInt = 3
    """Number of epochs over each batch; the release has 4."""
    num_minibatches: tuple[PositiveInt, PositiveInt, PositiveInt] = (4, 4, 4)  # type: ignore[assignment]
    """Numbers of minibatches in an epoch, by stage; the release has 1 of 64 samples."""
    entropy_coef: _ByStage = (0.2, 0.02, 0.03)  # type: ignore[assignment]
    """Weights of the entropy bonus at the start of a stage, by stage; the release has 0.01. With a smaller
    weight in stage 1 the policy memorises the training entities and does worse in unseen games."""
    final_entropy_coef: _ByStage = (0.1, 0.005, 0.01)  # type: ignore[assignment]
    """Weights of the entropy bonus at the end of a stage's budget, by stage."""
    value_coef: NonNegativeFloat = 0.5
    """Weight of the squared value error in the loss, at least 0."""
    grounding_coef: PositiveFloat = 1.0
    """Weight of the contrastive grounding loss, above 0, in methods that have it."""

    def at_stage(self, stage: int) -> LearnerConfig:
        """The numbers of one of MESSENGER's stages, from 1."""
        values = list_constants(self, LearnerConfig)
        by_stage = ("gamma", "num_minibatches", "entropy_coef", "final_entropy_coef")
        return LearnerConfig(**values | {name: values[name][stage - 1] for name in by_stage})


@dataclass(frozen=True, kw_only=True)
class MessengerRunConfig(
    StagedExperimentConfig,
    workers=Workers(worlds_per_runner=64, fragment_length=16),
    budget_env_steps=1_000_000,
    valid_episodes=500,
    test_episodes=1000,
):
    """Settings that all experiments in MESSENGER share."""

    num_agents: ClassVar[int] = 1

    stages: tuple[int, ...] = (1,)
    """Numbers of MESSENGER's stages, from 1 to 3, trained one after another with the same team: 1 2 3 for all."""
    texts: str = "own"
    """Sentences of the world: `own`; a folder with a corpus; or `published`, the one in the folder that
    MESSENGER_TEXT_DIR names."""
    repair_quotes: bool = False
    """Whether mis-decoded quotation marks of a folder's texts become ASCII ones again."""
    max_sentences_per_cell: PositiveInt | None = None
    """Maximum number of sentences for each combination of entity, role and movement, at least 1; it limits the cost of
    slow encoders; None: all."""
    frames: PositiveInt = 3
    """Number of stacked frames in an observation, at least 1; the paper has 3."""
    encoder: TextEncoderConfig = field(default_factory=TextEncoderConfig)
    """How sentences become vectors: `--encoder.name words`, `auto`, or a pretrained encoder by name."""
    network: EmmaConfig = field(default_factory=lambda: EmmaConfig(features=64, channels=16, hidden_size=64))
    """Widths of EMMA and of the Game-ID baseline."""
    freezes_attention: bool = False
    """Whether the embeddings of keys and symbols are frozen after the first stage, as in the authors' code."""
    learner: MessengerLearnerConfig = MessengerLearnerConfig()
    """Learner of all methods, with one number per stage in a triple."""
    first_stage_validate_every_env_steps: PositiveInt = 6_667
    """Number of env steps between validations in the first of the stages; weights are chosen by them."""
    validate_every_env_steps: PositiveInt = 66_667
    """Number of env steps between validations in each later stage."""
    first_stage_checkpoint_every_env_steps: PositiveInt = 20_000
    """Number of env steps between checkpoints in the first of the stages, besides those with the best weights."""
    checkpoint_every_env_steps: PositiveInt = 200_000
    """Number of env steps between checkpoints in each later stage."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "stages")
        if list(self.stages) != sorted(set(self.stages) & set(STAGES)):
            raise UserError(f"--stages must be some of {', '.join(map(str, STAGES))} in this order, not {self.stages}")
        texts = os.environ.get(FOLDER_VARIABLE, PUBLISHED) if self.texts == PUBLISHED else self.texts
        if texts not in (OWN, PUBLISHED):
            object.__setattr__(self, "texts", os.path.abspath(os.path.expanduser(texts)))

    def unread_by(self, method: str) -> Unread:
        """Lengths of stages that there are not, the loss of other methods, and quotes of texts without faults."""
        found: Unread = {}
        if len(self.stages) == 1:
            found["budget_env_steps"] = "give --first-stage-env-steps, or more --stages"
            for name in ("validate_every_env_steps", "checkpoint_every_env_steps"):
                found[name] = f"give --first-stage-{name.replace('_', '-')}, or more --stages"
            found["freezes_attention"] = "give more --stages, or leave it out"
        if not method.endswith(GROUNDED):
            found["learner.grounding_coef"] = "train a method with the grounding loss, or leave it out"
        if self.texts == OWN:
            found["repair_quotes"] = "give the folder of --texts, or leave it out"
        return found

    def stage_arguments(self, stage: int) -> PlanArguments:
        """Processes and lengths of a stage; the first one has its own lengths."""
        if stage != self.stages[0]:
            return self.plan_arguments()
        return self.plan_arguments(self.first_stage_env_steps) | {
            "validate_every_env_steps": self.first_stage_validate_every_env_steps,
            "checkpoint_every_env_steps": self.first_stage_checkpoint_every_env_steps,
        }

    @property
    def last_stage(self) -> int:
        """Number of the stage in which training ends."""
        return self.stages[-1]


@dataclass(frozen=True, kw_only=True)
class MessengerConfig(MessengerRunConfig):
    """One run of EMMA's experiment."""

    learner: MessengerLearnerConfig = field(default_factory=lambda: MessengerLearnerConfig(learning_rate=3e-3))
    """Learner of all methods, with one number per stage in a triple."""
    movement_grounding_coef: NonNegativeFloat = 1.0
    """Weight of the movement contrast, at least 0, in the method emma_movement_grounding."""
    methods: tuple[MethodName, ...] = ("game_id", "emma", "emma_grounding")
    """Methods to train: game_id, emma, emma_grounding, emma_movement_grounding."""

    def unread_by(self, method: str) -> Unread:
        """The same, what reads no texts, and the loss of one method."""
        found = super().unread_by(method)
        if method == "game_id":
            found |= dict.fromkeys(("encoder", "freezes_attention"), "train emma, or leave it out")
        if not method.startswith(MOVING):
            found["movement_grounding_coef"] = "train emma_movement_grounding, or leave it out"
        return found


def corpus_of_run(config: MessengerRunConfig) -> tuple[Corpus, Games]:
    """The sentences of a run, and its games."""
    return build_corpus(config.texts, config.repair_quotes, config.max_sentences_per_cell)


def make_world(
    config: MessengerRunConfig, stage: int, num_worlds: int = 1, first_world: int = 0, **changes: Any
) -> Messenger:
    """Worlds of a stage; roles are observed beside the manual, for the method that does not read it.

    `changes` override arguments, such as `split`.
    """
    arguments: dict[str, Any] = {
        "stage": stage,
        "texts": config.texts,
        "repair_quotes": config.repair_quotes,
        "max_sentences_per_cell": config.max_sentences_per_cell,
        "frames": config.frames,
        "shows_roles": config.num_agents == 1,
        "num_agents": config.num_agents,
    }
    world = make("messenger-v0", num_worlds, first_world=first_world, **arguments | changes)
    assert isinstance(world, Messenger)
    return world


ConfigType = TypeVar("ConfigType", bound=MessengerRunConfig)
_ENTROPY = (0.01, 0.01, 0.01)
RELEASED_LEARNER = MessengerLearnerConfig(
    learning_rate=5e-5,
    final_learning_rate_share=1.0,
    gae_lambda=1.0,
    clip_range=0.1,
    num_epochs=4,
    num_minibatches=(1, 1, 1),
    entropy_coef=_ENTROPY,
    final_entropy_coef=_ENTROPY,
    max_grad_norm=0.0,
)


def smoke(laptop: ConfigType) -> ConfigType:
    """All three stages with tiny networks, which learn nothing."""
    return dataclasses.replace(
        laptop,
        stages=(1, 2, 3),
        max_sentences_per_cell=2,
        encoder=TextEncoderConfig(word_features=4),
        network=EmmaConfig(features=4, channels=2, hidden_size=4),
        workers=Workers(worlds_per_runner=16, fragment_length=8),
        first_stage_env_steps=256,
        budget_env_steps=128,
        first_stage_validate_every_env_steps=128,
        validate_every_env_steps=64,
        valid_episodes=8,
        first_stage_checkpoint_every_env_steps=256,
        checkpoint_every_env_steps=128,
        test_episodes=16,
    )


def reference(laptop: ConfigType, learner: MessengerLearnerConfig = RELEASED_LEARNER) -> ConfigType:
    """The release: one world, 64 env steps an update, frozen BERT."""
    return dataclasses.replace(
        laptop,
        stages=(1, 2, 3),
        encoder=TextEncoderConfig(BERT, padded_to=36),
        network=RELEASED,
        freezes_attention=True,
        learner=learner,
        workers=Workers(worlds_per_runner=1, fragment_length=64),
        first_stage_env_steps=30_000_000,
        budget_env_steps=50_000_000,
        first_stage_validate_every_env_steps=100_000,
        validate_every_env_steps=166_667,
        first_stage_checkpoint_every_env_steps=6_000_000,
        checkpoint_every_env_steps=10_000_000,
    )


def paper(released: ConfigType) -> ConfigType:
    """The release with the paper's network, 4,096 env steps an update in minibatches of 256, and GAE."""
    return dataclasses.replace(
        released,
        encoder=TextEncoderConfig(BERT),
        network=EmmaConfig(),
        learner=dataclasses.replace(
            released.learner,
            learning_rate=3e-4,
            final_learning_rate_share=0.05,
            gae_lambda=0.95,
            num_minibatches=(16, 16, 16),
            max_grad_norm=1.0,
        ),
        workers=Workers(runners=4, worlds_per_runner=64, fragment_length=16, learners=1, gpus_per_learner=1.0),
    )
