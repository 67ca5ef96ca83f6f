"""Training run of a method in RTFM, built from settings: its team, losses, stages and tests (EnDi, section 5.3).

Methods are teams of independent learners, with PPO or IMPALA, except for `qmix`. Its worlds, budgets, validation and
tests are those of the other methods.
"""

import dataclasses
import functools
from typing import Any

import torch

from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.stages import EVALUATIONS
from rl_models.algorithms.optimiser import optimiser_settings
from rl_models.algorithms.qmix import qmix_objective
from rl_models.networks.entity_divider import DividedReadingConfig
from rl_models.networks.entity_divider_matching import DividedMatchingConfig
from rl_models.networks.network_config import SilgConfig
from rl_models.networks.qmix_encoders import GridSymbolsConfig
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.policy import TeamPolicy
from rl_models.teams.constant_team import uniform_team
from rl_models.teams.qmix_team import QmixTeamConfig, qmix_grid_team
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.training.evaluation import Evaluation
from tune_experiments.endi.division import is_divided, make_evaluation, make_losses, on_matching
from tune_experiments.endi.rtfm_config import EndiRtfmConfig, QmixSettings, make_stage, make_task
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import RANDOM, Episodes, Stage, Tested, Tests, TrialPlan
from tune_experiments.rtfm.config import SHUFFLED, TEST, UNSEEN, NetworkSettings, make_world
from tune_experiments.rtfm.evaluation import VALIDATION_SEED, WithWrongDocuments, play
from tune_experiments.rtfm.trials import matching_plan, matching_sizes, sizes, team_config
from tune_experiments.rtfm.trials import plan as plan_one

SAME_SIZE = ("train", "eval", "eval_new")


def columns(config: EndiRtfmConfig) -> dict[str, dict[str, Any]]:
    """Column of the table -> arguments of its worlds."""
    found = {name: EVALUATIONS[name] for name in SAME_SIZE}
    larger = {f"eval_{size}x{size}": {"split": TEST, "size": size} for size in config.test_sizes}
    return {**found, **larger, SHUFFLED: EVALUATIONS["eval"]}


def evaluate(config: EndiRtfmConfig, stage: int, policy: TeamPolicy) -> Tests:
    """`stage_S_COLUMN`, with right or wrong documents -> episodes of this team, then those of random play."""
    found = {_tested(stage, name): _play(config, stage, policy, name) for name in columns(config)}
    return found | {Tested(f"stage_{stage}_train", method=RANDOM): dict(random_play(config, stage))}


def _tested(stage: int, column: str) -> Tested:
    """Name of a column's test; wrong documents are those of unseen assignments."""
    return Tested(f"stage_{stage}_{UNSEEN}", SHUFFLED) if column == SHUFFLED else Tested(f"stage_{stage}_{column}")


def validate(config: EndiRtfmConfig, stage: int, policy: TeamPolicy) -> Episodes:
    """Metrics on training assignments, and the win rate on those of validation, which are not in any test."""
    worlds = [make_stage(config, stage, config.valid_episodes, split=split) for split in ("train", "valid")]
    way = functools.partial(make_evaluation, config.division, Evaluation)
    seen, unseen = (play(world, policy, way, seed=VALIDATION_SEED) for world in worlds)
    return seen | {"unseen_win_rate": unseen["win_rate"]}


@functools.lru_cache(maxsize=8)
def random_play(config: EndiRtfmConfig, stage: int) -> Episodes:
    """Episodes of uniform moves."""
    world = make_stage(config, stage, config.test_episodes)
    return play(world, uniform_team(world.num_agents, NUM_MOVES), is_greedy=False)


def _play(config: EndiRtfmConfig, stage: int, policy: TeamPolicy, column: str) -> Episodes:
    world = make_stage(config, stage, config.test_episodes, **columns(config)[column])
    way = WithWrongDocuments if column == SHUFFLED else Evaluation
    return play(world, policy, functools.partial(make_evaluation, config.division, way))


def plan(config: EndiRtfmConfig, method: str, seed: int) -> Curriculum:
    """The stages of one method with one seed."""
    return Curriculum(tuple(_stage(config, method, seed, stage) for stage in config.stages))


def _stage(config: EndiRtfmConfig, method: str, seed: int, stage: int) -> Stage:
    is_last = stage == config.last_stage
    make_plan = matching_stage if on_matching(method) else independent_stage
    plan = make_plan(config, method, seed, stage)
    return Stage(
        name=f"s{stage}",
        plan=qmix_stage(config, seed, plan) if method == QMIX else plan,
        evaluate=None if is_last else functools.partial(evaluate, config, stage),
    )


def independent_stage(config: EndiRtfmConfig, method: str, seed: int, stage: int) -> TrialPlan:
    """One stage of independent learners, each with its own reward."""
    budget = config.first_stage_env_steps if stage == config.stages[0] else config.budget_env_steps
    task, learner = make_task(config, stage), config.learner_for(budget)
    own = dataclasses.replace(config, task=task, learner=learner, budget_env_steps=budget)
    losses = make_losses(method, config.division).extra_losses() if is_divided(method) else ()
    return dataclasses.replace(
        plan_one(own, "txt2pi", seed, losses),
        make_world=functools.partial(make_stage, config, stage),
        build_policy=functools.partial(build_policy, config, method, seed),
        validate=functools.partial(validate, config, stage),
    )


def matching_stage(config: EndiRtfmConfig, row: str, seed: int, stage: int) -> TrialPlan:
    """One stage of the mention-matching reader, with its own learner and first budget, perhaps with a divider."""
    settings = config.matching
    if stage != config.stages[0]:
        settings = dataclasses.replace(settings, budget_env_steps=config.budget_env_steps)
    own = dataclasses.replace(config, task=make_task(config, stage), matching=settings)
    losses = make_losses(row, config.division).extra_losses() if is_divided(row) else ()
    plan = dataclasses.replace(
        matching_plan(own, "matching", seed, losses), validate=functools.partial(validate, config, stage)
    )
    if not is_divided(row):
        return plan
    return dataclasses.replace(plan, build_policy=functools.partial(build_divided_matching, config, row, seed))


def build_divided_matching(config: EndiRtfmConfig, row: str, seed: int) -> TeamPolicy:
    """The team of a method that divides with the mention-matching reader, with its initial weights."""
    network = DividedMatchingConfig(
        config.matching.network(),
        config.matching_goal_features,
        models_others=make_losses(row, config.division).modelling_coef > 0,
    )
    team = ReaderTeamConfig(network, shares_network=config.matching.shares_network)
    return reader_team(team, matching_sizes(config.task), NUM_MOVES, seed, is_entity=_is_entity(config))


def build_policy(config: EndiRtfmConfig, method: str, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights, the same in all stages."""
    of_world, shares = sizes(config.task, config.network.text_encoder), config.division.shares_network
    reads = dataclasses.replace(team_config("txt2pi", config.network), shares_network=shares)
    if method == "silg":
        silg = ReaderTeamConfig(silg_config(config.network), only_legal_moves=reads.only_legal_moves)
        return reader_team(dataclasses.replace(silg, shares_network=shares), of_world, NUM_MOVES, seed)
    if not is_divided(method):
        return reader_team(reads, of_world, NUM_MOVES, seed)
    assert isinstance(reads.network, Txt2PiConfig)
    network = DividedReadingConfig(
        dataclasses.replace(reads.network, features=config.divided_features),
        config.goal_channels,
        models_others=make_losses(method, config.division).modelling_coef > 0,
    )
    team = ReaderTeamConfig(network, only_legal_moves=reads.only_legal_moves, shares_network=shares)
    return reader_team(team, of_world, NUM_MOVES, seed, is_entity=_is_entity(config))


def _is_entity(config: EndiRtfmConfig) -> torch.Tensor:
    """Names of entities that can be divided, [K] bool."""
    world = make_world(config.task)
    assert world.entity_spec is not None and world.entity_spec.is_entity is not None
    return torch.from_numpy(world.entity_spec.is_entity)


def silg_config(settings: NetworkSettings) -> SilgConfig:
    """SILG's model, wider than txt2pi as in its release: twice the states, 100 word features to 30."""
    return SilgConfig(
        hidden_size=2 * settings.document_hidden_size,
        word_features=settings.word_features * SilgConfig().word_features // Txt2PiConfig().word_features,
        channels=settings.channels,
        features=settings.features,
    )


QMIX = "qmix"


def qmix_stage(config: EndiRtfmConfig, seed: int, stage: TrialPlan) -> TrialPlan:
    """A stage's plan with QMIX, a joint learner that reads no document."""
    batch = config.workers.env_steps_of_update
    return dataclasses.replace(
        stage,
        build_policy=functools.partial(build_qmix_policy, config, seed),
        objective=qmix_objective(config.qmix, config.learner.gamma, batch, _team(config.qmix).texts),
        optimiser=optimiser_settings(config.qmix, config.qmix.learning_rate, stage.budget_env_steps),
    )


def build_qmix_policy(config: EndiRtfmConfig, seed: int) -> TeamPolicy:
    """The team of the method `qmix` with its initial weights."""
    side = config.task.size
    return qmix_grid_team(_team(config.qmix), sizes(config.task), (side, side), NUM_MOVES, seed)


def _team(settings: QmixSettings) -> QmixTeamConfig:
    grid = GridSymbolsConfig(settings.word_features, settings.cell_features, sees_goal=settings.sees_goal)
    return QmixTeamConfig(grid, settings.hidden_size, settings.mixing_hidden_size)
