"""Every setting of a run on any environment, with the laptop's values as defaults."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.algorithms.learner_config import LearnerConfig, OptimiserName, QmixLearnerConfig
from rl_models.configuration import MAY_CHANGE, MAY_TURN_ON, UnitInterval, Unread, fields_but, fields_of_others
from rl_models.llm.llm_config import LanguageModelSettings, LanguageTeamSettings, LoraSettings, SmallModelSettings
from rl_models.networks.network_config import PartsConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_value_precision
from tune_experiments.core.config_json import ModuleName
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.training_config import ExperimentConfig

MethodName = Literal[
    "ippo",
    "mappo",
    "commnet",
    "tbone",
    "qmix",
    "vdn",
    "sync_2",
    "sync_4",
    "sync_8",
    "sync_2_cordial",
    "sync_4_cordial",
    "sync_8_cordial",
    "endi_dis",
    "lora",
    "lora_blind",
]
LANGUAGE_METHODS = ("lora", "lora_blind")
BLIND = LANGUAGE_METHODS[1]
DIVIDED_METHOD = "endi_dis"
"""Method whose agents divide entities among themselves."""
CORDIAL = "_cordial"
"""Suffix of the methods with CORDIAL."""
Q_METHODS = ("qmix", "vdn")
SETS_ITSELF = "the environment sets it itself, leave it out"
"""What to do with a flag that a class of `World` does not read."""


@dataclass(frozen=True, kw_only=True)
class QmixSettings(QmixLearnerConfig):
    """Learner of the methods `qmix` and `vdn`."""

    mixing_hidden_size: PositiveInt = 32
    """Width of the mixing network of qmix; QMIX's paper has 32. The method vdn has none and adds values up."""
    optimiser: OptimiserName = "adam"
    """Name of the optimiser: adam, or rmsprop, whose alpha is 0.99; QMIX's paper has rmsprop."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate at the start, above 0; QMIX's paper has 0.0005 throughout."""
    final_learning_rate_share: UnitInterval = 0.1
    """Share of the learning rate, from 0 to 1, to which it falls linearly until the end of the budget."""
    exploration_env_steps: PositiveInt = 30_000
    """Number of env steps in which the probability of a random action falls from 1; QMIX's paper has 50,000."""


@dataclass(frozen=True, kw_only=True)
class DivisionConfig:
    """Settings of the method `endi_dis`, whose agents divide entities."""

    goal_features: PositiveInt = 16
    """Width of the grounded goal for each of the two sides, the agent's own and the nearest other agent's."""
    regulariser_coef: NonNegativeFloat = 1.0
    """Weight of the distances of entities to their agents, at least 0; EnDi's release has 1."""
    modelling_coef: NonNegativeFloat = 1.0
    """Weight of the prediction of the other agents' actions, at least 0; EnDi's release has 1."""


_SMALL_TEAM = LanguageTeamSettings(
    language=LanguageModelSettings(
        small=SmallModelSettings(layers=2, width=64, feed_forward=128, vocabulary=512, steps=250),
        lora=LoraSettings(alpha=32, targets=("q_proj", "k_proj", "v_proj", "o_proj")),
    ),
    value_hidden_sizes=(64,),
)


@dataclass(frozen=True, kw_only=True)
class LanguageSettings:
    """Settings of the methods `lora` and `lora_blind`; `learner` has their other settings."""

    team: LanguageTeamSettings = _SMALL_TEAM
    """The team's language model, adapters and critic; the fields of messages and of the situation have no effect."""
    learning_rate: PositiveFloat = 5e-3
    """Learning rate of adapter and critic at the start, above 0; a large model needs about 0.0005."""
    corpus_worlds: PositiveInt = 8
    """Number of games of random play for the corpus of the small default model."""
    corpus_env_steps: PositiveInt = 24
    """Number of env steps of each of those games."""


@dataclass(frozen=True, kw_only=True)
class Config(
    ExperimentConfig,
    workers=Workers(worlds_per_runner=32, fragment_length=25),
    validate_every_env_steps=20_000,
    checkpoint_every_env_steps=50_000,
    test_episodes=256,
):
    """One run."""

    env: ModuleName = "mpe2.simple_spread_v3"
    """Environment to play: an id of `concord envs`, a PettingZoo module, gymnasium:ID, or package.module:function for a
    custom one."""
    env_arguments: str = "{}"
    """Keyword arguments of the environment as a JSON object, such as '{"max_cycles": 50}'."""
    agents_leave: bool = field(default=False, metadata=MAY_TURN_ON)
    """Whether agents can leave before an episode ends; set automatically if random play before the run shows one that
    does."""
    max_episode_steps: NonNegativeInt = 0
    """Number of env steps after which an episode is truncated; 0: the environment's own limit."""
    max_words: PositiveInt = 64
    """Largest number of words (or of an encoder's tokens) of a text, or of one of its sentences."""
    max_sentences: PositiveInt = 1
    """Largest number of sentences of a text, at least 1; 1 reads the text as one row of words; emma needs one row per
    sentence."""
    env_processes: NonNegativeInt = field(default=0, metadata=MAY_CHANGE)
    """Number of processes in which a trial's environments are stepped; 0 steps them in the env runner's process."""
    methods: tuple[MethodName, ...] = ("ippo", "mappo", "sync_4", "commnet", "tbone", "qmix")
    """Methods to train; sync_M has M components, _cordial adds CORDIAL, endi_dis
    divides entities, lora is a language model for games of texts, and lora_blind is lora without the texts."""
    network: PartsConfig = field(default_factory=PartsConfig)
    """Widths of the networks, and the reader of texts."""
    learner: LearnerConfig = field(
        default_factory=lambda: LearnerConfig(
            learning_rate=1e-3, value_coef=0.01, num_epochs=8, max_grad_norm=10.0, final_entropy_coef=0.001
        )
    )
    """Learner of all methods but qmix and vdn; joint_ratio applies to sync, the others have one ratio per agent."""
    cordial_coef: NonNegativeFloat = 0.1
    """Weight of CORDIAL at the start, at least 0; it falls linearly to a tenth until the end of the budget."""
    qmix: QmixSettings = field(default_factory=QmixSettings)
    """Learner of the methods qmix and vdn."""
    division: DivisionConfig = DivisionConfig()
    """Settings of the method endi_dis."""
    language: LanguageSettings = LanguageSettings()
    """Settings of the methods lora and lora_blind."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_value_precision(self, "qmix.precision")
        self.arguments()

    def unread_by(self, method: str) -> Unread:
        """Settings of other methods."""
        from rl_envs.registry import find_entry_point

        syncs = [name for name in get_args(MethodName) if name.startswith("sync")]
        talking = [*syncs, "tbone", *(("ippo", "mappo") if self.network.name == "lstm" else ())]
        readers = {
            "qmix": Q_METHODS,
            "qmix.mixing_hidden_size": ("qmix",),
            "division": (DIVIDED_METHOD,),
            "language": LANGUAGE_METHODS,
            "learner.joint_ratio": syncs,
            "cordial_coef": [name for name in syncs if name.endswith(CORDIAL)],
            "network.talk": talking,
            "network.talk.message_features": [*syncs, "tbone"],
            "network.talk.communicates": [*syncs, "tbone"],
        }
        found = fields_of_others(method, readers)
        if method in Q_METHODS:
            found |= fields_but(self, "learner", "gamma", "give flags of the group --qmix")
        texts = ("max_words", "max_sentences")
        if method in LANGUAGE_METHODS:
            found |= dict.fromkeys(("network", *texts), "give flags of the group --language.team")
            found["learner.learning_rate"] = "give --language.learning-rate"
            found["learner.value_loss_at"] = "it is decisions, leave it out"
            found |= dict.fromkeys(("language.team.messages", "language.team.situation"), "leave it out")
        if find_entry_point(self.env):
            found |= dict.fromkeys((*texts, "agents_leave"), SETS_ITSELF)
        return found

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of the environment, from a JSON object; UserError where it is none."""
        return read_arguments(self.env_arguments)


def read_arguments(env_arguments: str) -> dict[str, Any]:
    """Keyword arguments from a JSON object; UserError where it is none."""
    try:
        arguments = json.loads(env_arguments)
    except ValueError as error:
        raise UserError(f"--env-arguments is not JSON ({error}): write it as '{{\"max_cycles\": 50}}'") from None
    if not isinstance(arguments, dict):
        raise UserError("--env-arguments must be a JSON object, such as '{\"max_cycles\": 50}'")
    return arguments
