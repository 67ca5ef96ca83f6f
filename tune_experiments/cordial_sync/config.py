"""Every setting of a run on Gridworld-FurnMove, with the laptop's values as defaults.

A Cordial Sync, section 6.1 and appendix A.3. There are four families of methods: independent agents (`marginal`;
without messages, `no_communication`), agents that draw a mixture component together (`sync`), and one policy for all
(`central`). With CORDIAL a coordination loss replaces the entropy bonus.
"""

import os
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.algorithms.learner_config import AlgorithmConfig
from rl_models.configuration import MAY_GROW, CordialForm, UnitInterval, Unread
from rl_models.networks.network_config import TboneConfig, VisualConfig, pixels_left
from rl_models.rllib.workers import Workers
from tune_experiments.core.checks import check_distinct
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.optimiser_steps import describe_optimiser_steps
from tune_experiments.experiment.training_config import TrainingConfig

METRICS = ("md_spl", "success", "episode_length", "final_distance", "invalid_probability", "tvd")
"""Metrics of the paper's tables."""


Family: TypeAlias = Literal["no_communication", "marginal", "sync", "central"]
MethodName: TypeAlias = Literal[
    "no_communication",
    "no_communication_cordial",
    "marginal",
    "marginal_cordial",
    "sync_1",
    "sync_1_cordial",
    "sync_2",
    "sync_2_cordial",
    "sync_4",
    "sync_4_cordial",
    "sync_13",
    "sync_13_cordial",
    "central",
    "central_cordial",
]
FAMILIES: tuple[Family, ...] = get_args(Family)
METHODS: tuple[MethodName, ...] = get_args(MethodName)


@dataclass(frozen=True)
class Method:
    """One method, a row of a table; its family has its learning settings.

    With one mixture component every agent's policy is its own. With CORDIAL there is no entropy bonus.
    """

    family: Family
    components: int
    has_cordial: bool


def parse_method(name: str) -> Method:
    """`sync_4_cordial` -> SYNC with four components and CORDIAL; a ValueError for another name."""
    if name not in METHODS:
        raise ValueError(f"no method is called {name!r}: choose one of {', '.join(METHODS)}")
    row = name.removesuffix("_cordial")
    if row.startswith("sync_"):
        return Method("sync", int(row.removeprefix("sync_")), row != name)
    family = next(family for family in FAMILIES if family == row)
    return Method(family, 1, row != name)


_MAX_AGENTS = 4
"""Tables need the probabilities of all joint actions, 371,293 for five agents."""

AUTHORS_ENV_STEPS = 50
"""Env steps of one world after which a worker of the authors' A3C steps the optimiser."""
AUTHORS_LEARNER = AlgorithmConfig(
    algorithm="impala",
    joint_ratio=False,
    gae_lambda=1.0,
    num_epochs=1,
    num_minibatches=1,
    value_coef=0.25,
    optimiser_epsilon=1e-3,
    amsgrad=True,
    max_grad_norm=3.0,
    grad_clip_by="largest",
    final_learning_rate_share=1.0,
)
"""The authors' optimiser; IMPALA replaces their A3C."""
SMALL_VISUAL = VisualConfig(channels=(16, 16, 32, 32), hidden_size=128, team_features=128)
"""Widths for frames of 42 x 42 pixels on a laptop."""


@dataclass(frozen=True)
class FamilySettings:
    """Learner of the methods of one family."""

    learning_rate: PositiveFloat
    """Learning rate at the start, above 0; it falls linearly to the share `learner.final_learning_rate_share` of it."""
    entropy_coef: NonNegativeFloat = 0.003
    """Weight of the bonus on the sum of the agents' entropies, at least 0, in methods without CORDIAL."""
    last_convolution: NonNegativeInt = 0
    """Width of the last convolution; 0: the network's. The paper widens it to balance parameters."""


@dataclass(frozen=True)
class CordialSettings:
    """CORDIAL's weight beta over training, in methods with CORDIAL."""

    form: CordialForm = "code"
    """Form of the loss: `code`, navigation and joint actions have half of the weight each; `paper`, all coordinated
    joint actions have equal weight."""
    start: NonNegativeFloat = 1.0
    """Weight beta at the start, at least 0."""
    floor: NonNegativeFloat = 0.02
    """Weight beta after its decline, at least 0."""
    decline: UnitInterval = 0.3
    """Share of the budget, from 0 to 1, after which beta is at its floor."""
    decline_episodes: NonNegativeInt = 0
    """Number of finished training episodes after which beta is at its floor; the paper has 4,950, one optimiser step
    in each 50 env steps of them; 0: use `decline`."""
    decline_optimiser_steps: NonNegativeInt = 0
    """Number of optimiser steps after which beta is at its floor; 0: use `decline_episodes`."""


@dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    """One run of an experiment on Gridworld-FurnMove."""

    methods: tuple[MethodName, ...]
    """Methods to train."""
    num_agents: Annotated[int, Field(ge=1, le=_MAX_AGENTS)] = 2
    """Number of agents who carry the television, from 1 to 4."""
    room_size: Literal["laptop", "full"] = "laptop"
    """Size of the rooms: laptop, 9 to 12 cells a side; full, as large as AI2-THOR's living rooms."""
    train_rooms: str = "train_stream"
    """Rooms of training: a named split, a stream of generated rooms, a room's name or a room file."""
    max_episode_steps: PositiveInt = 100
    """Number of env steps until an episode is stopped; the paper has 250."""
    bootstrap_at_limit: bool = True
    """Whether returns bootstrap at the time limit; the authors' code does not."""
    observation: Literal["view", "frame"] = "view"
    """Observation of an agent: view, a crop of the map; frame, the image of its camera. The rules are the same."""
    frame_pixels: Literal[42, 84] = 42
    """Side of the agents' camera frames in pixels: 42 or 84, the paper's."""
    network: TboneConfig = field(default_factory=lambda: TboneConfig(channels=(16, 32, 64, 128), hidden_size=128))
    """Widths of TBONE, and of the central team's network."""
    visual_network: VisualConfig = SMALL_VISUAL
    """Widths of the networks of teams that see frames."""
    no_communication: FamilySettings = FamilySettings(1e-3)
    """Learning of the family of marginal policies without messages."""
    marginal: FamilySettings = FamilySettings(1e-3)
    """Learning of the family of marginal policies with messages."""
    sync: FamilySettings = FamilySettings(2e-3)
    """Learning of the family of mixtures of marginal policies."""
    central: FamilySettings = FamilySettings(2e-3)
    """Learning of the family with one policy over joint actions."""
    cordial: CordialSettings = CordialSettings()
    """Weight of the CORDIAL loss over training, in the methods with CORDIAL."""
    learner: AlgorithmConfig = field(default_factory=lambda: AlgorithmConfig(value_coef=0.125, gamma=0.95))
    """Learner of all methods, except for the settings of their families."""
    valid_rooms: tuple[str, ...] = ("valid",)
    """Rooms of validation: splits, streams, rooms or room files; the paper has five rooms."""
    valid_starts_per_room: PositiveInt = 20
    """Number of fixed starts in each validation room."""
    test_rooms: tuple[str, ...] = ("test",)
    """Rooms in which the test episodes are played; nothing is trained or chosen in them."""
    test_starts_per_room: PositiveInt = field(default=200, metadata=MAY_GROW)
    """Number of fixed starts in each test room, the same for every method and seed."""
    test_starts: str = ""
    """File of start positions (docs/start_format.md) for the test, in the rooms that it names; empty: generated
    starts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "valid_rooms", "test_rooms")
        if self.cordial.decline_episodes and self.cordial.decline_optimiser_steps:
            raise UserError(
                f"--cordial.decline-episodes {self.cordial.decline_episodes} and --cordial.decline-optimiser-steps "
                f"{self.cordial.decline_optimiser_steps} are two lengths of one decline: set one of them to 0"
            )
        if self.observation == "frame":
            check_frames(self.visual_network, self.frame_pixels, "--visual-network.channels")
        make_files_absolute(self, "train_rooms", "valid_rooms", "test_rooms", "test_starts")

    def unread_by(self, method: str) -> Unread:
        """Settings of other families, of CORDIAL or the entropy bonus, and of the other observation."""
        row = parse_method(method)
        is_visual = self.observation == "frame"
        found = unread_families(row.family, "visual_network" if is_visual else "network", is_visual)
        if row.has_cordial:
            found[f"{row.family}.entropy_coef"] = "train a method without CORDIAL, or leave it out"
            if self.cordial.decline_episodes or self.cordial.decline_optimiser_steps:
                found["cordial.decline"] = "set the other lengths of the decline, in episodes and optimiser steps, to 0"
        else:
            found["cordial"] = "train a method with CORDIAL, or leave it out"
        if self.test_starts:
            found["test_starts_per_room"] = "leave out --test-starts, or the flag"
            if not any(name.endswith(".json") for name in self.test_rooms):  # files have rooms that the starts name
                found["test_rooms"] = found["test_starts_per_room"]
        if is_visual:
            return found | {"network": "give flags of the group --visual-network"}
        of_frames = ("visual_network", "frame_pixels")
        return found | dict.fromkeys(of_frames, "choose --observation frame, or leave it out")


def unread_families(family: Family, network: str, is_visual: bool) -> Unread:
    """What a method of one family does not read: other families' settings, and widths of the group `network`."""
    found: Unread = {one: f"train a method of the family {one}, or leave it out" for one in FAMILIES if one != family}
    found[f"{network}.communicates"] = "choose the method no_communication"
    if family == "central":  # it has one probability and one value for what all agents do
        of_agents = ("learner.joint_ratio", f"{network}.agent_features", f"{network}.message_features")
        return found | dict.fromkeys(of_agents, "train a method of another family, or leave it out")
    return found | ({f"{network}.team_features": "train central, or leave it out"} if is_visual else {})


def compare_with_authors(learner: AlgorithmConfig, workers: Workers, env_steps: int, paper_env_steps: int) -> str:
    """Sentence that compares the optimiser steps of reinforcement learning with the authors' A3C."""
    steps, how = paper_env_steps // AUTHORS_ENV_STEPS, f", one after every {AUTHORS_ENV_STEPS} env steps of one world"
    return describe_optimiser_steps(learner, workers, env_steps, steps, "the authors' A3C", how)


def make_files_absolute(config: object, *names: str) -> None:
    """Make paths in these fields absolute, so that a run can be continued and tested from other folders.

    A field is one or several words; a word that ends with `.json` is a file.
    """

    def absolute(word: str) -> str:
        return os.path.abspath(word) if word.endswith(".json") else word

    for name in names:
        words = getattr(config, name)
        object.__setattr__(config, name, absolute(words) if isinstance(words, str) else tuple(map(absolute, words)))


def check_frames(network: VisualConfig, frame_pixels: int, flag: str) -> None:
    """Check that the convolutions, five at most, leave something of a frame, else raise UserError."""
    try:
        pixels_left(len(network.channels), frame_pixels)
    except ValueError as error:
        raise UserError(f"{flag} and --frame-pixels do not fit: {error}") from error
