"""Rock-paper-scissors by two agents against an adversary that knows their policy (A Cordial Sync, appendix A.2).

    python tune_experiments/matrix_game.py                         # laptop: under a minute on 2 cores
    python tune_experiments/matrix_game.py --preset smoke          # learns nothing
    python tune_experiments/matrix_game.py --preset paper          # the same game, more and larger batches

The team loses whenever its agents differ. `marginal` agents draw their actions independently; their best value against
an adversary that knows their policy is 5 - 4 sqrt(2) = -0.6569. `sync` agents draw from a mixture of three products by
a shared random stream; their best value is 0. `value_against_adversary` is no sampled return: it is the worst exact
value of the learned joint policy over the adversary's three replies.

Training: both methods follow the policy gradient (IMPALA, one update per batch) of sampled rewards. Before each batch
the adversary gets the joint policy and plays reply k with a probability proportional to exp(-value_k / temperature):
averaged over such replies, the gradient is that of a smooth lower bound of the worst value
(-temperature * log sum exp(-value / temperature)). Two things must decrease to nearly 0 in training: the temperature,
because only then is the bound the worst value, and the learning rate, because the optimum is a kink where two replies
are equally bad.

Local optima, and how they are avoided: uniform play (-0.6667) is a local optimum of marginal teams against the best
reply, but not above a temperature of 2/9; pure play (-1) is one at any temperature, and attracts most runs at much
higher temperatures; SYNC may lose a component permanently (-0.3333, two actions of three). So the temperature starts at
0.35, and an entropy bonus, annealed to zero, keeps teams from converging before the temperature is low. SYNC's is on
component and action together (as in the authors' code) and ten times larger.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from rl_envs import World, make
from rl_envs.matrix_game.payoff import value_against_adversary, values_by_reply
from rl_envs.matrix_game.world import ACTION_NAMES
from rl_models.configuration import MAY_GAIN, MAY_GROW, UnitInterval, Unread, fields_of_others
from rl_models.rllib.workers import Workers
from rl_models.schedule import Progress, Schedule
from rl_models.team_world import TeamWorld
from tune_experiments.core.checks import check_distinct, check_ranges
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.files import read_arrays
from tune_experiments.experiment.plan import Episodes, TrialPlan
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.distributions.mixture import MixtureOfMarginals
    from rl_models.policy import TeamPolicy
    from rl_models.training.local_algorithm import LocalAlgorithm
    from tune_experiments.play.trial_figures import Trials

GAME = "rock_paper_scissors"
METRICS = ("value_against_adversary", "invalid_probability", "tvd")
OPTIMUM = {"sync": 0.0, "marginal": 5 - 4 * math.sqrt(2)}
"""`value_against_adversary` of the best policy of each kind; the paper rounds the second to -.657."""
CURVES = {
    "valid/value_against_adversary": "value against the adversary",
    "valid/invalid_probability": "probability that the two differ",
    "valid/tvd": "total variation distance",
}
_PIECES = 20


@dataclass(frozen=True)
class Method:
    """Settings that distinguish the methods of the table."""

    components: PositiveInt
    """Number of mixture components m; 1 is the marginal policy."""
    entropy_coef: NonNegativeFloat
    """Weight of the entropy bonus at the start, at least 0; it falls linearly to 0 at `entropy_share` of the budget."""


@dataclass(frozen=True)
class Config:
    """One run of this experiment."""

    methods: tuple[Literal["sync", "marginal"], ...] = dataclasses.field(
        default=("sync", "marginal"), metadata=MAY_GAIN
    )
    """Methods to train: sync, marginal."""
    sync: Method = Method(3, 0.8)
    """The method `sync`, with as many components as the rank of the optimal joint policy."""
    marginal: Method = Method(1, 0.08)
    """The method `marginal`, in which each agent draws independently."""
    learning_rate: PositiveFloat = 0.02
    """Learning rate of Adam, above 0, for the share `hold_share` of the budget; then it falls geometrically."""
    final_learning_rate: PositiveFloat = 2e-4
    """Learning rate of Adam at the end, above 0."""
    temperature: PositiveFloat = 0.35
    """Temperature of the adversary's reply, above 0, for the share `hold_share` of the budget; then it falls
    geometrically."""
    final_temperature: PositiveFloat = 0.002
    """Temperature of the adversary's reply at the end, above 0: as good as the best reply."""
    hold_share: Annotated[float, Field(ge=0, le=0.99)] = 0.2
    """Share of the budget, from 0 to 0.99, in which learning rate and temperature stay as they are."""
    entropy_share: UnitInterval = 0.5
    """Share of the budget, from 0 to 1, after which there is no entropy bonus."""
    games: PositiveInt = 256
    """Number of worlds played at once; one update learns from one step of each."""
    updates_per_row: PositiveInt = 10
    """Number of updates per logged row."""
    budget_env_steps: PositiveInt = dataclasses.field(default=102_400, metadata=MAY_GROW)
    """Number of joint env steps of training."""
    checkpoint_every_env_steps: PositiveInt = 25_600
    """Number of env steps between checkpoints; a crash loses at most this many."""

    def __post_init__(self) -> None:
        check_distinct(self, "methods")
        check_ranges(self)

    def unread_by(self, method: str) -> Unread:
        """Settings of the other method."""
        return fields_of_others(method, {"sync": ("sync",), "marginal": ("marginal",)})


LAPTOP = Config()
SMOKE = dataclasses.replace(LAPTOP, budget_env_steps=5_120, checkpoint_every_env_steps=2_560)
PAPER = dataclasses.replace(LAPTOP, games=1_024, budget_env_steps=1_024_000, checkpoint_every_env_steps=256_000)


@dataclass(frozen=True)
class InformedAdversary:
    """Sets the adversary's reply probabilities from the joint policy before each batch."""

    temperature: Schedule

    def __call__(self, world: TeamWorld, policy: TeamPolicy, progress: Progress) -> None:
        """Set the reply probabilities of the world's adversary."""
        values = values_by_reply(joint_policy(policy))
        odds = np.exp(-(values - values.min()) / self.temperature.at(progress))
        world.set_adversary(odds / odds.sum())  # type: ignore[attr-defined]


def plan(config: Config, method: str, seed: int) -> TrialPlan:
    """One method with one seed; without RLlib, whose start takes longer than training."""
    from rl_models.algorithms.impala import Impala
    from rl_models.algorithms.optimiser import OptimiserSettings
    from rl_models.teams.constant_team import constant_team

    settings: Method = getattr(config, method)
    budget = config.budget_env_steps
    entropy_coef = Schedule.linear(settings.entropy_coef, 0.0, config.entropy_share * budget)
    return TrialPlan(
        make_world=functools.partial(make, "matrix_game-v0", game=GAME),
        build_policy=functools.partial(constant_team, settings.components, 2, len(ACTION_NAMES), seed),
        objective=Impala(gamma=1.0, entropy_coef=entropy_coef),
        optimiser=OptimiserSettings(
            learning_rate=_annealed(config, config.learning_rate, config.final_learning_rate),
            optimiser_epsilon=1e-8,
            max_grad_norm=10.0,
        ),
        workers=Workers(worlds_per_runner=config.games, fragment_length=1),
        seed=seed,
        budget_env_steps=budget,
        validate_every_env_steps=1,
        checkpoint_every_env_steps=config.checkpoint_every_env_steps,
        validate=exact_values,
        make_algorithm=functools.partial(_make_algorithm, config),
    )


def joint_policy(policy: TeamPolicy) -> np.ndarray:
    """Joint policy of the team, [3, 3] float64 by the first and the second agent's action; sums to 1."""
    joint = _act_forward(policy).joint()[0, 0].double().cpu().numpy()
    return np.asarray(joint / joint.sum())


def exact_values(policy: TeamPolicy) -> Episodes:
    """The metrics of a team, [1] each: computed from its joint policy, without episodes."""
    joint = joint_policy(policy)
    numbers = (value_against_adversary(joint), 1 - np.trace(joint), float(_act_forward(policy).tvd()))
    metrics = {name: np.array([number]) for name, number in zip(METRICS, numbers, strict=True)}
    return metrics | {"_joint_policy": joint}


def _draw_joint_policies(out: Path, trials: Trials) -> Iterator[Path]:
    from tune_experiments.results import plots
    from tune_experiments.run.final_evaluation import figure_data_files

    policies = {}
    for method, seeds in trials.items():
        for seed, folder in seeds.items():
            if (data := figure_data_files(folder).get(GAME)) is not None:
                policies[f"{method}, seed {seed}"] = read_arrays(data)["_joint_policy"]
    if policies:
        classes = {name[0].upper(): [i] for i, name in enumerate(ACTION_NAMES)}
        yield plots.save(plots.joint_policy(policies, ACTION_NAMES, classes), out / "plots/joint_policy.png")


def _make_algorithm(config: Config, plan: TrialPlan) -> LocalAlgorithm:
    from rl_models.training.collector import Collector
    from rl_models.training.local_algorithm import LocalAlgorithm
    from rl_models.training.loop import Learner

    world = plan.make_world(num_worlds=config.games, first_world=0)
    objective, policy = plan.objective, plan.new_policy()
    return LocalAlgorithm(
        Collector(world, policy, plan.workers.fragment_length, needs_values=objective.needs_values),
        Learner(policy, objective, plan.optimiser),
        plan.seed,
        before_collect=InformedAdversary(_annealed(config, config.temperature, config.final_temperature)),
        updates_per_train=config.updates_per_row,
    )


def _annealed(config: Config, start: float, end: float) -> Schedule:
    """Constant, then geometric, in linear pieces."""
    first = config.hold_share * config.budget_env_steps
    pieces = np.linspace(0.0, 1.0, _PIECES + 1)
    moments = first + pieces * (config.budget_env_steps - first)
    return Schedule(tuple(zip(moments.tolist(), (start * (end / start) ** pieces).tolist(), strict=True)))


def _act_forward(policy: TeamPolicy) -> MixtureOfMarginals:
    """The policy of a team without observations, [1, 1]."""
    import torch

    from rl_models.runtime.device import get_device

    with torch.no_grad():
        return policy({}, {}, torch.zeros(1, 1, dtype=torch.bool, device=get_device(policy))).policy


class MatrixGameExperiment(Experiment[Config]):
    """A mixture of three product policies, and independent agents."""

    name = "matrix_game"
    caption = "Rock-paper-scissors by two agents against an adversary who sees their policy"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    seeds = (0, 1, 2)
    split = "exact"
    main = MainComparison("sync", "marginal", METRICS[0])
    columns = {"reward": "episode/outcome", "value against adversary": "valid/value_against_adversary"}

    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """Policy gradient against an adversary that knows the joint policy."""
        return plan(config, method, seed)

    def evaluate(self, config: Config, method: str, policy: TeamPolicy) -> dict[str, Episodes]:
        """The exact worst case over the adversary's three replies."""
        return {GAME: exact_values(policy)}

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Values derived in the paper, beside the learned ones."""
        paper = {method: {METRICS[0]: value} for method, value in OPTIMUM.items()}
        return [make_table(results, self.caption, METRICS, paper)]

    def deviation_notes(self, config: Config) -> list[str]:
        """Deviations of this configuration from the paper."""
        notes = [
            "the paper derives the best policies with symbolic algebra; here teams learn them from sampled rewards"
        ]
        if config.budget_env_steps < LAPTOP.budget_env_steps:
            notes.append(f"{config.budget_env_steps:,} env steps are too few to learn the game")
        return notes

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, and every trial's joint policy: seeds may find different ones of three equally good policies."""
        from tune_experiments.play.trial_figures import draw_curves

        policies = attempt("joint policies", lambda: _draw_joint_policies(run_folder, trials))
        return [*draw_curves(run_folder, trials, CURVES, bins=60), *policies]

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> World:
        """World for `play`: the adversary does not know the policy here and acts uniformly."""
        return make("matrix_game-v0", num_worlds, game=GAME)


EXPERIMENT = MatrixGameExperiment()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
