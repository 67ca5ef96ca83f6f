"""Tests of teams in RTFM: training assignments, unseen ones, new words, larger rooms, wrong documents.

Section 5.3 of EnDi (Eval, Eval(new), Eval 10 x 10), with RTFM's greedy play. With shuffled documents, the win rate of
a team that reads decreases.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from rl_envs.rtfm.grid import NUM_MOVES
from rl_envs.rtfm.stages import EVALUATIONS
from tune_experiments.endi.division import make_evaluation
from tune_experiments.endi.rtfm_config import EndiRtfmConfig, make_stage
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
from tune_experiments.rtfm.columns import SHUFFLED, TEST, UNSEEN

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy

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
    from rl_models.training.evaluation import Evaluation
    from tune_experiments.rtfm.evaluation import VALIDATION_SEED, play

    worlds = [make_stage(config, stage, config.valid_episodes, split=split) for split in ("train", "valid")]
    way = functools.partial(make_evaluation, config.division, Evaluation)
    seen, unseen = (play(world, policy, way, seed=VALIDATION_SEED) for world in worlds)
    return seen | {"unseen_win_rate": unseen["win_rate"]}


@functools.lru_cache(maxsize=8)
def random_play(config: EndiRtfmConfig, stage: int) -> Episodes:
    """Episodes of uniform moves."""
    from rl_models.teams.constant_team import uniform_team
    from tune_experiments.rtfm.evaluation import play

    world = make_stage(config, stage, config.test_episodes)
    return play(world, uniform_team(world.num_agents, NUM_MOVES), is_greedy=False)


def _play(config: EndiRtfmConfig, stage: int, policy: TeamPolicy, column: str) -> Episodes:
    from rl_models.training.evaluation import Evaluation
    from tune_experiments.rtfm.evaluation import WithWrongDocuments, play

    world = make_stage(config, stage, config.test_episodes, **columns(config)[column])
    way = WithWrongDocuments if column == SHUFFLED else Evaluation
    return play(world, policy, functools.partial(make_evaluation, config.division, way))
