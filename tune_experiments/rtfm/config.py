"""Every setting of a run on RTFM or rock-paper-scissors, with the laptop's values as defaults, and names of tests.

RTFM (Zhong et al., ICLR 2020), section 5 and appendices C to E.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

from pydantic import Field, PositiveFloat, PositiveInt

from rl_envs import World, make
from rl_envs.rtfm.grid import MAX_SIZE, MIN_SIZE
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.configuration import MAY_GROW, UnitInterval, Unread, fields_of_others
from rl_models.hub.catalog import absolute_model_name
from rl_models.networks.network_config import Activation, FirstSummary, check_channels
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_distinct
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.plan import RANDOM
from tune_experiments.experiment.training_config import ExperimentConfig, StagedExperimentConfig
from tune_experiments.rtfm.matching_config import CHANGES, MatchingRow, MatchingSettings, matching_learner

TEST, UNSEEN, SHUFFLED = "test", "eval", "shuffled"
"""The split of the tests; the column with the right documents; and the column with wrong ones, also the condition of
these tests."""
NEW_NAMES, LARGER = "eval_new", "larger"
"""Columns of our own experiment: words that are not in training, and larger rooms."""
SPLIT_NAMES = {"train": "train", "valid": "valid", UNSEEN: "unseen", NEW_NAMES: "new_names", LARGER: "larger"}
"""First word of a column -> split in results.jsonl."""
REFERENCES = (RANDOM, "without reading", "optimum")
"""Reference players: uniform moves; for letters, the optimum without and with reading."""


def get_split(world: str) -> str:
    """Split in results.jsonl of a test environment."""
    return SPLIT_NAMES[world.rpartition("_")[0]]


def column(split: str, size: int) -> str:
    """Name of a test in a room of some size."""
    return f"{split}_{size}x{size}"


MethodName: TypeAlias = Literal["cnn", "film", "no_task_attn", "no_vis_attn", "no_text_mod", "txt2pi"]

LettersRow: TypeAlias = Literal[
    MatchingRow,
    MethodName,
    "random",
    "txt2pi_supervised_attention",
    "txt2pi_shared_words",
    "txt2pi_contrastive",
    "txt2pi_attention_warm_start",
    "cnn_transferred",
    "film_transferred",
    "txt2pi_transferred",
    "cnn_from_scratch",
    "film_from_scratch",
    "txt2pi_from_scratch",
]
SUPERVISED: LettersRow = "txt2pi_supervised_attention"
SHARED_WORDS: LettersRow = "txt2pi_shared_words"
CONTRASTIVE: LettersRow = "txt2pi_contrastive"
WARM_START: LettersRow = "txt2pi_attention_warm_start"
HELPED: dict[str, str] = {
    SHARED_WORDS: "attention from the grid also compares a cell with words in one table",
    CONTRASTIVE: "a contrastive loss without labels",
    WARM_START: "a warm-start loss without labels for attention to mentions of the dragon",
}
"""Methods: txt2pi with one component of the mention-matching reader -> description of the component."""
CurriculumMethodName: TypeAlias = Literal[
    "from_scratch",
    "from_6x6",
    "from_dyna",
    "from_dyna_group",
    "random_to_dyna",
    "random_to_group",
    "random_to_nl",
    "random_to_dyna_group",
    "random_to_group_nl",
    "random_to_dyna_nl",
    "from_6x6_to_group",
    "from_6x6_to_nl",
    "from_6x6_to_dyna_group",
    "from_6x6_to_group_nl",
    "from_6x6_to_dyna_nl",
    "from_dyna_to_dyna_nl",
    "trained_on_6x6",
    "trained_on_10x10",
]


@dataclass(frozen=True)
class RtfmTask:
    """Variant of RTFM; the paper's full game has `group`, `dyna` and `nl`."""

    world_id: ClassVar[str] = "rtfm-v0"

    size: Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)] = 6
    """Side of the training room in cells, walls included."""
    group: bool = False
    """Whether each team has three monsters and each element two modifiers, instead of one."""
    dyna: bool = False
    """Whether monsters move: towards a visible agent, else at random."""
    nl: bool = False
    """Whether documents are in natural language instead of fixed, short sentences."""
    distractor_monster: bool = True
    """Whether there is a monster of another team; without it the goal is not needed."""
    distractor_item: bool = True
    """Whether there is an item that beats the distractor monster; without it the document is not needed."""
    resample_text: Literal["episode", "step"] = "episode"
    """How often new texts are sampled (with `nl`): episode, or step, as in the released code."""
    max_episode_steps: PositiveInt = 80
    """Number of env steps after which the game is lost; the paper has 1000."""


@dataclass(frozen=True)
class LettersTask:
    """Variant of rock-paper-scissors."""

    world_id: ClassVar[str] = "rock_paper_scissors-v0"

    size: Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)] = 6
    """Side of the training room in cells, walls included; the paper has 10."""
    setting: Literal["permutation", "ten_letters", "new_edge", "new_edge_and_nodes"] = "ten_letters"
    """Games of the evaluation: permutation, unseen circles of five letters; ten_letters, which is ours, unseen circles
    of ten letters, since small readers cannot generalise from five; new_edge, unseen relations of twenty known letters;
    new_edge_and_nodes, five unseen letters."""
    max_episode_steps: PositiveInt = 80
    """Number of env steps after which the game is lost; the paper has 1000."""


Task: TypeAlias = RtfmTask | LettersTask


def make_world(task: Task, num_worlds: int = 1, first_world: int = 0, **changes: Any) -> World:
    """Worlds of a task; `changes` are overriding arguments, such as `split` or another `size`."""
    return make(task.world_id, num_worlds, first_world=first_world, **(vars(task) | changes))


@dataclass(frozen=True)
class NetworkSettings:
    """Widths of all six networks."""

    form: Literal["code", "paper"] = "code"
    """Source that txt2pi and its baselines follow where the sources differ: code, the released code; paper, the paper's
    text."""
    word_features: PositiveInt = 16
    """Width of a word's embedding."""
    document_hidden_size: PositiveInt = 32
    """Width of a document's states in one direction; of the states of all texts in `cnn`."""
    goal_hidden_size: PositiveInt = 32
    """Width of the states for txt2pi's goal-conditioned attention; the paper's text says 10, the released code
    has 100."""
    inventory_hidden_size: PositiveInt = 10
    """Width of the inventory's states, and of the goal's in `film`."""
    channels: tuple[PositiveInt, ...] = (16, 16)
    """Number of channels of each layer over the grid."""
    features: PositiveInt = 64
    """Width of the features that the heads receive."""
    first_summary: FirstSummary | None = None
    """Summary of the grid that conditions txt2pi's first attention to the document: linear_of_max or max_of_linear;
    None: that of `form`."""
    activation: Activation | None = None
    """Activation function of the features that the heads receive: tanh or relu; None: that of `form`."""
    text_encoder: str = ""
    """Frozen encoder of words, with states, projected to `word_features`: a name of `concord models`, a folder
    or a hub id; empty: words are learned."""

    def __post_init__(self) -> None:
        """Make the encoder's folder absolute."""
        object.__setattr__(self, "text_encoder", absolute_model_name(self.text_encoder))

    @property
    def pretrained_model(self) -> str:
        """The text encoder that a run records, if one is named."""
        return self.text_encoder


def learner_config(**changes: Any) -> LearnerConfig:
    """The learner of all methods; with small minibatches, since readers need many updates.

    Published for RMSProp: learning rate 0.005 in the paper's text, 0.0007 in the released commands, falling to 0; 0.5
    times half of the squared value error.
    """
    laptop = LearnerConfig(learning_rate=2e-3, num_epochs=3, loss_reduction="sum_steps")
    return dataclasses.replace(laptop, **changes)


PAPER_NETWORK = NetworkSettings("code", 30, 100, 100, 10, (16, 32, 64, 64, 64), 400)
PAPER_LEARNER = learner_config(
    algorithm="impala",
    optimiser="rmsprop",
    learning_rate=7e-4,
    final_learning_rate_share=0.0,
    optimiser_epsilon=0.01,
    max_grad_norm=40.0,
    entropy_coef=0.005,
    num_epochs=1,
    num_minibatches=1,
)
PAPER_WORKERS = Workers(runners=4, worlds_per_runner=6, fragment_length=80, learners=1, gpus_per_learner=1.0)
"""24 worlds an update, with fragments of 80 env steps."""


@dataclass(frozen=True, kw_only=True)
class RunConfig(
    ExperimentConfig,
    workers=Workers(worlds_per_runner=64, fragment_length=16),
    budget_env_steps=2_000_000,
    checkpoint_every_env_steps=100_000,
):
    """Settings that RTFM and rock-paper-scissors share."""

    task: Task = RtfmTask()
    """The game that is played, and its room."""
    network: NetworkSettings = NetworkSettings()
    """Widths of the networks of all methods."""
    learner: LearnerConfig = field(default_factory=learner_config)
    """Learner of the networks of all methods."""
    validate_every_env_steps: PositiveInt = 200_000
    """Number of env steps between validations, greedy play on training and on unseen assignments."""
    valid_episodes: PositiveInt = 200
    """Number of validation episodes on training assignments, and the same number on unseen ones."""
    test_sizes: tuple[Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)], ...] = (6,)
    """Sides in cells of the rooms in which unseen assignments are tested."""
    # Shuffled documents are other episodes' documents.
    test_episodes: Annotated[int, Field(ge=2)] = 1000
    """Number of test episodes in each column of the table."""

    def unread_by(self, method: str) -> Unread:
        """Widths of txt2pi that the baselines do not have."""
        of_txt2pi = ("network.goal_hidden_size", "network.first_summary")
        is_baseline = method.startswith(("cnn", "film"))
        return dict.fromkeys(of_txt2pi, "train txt2pi, or leave it out") if is_baseline else {}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "test_sizes")
        try:
            check_channels(self.network.channels)
        except ValueError as error:
            raise UserError(f"--network.channels: {error}") from error
        if self.network.text_encoder and (rows := [row for row in self.methods if "matching" in row]):
            raise UserError(
                f"--network.text-encoder: {rows[0]} compares words that it learns: leave it out of --methods, or take "
                "no encoder"
            )


@dataclass(frozen=True, kw_only=True)
class RtfmConfig(RunConfig):
    """One run of an experiment on RTFM."""

    methods: tuple[MethodName, ...] = ("cnn", "film", "no_task_attn", "no_vis_attn", "no_text_mod", "txt2pi")
    """Methods to train."""
    task: RtfmTask = RtfmTask()
    """The game that is played, and its room."""

    def unread_by(self, method: str) -> Unread:
        """The same, and texts that fixed sentences are not."""
        found = super().unread_by(method)
        return found if self.task.nl else found | {"task.resample_text": "choose --task.nl, or leave it out"}


@dataclass(frozen=True, kw_only=True)
class MatchingRunConfig(RunConfig):
    """Settings of runs with methods of the mention-matching reader."""

    matching: MatchingSettings = field(default_factory=MatchingSettings)
    """Widths of the mention-matching reader, its learner and its budget; with several stages, the budget of the
    first."""

    def unread_by(self, method: str) -> Unread:
        """Settings of the papers' networks, or of the mention-matching reader."""
        if "matching" not in method:
            return super().unread_by(method) | {"matching": "train matching, or leave it out"}
        own = dict.fromkeys(CHANGES.get(method, ()), "leave it out, or choose another method")  # type: ignore[call-overload]
        return {f"matching.{name}": cure for name, cure in own.items()} | {
            "learner": "give --matching.learner.*",
            "network": "give --matching.*",
            "workers": "give --matching.workers.*",
        }


@dataclass(frozen=True, kw_only=True)
class LettersConfig(
    MatchingRunConfig,
    budget_env_steps=500_000,
    validate_every_env_steps=100_000,
    matching=MatchingSettings(
        learner=matching_learner(learning_rate=2e-3, entropy_coef=0.03), budget_env_steps=250_000
    ),
):
    """One run of the experiment on rock-paper-scissors."""

    methods: tuple[LettersRow, ...] = ("matching", "cnn", "film", "txt2pi", "txt2pi_supervised_attention")
    """Methods to train."""
    task: LettersTask = LettersTask()
    """The game that is played, and its room."""
    network: NetworkSettings = NetworkSettings(first_summary="max_of_linear", activation="relu")
    """Widths of all networks; the first summary and the features are those of the paper's text, with which txt2pi
    learns to read sooner."""
    learner: LearnerConfig = field(default_factory=lambda: learner_config(entropy_coef=0.02))
    """How the networks of all methods but `matching` learn."""
    transfer_env_steps: PositiveInt = field(default=500_000, metadata=MAY_GROW)
    """Number of env steps of training on unseen games, in the methods that train there."""
    attention_coef: PositiveFloat = 0.3
    """Weight of the auxiliary loss, above 0, in the method `txt2pi_supervised_attention`; the paper has none."""
    contrastive_coef: PositiveFloat = 0.3
    """Weight, above 0, of the contrastive loss without labels in method `txt2pi_contrastive`; the paper has none."""
    warm_start_coef: PositiveFloat = 0.3
    """Weight at the start, above 0, of the loss for attention to mentions of the dragon, in the method
    `txt2pi_attention_warm_start`; the paper has none."""
    warm_start_env_steps: PositiveInt = 50_000
    """Number of env steps until that weight is 0."""

    def unread_by(self, method: str) -> Unread:
        """The same, settings of single methods, and the budget of the other games."""
        on_unseen = [name for name in get_args(LettersRow) if name.endswith(("_transferred", "_from_scratch"))]
        readers = {
            "attention_coef": (SUPERVISED,),
            "contrastive_coef": (CONTRASTIVE,),
            "warm_start_coef": (WARM_START,),
            "warm_start_env_steps": (WARM_START,),
            "transfer_env_steps": on_unseen,
        }
        found = super().unread_by(method) | fields_of_others(method, readers)
        if method in CHANGES:
            found["budget_env_steps"] = "give --matching.budget-env-steps"
        elif method == RANDOM:
            found |= dict.fromkeys(("learner", "network", "budget_env_steps"), "random is not trained, leave it out")
        elif method.endswith("_from_scratch"):
            found["budget_env_steps"] = "give --transfer-env-steps"
        return found


@dataclass(frozen=True, kw_only=True)
class CurriculumConfig(RunConfig, StagedExperimentConfig, first_stage_env_steps=2_000_000, budget_env_steps=2_000_000):
    """One run of an experiment whose methods are curricula towards the full game, `task`."""

    methods: tuple[CurriculumMethodName, ...] = ("from_scratch", "from_6x6", "from_dyna", "from_dyna_group")
    """Methods of the table, each a sequence of stages before the full game."""
    task: RtfmTask = RtfmTask(group=True, dyna=True, nl=True)
    """The full game and its room, the last stage of all methods."""
    last_learning_rate: PositiveFloat = 2e-3
    """Learning rate at the start of the full game, above 0, in methods with stages before it."""
    promote_at: UnitInterval = 0.0
    """Greedy win rate on training assignments, from 0 to 1, that ends a stage if two validations in a row reach it; 0:
    only its budget ends a stage."""

    def unread_by(self, method: str) -> Unread:
        """Settings of stages that the method does not have."""
        found: Unread = {}
        if method.startswith(("from_scratch", "random_to_")):
            found["budget_env_steps"] = "give --first-stage-env-steps"
        if method == "from_scratch" or "_to_" in method:
            found["last_learning_rate"] = "train a method with stages before the full game, such as from_6x6"
        return found


MatchingRun = TypeVar("MatchingRun", bound=MatchingRunConfig)


def as_learned(config: MatchingRun, **changes: Any) -> MatchingRun:
    """The configuration with the reader's learner and workers and other changes."""
    return dataclasses.replace(config, learner=config.matching.learner, workers=config.matching.workers, **changes)
