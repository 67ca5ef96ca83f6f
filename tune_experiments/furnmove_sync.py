"""Gridworld-FurnMove: SYNC with CORDIAL against marginal policies, two agents (A Cordial Sync, tables 1 and 5).

    python tune_experiments/furnmove_sync.py                       # laptop: about 15 minutes on 2 cores
    python tune_experiments/furnmove_sync.py --preset smoke        # under 2 minutes, learns nothing
    python tune_experiments/furnmove_sync.py --preset paper        # the paper's sizes: a GPU cluster, days

Two agents carry a television through living rooms that they have never seen. `sync` samples actions from a mixture of
13 product policies whose component both agents draw from a shared random stream, and is trained with CORDIAL in place
of an entropy bonus. `marginal` samples each agent's action on its own and gets an entropy bonus. Both talk, and see
the same rooms for the same number of env steps. Expect SYNC ahead in success and far lower in invalid probability.
Learning rate, entropy weight and CORDIAL's floor were searched with as many runs for either method (docs/results.md).
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rl_envs import World, make
from rl_models.networks.tbone import TboneConfig
from rl_models.rllib.settings import Workers
from rl_models.team_policy import TeamPolicy
from rl_models.teams import TboneTeamConfig, tbone_team
from rl_models.training.coordination import CoordinationLoss
from rl_models.training.objective import Impala, Objective, Ppo
from rl_models.training.optimiser import OptimiserSettings
from rl_models.training.schedule import Schedule
from tune_experiments.common import furniture
from tune_experiments.common.checks import check_above, check_at_least, check_between, check_some
from tune_experiments.common.experiment import Episodes, Experiment, TrialPlan
from tune_experiments.common.main import main
from tune_experiments.common.results import Result
from tune_experiments.common.tables import PaperTable, make_table


@dataclass(frozen=True)
class Method:
    """What distinguishes the rows of the table."""

    components: int
    """Mixture components m; 1 is the marginal policy."""
    learning_rate: float
    """At the start; it falls linearly to `learner.final_learning_rate_share` of this."""
    entropy_weight: float
    """Bonus on the sum of the agents' entropies."""
    cordial_start: float = 0.0
    """CORDIAL's weight beta at the start; 0 switches CORDIAL off."""
    cordial_floor: float = 0.0
    """Beta after the decline."""
    cordial_decline: float = 0.3
    """When beta reaches its floor, as a share of the budget."""
    cordial_decline_episodes: int = 0
    """The same in finished training episodes, as the paper counts; 0: use the share."""
    last_convolution: int = 0
    """Width of the last convolution; 0: the network's. The paper widens it to balance parameters."""


@dataclass(frozen=True)
class LearnerSettings:
    """How both methods learn."""

    algorithm: Literal["ppo", "impala"] = "ppo"
    """PPO, or IMPALA with V-trace."""
    is_joint: bool = True
    """One ratio of joint probabilities; False: the authors' per-agent form."""
    gamma: float = 0.99
    """Discount of an env step."""
    lambda_: float = 0.95
    """Of GAE."""
    clip: float = 0.2
    """PPO's clipping range."""
    epochs: int = 2
    """Passes over each batch (PPO)."""
    minibatches: int = 4
    """Minibatches of whole sequences in a pass (PPO)."""
    value_weight: float = 0.125
    """Of the squared value error, summed over agents."""
    epsilon: float = 1e-5
    """Of Adam."""
    amsgrad: bool = False
    """The authors' Adam uses it."""
    clip_gradient: float = 1.0
    """Largest norm of all gradients together, or largest entry."""
    clip_gradient_by: Literal["norm", "largest"] = "norm"
    """The authors scale gradients until no entry exceeds 3."""
    final_learning_rate_share: float = 0.1
    """Of the learning rate, reached at the end of the budget."""


@dataclass(frozen=True)
class Config:
    """One run of this experiment."""

    methods: tuple[Literal["sync", "marginal"], ...] = ("sync", "marginal")
    """Rows of the table."""
    room_size: Literal["laptop", "full"] = "laptop"
    """Rooms of 9-12 cells a side, or as large as AI2-THOR's living rooms."""
    train_rooms: str = "train_stream"
    """A named split, a stream of generated rooms, a room's name or a room file."""
    max_episode_steps: int = 100
    """Env steps until an episode is stopped; the paper has 250."""
    bootstrap_at_limit: bool = True
    """Value what follows the limit; the authors do not."""
    network: TboneConfig = field(default_factory=lambda: TboneConfig(convolutions=(16, 32, 64, 128), hidden=128))
    """Widths of TBONE."""
    sync: Method = Method(13, 2e-3, 0.0, cordial_start=1.0, cordial_floor=0.02)
    """SYNC + CORDIAL."""
    marginal: Method = Method(1, 1e-3, 0.003)
    """Marginal policies with an entropy bonus."""
    learner: LearnerSettings = LearnerSettings()
    """Shared by both methods."""
    workers: Workers = field(default_factory=Workers)
    """Processes and worlds of a trial."""
    budget_env_steps: int = 320_000
    """Joint steps of training."""
    validate_every_env_steps: int = 40_000
    """How often the team plays in validation rooms: points of the curves."""
    validation_episodes: int = 128
    """One in each of so many validation rooms."""
    checkpoint_every_env_steps: int = 20_000
    """At most this much is lost when something dies."""
    test_rooms: str = "test_stream"
    """Where the table's numbers come from; never trained or selected on."""
    test_episodes: int = 512
    """One fixed start each, the same for every method."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        check_some(self, "methods")
        check_at_least(1, self, "max_episode_steps", "budget_env_steps", "validate_every_env_steps")
        check_at_least(1, self, "checkpoint_every_env_steps", "validation_episodes", "test_episodes")
        check_at_least(1, self, "workers.worlds_per_runner", "workers.fragment_length")
        check_at_least(0, self, "workers.runners", "workers.learners", "workers.gpus_per_learner")
        check_at_least(1, self, "network.convolutions", "network.hidden", "network.message_features")
        check_at_least(1, self, "network.cell_features", "network.agent_features")
        check_at_least(1, self, "learner.epochs", "learner.minibatches")
        check_at_least(0, self, "learner.value_weight")
        check_above(0, self, "learner.clip", "learner.clip_gradient", "learner.epsilon")
        check_between(0, 1, self, "learner.gamma", "learner.lambda_", "learner.final_learning_rate_share")
        for name in ("sync", "marginal"):
            check_at_least(1, self, f"{name}.components")
            check_above(0, self, f"{name}.learning_rate")
            check_at_least(0, self, f"{name}.last_convolution", f"{name}.cordial_decline_episodes")
            check_at_least(0, self, f"{name}.entropy_weight", f"{name}.cordial_start", f"{name}.cordial_floor")
            check_at_least(0, self, f"{name}.cordial_decline")
        for name in ("train_rooms", "test_rooms"):
            rooms = getattr(self, name)
            if rooms.endswith(".json"):  # Tune runs a trial in another folder, where a relative path is lost
                object.__setattr__(self, name, os.path.abspath(rooms))


LAPTOP = Config()
SMOKE = dataclasses.replace(
    LAPTOP,
    network=TboneConfig(convolutions=(8, 8, 16, 16), hidden=32),
    workers=Workers(worlds_per_runner=16, fragment_length=10),
    max_episode_steps=40,
    budget_env_steps=2_000,
    validate_every_env_steps=1_000,
    validation_episodes=16,
    checkpoint_every_env_steps=500,
    test_episodes=32,
)
_AUTHORS = LearnerSettings(
    algorithm="impala",
    is_joint=False,
    value_weight=0.25,
    epsilon=1e-3,
    amsgrad=True,
    clip_gradient=3.0,
    clip_gradient_by="largest",
    final_learning_rate_share=1.0,
)
PAPER = Config(
    room_size="full",
    train_rooms="train",
    max_episode_steps=250,
    bootstrap_at_limit=False,
    network=TboneConfig(),
    sync=Method(13, 1e-4, 0.0, cordial_start=1.0, cordial_floor=0.01, cordial_decline_episodes=4_950),
    marginal=Method(1, 1e-4, 0.01, last_convolution=288),
    learner=_AUTHORS,
    workers=Workers(runners=15, worlds_per_runner=64, fragment_length=50, learners=1, gpus_per_learner=1.0),
    budget_env_steps=120_000_000,
    validate_every_env_steps=2_000_000,
    validation_episodes=500,
    checkpoint_every_env_steps=1_000_000,
    test_rooms="test",
    test_episodes=1_000,
)


def plan(config: Config, method: str, seed: int) -> TrialPlan:
    """One method with one seed."""
    train_world = functools.partial(
        _world, config, rooms=config.train_rooms, bootstrap_at_limit=config.bootstrap_at_limit
    )
    settings: Method = getattr(config, method)
    return TrialPlan(
        make_world=train_world,
        build_policy=functools.partial(build_policy, config, settings, seed),
        objective=_objective(config, settings),
        optimiser=_optimiser(config, settings),
        workers=config.workers,
        seed=seed,
        budget_env_steps=config.budget_env_steps,
        validate_every_env_steps=config.validate_every_env_steps,
        checkpoint_every_env_steps=config.checkpoint_every_env_steps,
        validate=functools.partial(_evaluate, config, _validation_rooms(config), config.validation_episodes),
    )


def build_policy(config: Config, method: Method, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    network = config.network
    if method.last_convolution:
        network = dataclasses.replace(network, convolutions=(*network.convolutions[:3], method.last_convolution))
    return tbone_team(TboneTeamConfig(network, method.components), **furniture.sizes(_world(config)), seed=seed)


def test(config: Config, policy: TeamPolicy) -> dict[str, Episodes]:
    """The paper's protocol: fixed starts in unseen rooms, actions sampled."""
    return {f"furnmove-{config.room_size}": _evaluate(config, config.test_rooms, config.test_episodes, policy)}


def tables(results: Sequence[Result]) -> Sequence[PaperTable]:
    """Table 5's columns. The text of the paper gives no row of the gridworld, only SYNC's lead of 6.8 points."""
    return [make_table(results, EXPERIMENT.caption)]


def departures(config: Config) -> list[str]:
    """What this configuration shrinks or changes."""
    notes = ["rooms are generated, not AI2-THOR's: the paper's numbers are context, not a target"]
    if config.test_rooms == "test":
        notes.append("test episodes draw a room of the split each; the paper has as many in every room")
    for name, ours, paper in (
        ("rooms", config.room_size, PAPER.room_size),
        ("horizon", config.max_episode_steps, PAPER.max_episode_steps),
        ("convolutions", config.network.convolutions, PAPER.network.convolutions),
        ("LSTM width", config.network.hidden, PAPER.network.hidden),
        ("algorithm", config.learner.algorithm, "a3c"),
        ("env steps", f"{config.budget_env_steps:,}", "about 120,000,000 (1,000,000 episodes)"),
    ):
        if ours != paper:
            notes.append(f"{name}: {ours}, the paper has {paper}")
    return notes


def _world(config: Config, num_worlds: int = 1, first_world: int = 0, **arguments: Any) -> World:
    settings = {"room_size": config.room_size, "max_episode_steps": config.max_episode_steps} | arguments
    return make("furnmove-v0", num_worlds, first_world=first_world, **settings)


def _test_world(config: Config, num_worlds: int) -> World:
    return _world(config, num_worlds, rooms=config.test_rooms)


def _validation_rooms(config: Config) -> str:
    return "valid" if config.train_rooms == "train" else "valid_stream"


def _evaluate(config: Config, rooms: str, episodes: int, policy: TeamPolicy) -> Episodes:
    return furniture.evaluate(lambda count: _world(config, count, rooms=rooms), policy, episodes)


def _objective(config: Config, method: Method) -> Objective:
    learner = config.learner
    beta = Schedule.linear(method.cordial_start, method.cordial_floor, method.cordial_decline * config.budget_env_steps)
    if method.cordial_decline_episodes:
        until = method.cordial_decline_episodes
        beta = Schedule.linear(method.cordial_start, method.cordial_floor, until, unit="episodes")
    shared: dict[str, Any] = {
        "gamma": learner.gamma,
        "value_weight": learner.value_weight,
        "entropy_weight": Schedule.constant(method.entropy_weight),
        "is_joint": learner.is_joint,
        "extra_losses": (CoordinationLoss(furniture.coordination_set(_world(config)), beta),),
    }
    if learner.algorithm == "impala":
        return Impala(**shared)
    epochs, minibatches = learner.epochs, learner.minibatches
    return Ppo(**shared, lambda_=learner.lambda_, clip=learner.clip, epochs=epochs, minibatches=minibatches)


def _optimiser(config: Config, method: Method) -> OptimiserSettings:
    learner, start = config.learner, method.learning_rate
    return OptimiserSettings(
        learning_rate=Schedule.linear(start, start * learner.final_learning_rate_share, config.budget_env_steps),
        epsilon=learner.epsilon,
        amsgrad=learner.amsgrad,
        clip=learner.clip_gradient,
        clip_by=learner.clip_gradient_by,
    )


EXPERIMENT = Experiment(
    name="furnmove_sync",
    caption="Gridworld-FurnMove: two agents carry a television through rooms that they have never seen",
    presets={"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER},
    methods=lambda config: config.methods,
    plan=plan,
    test=test,
    departures=departures,
    tables=tables,
    draw=furniture.draw,
    make_test_world=_test_world,
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
