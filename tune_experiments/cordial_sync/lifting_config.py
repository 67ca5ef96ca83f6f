"""Every setting of a run on FurnLift, with the laptop's values as defaults (A Cordial Sync, section 6, A.3)."""

import dataclasses
from dataclasses import dataclass, field
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.algorithms.learner_config import AlgorithmConfig
from rl_models.configuration import UnitInterval, Unread
from rl_models.networks.network_config import VisualConfig
from rl_models.rllib.workers import Workers
from tune_experiments.cordial_sync.config import (
    AUTHORS_LEARNER,
    FAMILIES,
    Family,
    FamilySettings,
    check_frames,
    make_files_absolute,
    unread_families,
)
from tune_experiments.experiment.training_config import ExperimentConfig


@dataclass(frozen=True)
class ExpertWarmStart:
    """The first stage: the expert acts in part of the steps, and the team imitates it (DAgger)."""

    budget_env_steps: NonNegativeInt = 30_000
    """Number of joint env steps of the stage; 0 leaves it out."""
    expert_probability: UnitInterval = 0.9
    """Probability, from 0 to 1, that the expert acts for both agents in an env step, at the start."""
    decline_episodes: PositiveInt = 4_000
    """Number of training episodes in which that probability falls linearly to 0; a shorter stage ends before."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate of the stage, above 0."""
    num_epochs: PositiveInt = 4
    """Number of epochs over each batch of the stage, at least 1."""


@dataclass(frozen=True, kw_only=True)
class LiftConfig(ExperimentConfig, workers=Workers(worlds_per_runner=32), valid_episodes=100, test_episodes=1_000):
    """One run of the experiment on FurnLift."""

    methods: tuple[Family, ...] = FAMILIES
    """Methods to train: no_communication, marginal, sync, central."""
    room_size: Literal["laptop", "full"] = "laptop"
    """Size of the rooms: laptop, 9 to 12 cells a side; full, as large as AI2-THOR's living rooms."""
    train_rooms: str = "train_stream"
    """Rooms of training: a named split, a stream of generated rooms, a room's name or a room file."""
    valid_rooms: str = "valid"
    """Rooms of validation, named as those of training."""
    test_rooms: str = "test"
    """Rooms in which the test episodes are played, named as those of training."""
    max_episode_steps: PositiveInt = 100
    """Number of env steps until an episode is stopped; the paper has 250."""
    bootstrap_at_limit: bool = True
    """Whether returns bootstrap at the time limit; the authors' code does not."""
    frame_pixels: Literal[42, 84] = 42
    """Side of the agents' camera frames in pixels: 42 or 84, the paper's."""
    min_separation_cells: NonNegativeInt = 8
    """Smallest Manhattan distance of the agents at a pickup, in cells of 0.25 m, at least 0; 0: any distance."""
    agents_visible: bool = False
    """Whether agents see each other in their frames, which the paper calls implicit communication."""
    heading_ring: bool = True
    """Whether the expert turns between north and west in one step; the authors' expert needs three."""
    components: PositiveInt = 2
    """Number of mixture components of the method sync, at least 1."""
    network: VisualConfig = field(
        default_factory=lambda: VisualConfig(
            channels=(16, 16, 32, 32), hidden_size=128, message_features=8, team_features=128
        )
    )
    """Widths of the visual networks of all methods."""
    no_communication: FamilySettings = field(default_factory=lambda: FamilySettings(5e-4))
    """Learning of marginal policies without messages."""
    marginal: FamilySettings = field(default_factory=lambda: FamilySettings(5e-4))
    """Learning of marginal policies with messages."""
    sync: FamilySettings = field(default_factory=lambda: FamilySettings(5e-4))
    """Learning of mixtures of marginal policies."""
    central: FamilySettings = field(default_factory=lambda: FamilySettings(5e-4))
    """Learning of the policy over joint actions."""
    warm_start: ExpertWarmStart = ExpertWarmStart()
    """Imitation of the expert before reinforcement learning."""
    imitation_after_warm_start: bool = True
    """Whether the imitation loss stays on after the warm start, as in the authors' code; in the paper's text it
    ends."""
    imitation_coef: NonNegativeFloat = 1.0
    """Weight of the imitation loss, at least 0."""
    cordial_coef: NonNegativeFloat = 0.0
    """Weight of the CORDIAL loss, at least 0; the authors leave it off in this task."""
    learner: AlgorithmConfig = field(default_factory=lambda: AlgorithmConfig(value_coef=0.125, joint_ratio=False))
    """Learner of all methods, except for the settings of their families."""
    budget_env_steps: PositiveInt = 120_000
    """Number of joint env steps of reinforcement learning, after the warm start."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_frames(self.network, self.frame_pixels, "--network.channels")
        make_files_absolute(self, "train_rooms", "valid_rooms", "test_rooms")

    def unread_by(self, method: Family) -> Unread:
        """Settings of other families, and of stages and losses that there are not."""
        found = unread_families(method, "network", is_visual=True)
        if method != "sync":
            found["components"] = "train sync, or leave it out"
        if not self.warm_start.budget_env_steps:
            found["warm_start"] = "set --warm-start.budget-env-steps above 0, or leave it out"
            if not self.imitation_after_warm_start:
                found["imitation_coef"] = "choose --imitation-after-warm-start, or leave it out"
        return found


LAPTOP = LiftConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("marginal", "sync"),
    network=VisualConfig(channels=(4, 4, 8, 8), hidden_size=24, message_features=4, team_features=24),
    workers=Workers(worlds_per_runner=8, fragment_length=10),
    max_episode_steps=30,
    warm_start=ExpertWarmStart(budget_env_steps=160, decline_episodes=40),
    budget_env_steps=320,
    validate_every_env_steps=160,
    valid_episodes=8,
    checkpoint_every_env_steps=160,
    test_episodes=12,
)
PAPER = dataclasses.replace(
    LAPTOP,
    room_size="full",
    train_rooms="ithor_train",
    valid_rooms="ithor_valid",
    test_rooms="ithor_test",
    max_episode_steps=250,
    bootstrap_at_limit=False,
    frame_pixels=84,
    network=VisualConfig(channels=(32, 32, 64, 64), message_features=8, team_features=1024),
    no_communication=FamilySettings(1e-4, 0.01, 65),
    marginal=FamilySettings(1e-4, 0.01, 65),
    sync=FamilySettings(1e-4, 0.01),
    central=FamilySettings(1e-4, 0.01, 19),
    warm_start=ExpertWarmStart(budget_env_steps=600_000, decline_episodes=10_000, learning_rate=1e-4, num_epochs=1),
    learner=dataclasses.replace(AUTHORS_LEARNER, num_minibatches=45),
    workers=Workers(runners=15, worlds_per_runner=3, fragment_length=50, learners=1, gpus_per_learner=1.0),
    budget_env_steps=12_000_000,
    validate_every_env_steps=500_000,
    valid_episodes=500,
    checkpoint_every_env_steps=250_000,
)
