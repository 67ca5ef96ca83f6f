"""Every setting of a run of SAMA in Overcooked, with the laptop's values as defaults.

The paper's constants are the preset `paper`; docs/papers/sama.md says where it gives none. How settings become a trial
is `trials.py`.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import MAX_EPISODE_STEPS
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.chat.chat_settings import ChatSettings
from rl_models.networks.sama import SamaNetworkConfig
from rl_models.planners.rewards import RewardSource
from rl_models.rllib.workers import Workers
from rl_models.text.choice import AUTO, WORDS, TextEncoderConfig
from tune_experiments.experiment.checks import check_above, check_at_least, check_between, check_ranges, check_some
from tune_experiments.experiment.errors import UserError
from tune_experiments.overcooked.config import learner_config

MOST_REFLECTIONS = 3
RowName: TypeAlias = Literal["sama", "blind", "predicate", "code", "mappo", "selfplay"]


@dataclass(frozen=True)
class ModelSettings:
    """The language model behind `--planner openai` and `replay`."""

    name: str = "gpt-4o-mini"
    """Name the endpoint knows the model by."""
    folder: str = ""
    """Of the record of all exchanges with it, and of transcripts, a folder within for each kitchen: what was asked once
    is not asked again, and `replay` reads from there. By default one in the user's cache."""
    concurrency: int = 4
    """Questions under way at the same time, of all trials together."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """Bounds of a call, and budget of all trials of a run together; its model and record are not read."""


@dataclass(frozen=True)
class FineTuningSettings:
    """Further training on the states that a trained team meets under the planner."""

    rounds: int = 0
    """How often it plays and learns on; 0: never."""
    episodes: int = 10
    """Played to meet states, in each round."""
    share: float = 0.1
    """Env steps of a round's training as a share of the budget; they come on top of it."""


@dataclass(frozen=True)
class SamaConfig:
    """One run."""

    methods: tuple[RowName, ...] = ("sama", "blind", "mappo", "selfplay")
    """Rows of the table: `sama`; `blind`, the same without being told anything; `predicate` and `code`, the same with
    rewards of that source; `mappo`, the same network that learns the game itself, without text and planner; `selfplay`,
    of overcooked_selfplay."""
    tasks: tuple[str, ...] = ("cramped_room",)
    """Kitchens; each has policies of its own."""
    planner: Literal["offline", "noisy", "openai", "replay"] = "offline"
    """Who plans: rules, rules that err on purpose, an endpoint, or the record of one."""
    noise: Literal["weak", "weaker"] = "weak"
    """Of the noisy planner."""
    goals: Literal["sama", "deps", "plan4mc"] = "sama"
    """Who names the goals."""
    reflections: int = MOST_REFLECTIONS
    """After a round that failed, at most."""
    random_share: float = 0.0
    """Of the commands that are replaced by random ones in the test."""
    manual: str = ""
    """LaTeX of a paper about the game, from which the planner's model writes the rules that prompts and policies have;
    by default they are the kitchen's own."""
    translates_states: bool = False
    """Whether the planner's model puts states into sentences, with the game's source at hand."""
    extracts_objects: bool = True
    """Whether prompts name the objects and list the valid sub-goals."""
    shots: int = 1
    """Worked examples in a prompt."""
    reward_source: RewardSource = "builtin"
    """Who writes the tests of sub-goals in training."""
    model: ModelSettings = field(default_factory=ModelSettings)
    """Of the planners that need one."""
    encoder: TextEncoderConfig = field(default_factory=lambda: TextEncoderConfig(word_features=32))
    """How sentences become vectors: `--encoder.name words`, `auto`, a folder or a hub id."""
    network: SamaNetworkConfig = field(default_factory=SamaNetworkConfig)
    """Widths of the policy."""
    learner: LearnerConfig = field(
        default_factory=lambda: learner_config(gamma=0.95, value_coef=0.5, entropy_coef=0.03, final_entropy_coef=0.003)
    )
    """PPO, for the rows that learn sub-goals."""
    share: float = 0.5
    """What a chef gets when the other has reached its sub-goal; 1 is a team's reward."""
    states: int = 1_000
    """Diverse states with sub-goals to learn from."""
    fine_tuning: FineTuningSettings = FineTuningSettings()
    """Of the rows that learn sub-goals."""
    workers: Workers = field(default_factory=lambda: Workers(worlds_per_runner=64, fragment_length=32))
    """Processes and worlds of a trial."""
    round_steps: int = 40
    """Env steps after which a round is over, in training and in tests."""
    max_episode_steps: int = MAX_EPISODE_STEPS
    """Env steps of an episode in tests."""
    budget_env_steps: int = 600_000
    """Joint steps of training, of each row."""
    validate_every_env_steps: int = 60_000
    """Number of env steps between validations, by which weights are chosen."""
    valid_episodes: int = 200
    """Rounds of each."""
    checkpoint_every_env_steps: int = 60_000
    """Number of env steps between checkpoints, besides those with the best weights."""
    test_episodes: int = 10
    """Behind the table's numbers."""
    is_greedy: bool = False
    """Take the likeliest cells in tests. Chefs in each other's way then stay there until the round is over."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        check_some(self, "methods", "tasks")
        for task in self.tasks:
            if task not in LAYOUTS:
                raise UserError(f"--tasks must be some of {', '.join(LAYOUTS)}, not {task!r}")
        check_between(0, MOST_REFLECTIONS, self, "reflections")
        check_between(0, 1, self, "random_share", "share")
        check_at_least(1, self, "states", "round_steps", "max_episode_steps", "budget_env_steps")
        check_at_least(1, self, "validate_every_env_steps", "checkpoint_every_env_steps")
        check_at_least(1, self, "valid_episodes", "test_episodes", "model.concurrency")
        check_at_least(1, self, "network.features", "network.hidden_size", "network.channels", "encoder.word_features")
        check_at_least(0, self, "shots", "encoder.padded_to")
        check_at_least(0, self, "fine_tuning.rounds")
        check_at_least(1, self, "fine_tuning.episodes")
        check_above(0, self, "fine_tuning.share")
        check_ranges(self)
        if not self.network.channels:
            raise UserError("--network.channels must be one or more widths")
        self._keep_folders()

    def _keep_folders(self) -> None:
        """Make paths absolute: trials run, continue and are evaluated in other folders."""
        name, folder = self.encoder.name, self.encoder.folder
        is_folder = name not in (WORDS, AUTO) and os.path.isdir(name)
        encoder = dataclasses.replace(
            self.encoder, name=_absolute(name) if is_folder else name, folder=_absolute(folder)
        )
        object.__setattr__(self, "encoder", encoder)
        object.__setattr__(self, "manual", _absolute(self.manual))
        object.__setattr__(self, "model", dataclasses.replace(self.model, folder=_absolute(self.model.folder)))


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path)) if path else ""
