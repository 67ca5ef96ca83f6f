"""Every setting of a run on MESSENGER, with the laptop's values as defaults.

EMMA (Hanjie et al., ICML 2021), sections 3 to 5; constants of training from its release. How settings become stages is
`trials.py`.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from rl_envs import make
from rl_envs.messenger.corpus_file import FOLDER_VARIABLE, OWN, PUBLISHED
from rl_envs.messenger.world import STAGES, Messenger
from rl_models.networks.emma_body import EmmaConfig
from rl_models.rllib.workers import Workers
from rl_models.text.choice import AUTO, WORDS, TextEncoderConfig
from tune_experiments.experiment.checks import check_above, check_at_least, check_between, check_some, check_workers
from tune_experiments.experiment.errors import UserError

RowName: TypeAlias = Literal["game_id", "emma", "emma_grounding"]
GROUNDED = "_grounding"
"""Rows with the contrastive grounding loss, which no paper has, end with it."""


@dataclass(frozen=True)
class LearnerSettings:
    """PPO. A triple holds one number for each of MESSENGER's stages."""

    learning_rate: float = 1e-3
    """Adam's, at the start of a stage."""
    final_learning_rate_share: float = 0.05
    """Of the learning rate, reached linearly at the end of a stage's budget; the release: 1."""
    gamma: tuple[float, float, float] = (0.8, 0.99, 0.99)
    """Discount of an env step, by stage; as released."""
    lambda_: float = 0.95
    """Of GAE; 1 for plain returns, as in the release."""
    clip: float = 0.2
    """Clipping range; the release: 0.1."""
    epochs: int = 3
    """Passes over each batch; the release: 4."""
    minibatches: tuple[int, int, int] = (4, 4, 4)
    """Of whole fragments in a pass, by stage; the release: 1, of 64 samples."""
    entropy_weight: tuple[float, float, float] = (0.2, 0.02, 0.03)
    """Of the entropy bonus, at the start of a stage, by stage; the release: 0.01. In stage 1 less of it learns entities
    by heart, at the cost of new games."""
    final_entropy_weight: tuple[float, float, float] = (0.1, 0.005, 0.01)
    """The same at the end of a stage's budget."""
    value_weight: float = 0.5
    """Of the squared value error."""
    clip_gradient: float = 1.0
    """Largest norm of all gradients together; 0 for none, as in the release."""
    grounding_weight: float = 1.0
    """Of the contrastive grounding loss, in the row `emma_grounding` alone."""


@dataclass(frozen=True)
class MessengerRunConfig:
    """What all experiments in MESSENGER have in common."""

    num_agents: ClassVar[int] = 1

    methods: tuple[str, ...] = ()
    """Rows of the table."""
    stages: tuple[int, ...] = (1,)
    """Of MESSENGER, one after another by the same team: 1, 2, 3 for all."""
    texts: str = "own"
    """`own` sentences; a folder with a corpus; or `published`, the one in the folder that MESSENGER_TEXT_DIR names."""
    repair_quotes: bool = False
    """Give mis-decoded quotation marks of a folder's texts back as ASCII ones."""
    max_sentences_per_cell: int | None = None
    """At most so many sentences about an entity in a role with a movement, for encoders that take long."""
    frames: int = 3
    """Moments that are seen."""
    encoder: TextEncoderConfig = field(default_factory=TextEncoderConfig)
    """How sentences become vectors: `--encoder.name words`, `auto`, a folder or a hub id."""
    network: EmmaConfig = field(default_factory=lambda: EmmaConfig(features=64, channels=16, hidden_size=64))
    """Widths of EMMA and of the Game-ID baseline."""
    freezes_attention: bool = False
    """After the first stage leave alone what finds the sentences about a sprite (keys and symbols), as the release."""
    learner: LearnerSettings = LearnerSettings()
    """For all rows."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=64, fragment_length=16))
    """Processes and worlds of a trial."""
    first_stage_env_steps: int = 100_000
    """Env steps of training in the first of the stages."""
    budget_env_steps: int = 1_000_000
    """Env steps of training in each later stage."""
    validations: int = 15
    """Of a stage; weights are chosen by them."""
    valid_episodes: int = 500
    """Of each, on games and sentences of the validation split."""
    checkpoints: int = 5
    """Of a stage, besides those with the best weights."""
    test_episodes: int = 1000
    """In each column of the table."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        check_some(self, "methods", "stages")
        if list(self.stages) != sorted(set(self.stages) & set(STAGES)):
            raise UserError(f"--stages must be some of {', '.join(map(str, STAGES))} in this order, not {self.stages}")
        check_at_least(1, self, "first_stage_env_steps", "budget_env_steps", "validations", "checkpoints", "frames")
        check_at_least(1, self, "valid_episodes", "test_episodes", "learner.epochs", "learner.minibatches")
        check_workers(self)
        check_at_least(1, self, "network.features", "network.channels", "network.hidden_size", "encoder.word_features")
        check_at_least(0, self, "encoder.padded_to", "learner.clip_gradient", "learner.entropy_weight")
        check_at_least(0, self, "learner.final_entropy_weight", "learner.value_weight")
        check_above(0, self, "learner.learning_rate", "learner.clip", "learner.grounding_weight")
        check_between(0, 1, self, "learner.gamma", "learner.lambda_", "learner.final_learning_rate_share")
        if self.max_sentences_per_cell is not None:
            check_at_least(1, self, "max_sentences_per_cell")
        self._keep_folders()

    def _keep_folders(self) -> None:
        """Make paths absolute: a run is continued and evaluated from other folders, shells and machines, too."""
        encoder = self.encoder
        name = encoder.name
        if name not in (WORDS, AUTO) and os.path.isdir(name):
            name = os.path.abspath(name)
        folder = os.path.abspath(os.path.expanduser(encoder.folder)) if encoder.folder else ""
        object.__setattr__(self, "encoder", dataclasses.replace(encoder, name=name, folder=folder))
        texts = os.environ.get(FOLDER_VARIABLE, PUBLISHED) if self.texts == PUBLISHED else self.texts
        if texts not in (OWN, PUBLISHED):
            object.__setattr__(self, "texts", os.path.abspath(os.path.expanduser(texts)))

    @property
    def last_stage(self) -> int:
        """Where training ends."""
        return self.stages[-1]


@dataclass(frozen=True)
class MessengerConfig(MessengerRunConfig):
    """One run of EMMA's experiment."""

    methods: tuple[RowName, ...] = ("game_id", "emma", "emma_grounding")
    """Rows of the table."""


def make_world(
    config: MessengerRunConfig, stage: int, num_worlds: int = 1, first_world: int = 0, **changes: Any
) -> Messenger:
    """Worlds of a stage; roles are shown beside the manual, for the row that does without it.

    Args:
        config: texts and what is seen.
        stage: of MESSENGER.
        num_worlds: B.
        first_world: number of the first one.
        changes: arguments to lay over, such as `split`.
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
