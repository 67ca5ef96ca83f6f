"""Base of the experiments in one kitchen: worlds, tables of soups and rewards, curves and videos."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rl_envs.core.metrics import COUNT
from rl_envs.overcooked.world import MAX_EPISODE_STEPS, Overcooked
from tune_experiments.core.errors import UserError
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.launch.experiment import Experiment
from tune_experiments.overcooked.config import COLE, OvercookedConfig, make_world
from tune_experiments.play.recording import SEED, record_episode
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

if TYPE_CHECKING:
    from tune_experiments.overcooked import evaluation
    from tune_experiments.play.loading import LoadedPolicy
else:
    evaluation = LazyModule("tune_experiments.overcooked.evaluation")


COLUMNS = ("soups", "reward", "shaped_return")
PUBLISHED = {
    "cramped_room": 213,
    "asymmetric_advantages": 305,
    "coordination_ring": 164,
    "forced_coordination": 160,
    "counter_circuit_o_1order": 125,
}
"""Reward of the game's own self-play agents (5 seeds, 6.6 to 7.8 million env steps), read off a chart to about 5, in
episodes of `MAX_EPISODE_STEPS`."""


def tables(results: Sequence[Result], caption: str, columns: Sequence[str] = COLUMNS) -> list[PaperTable]:
    """One table for each kitchen that was tested."""
    kitchens = dict.fromkeys(line.world for line in results)
    return [_table(results, kitchen, caption, columns) for kitchen in kitchens]


def _table(results: Sequence[Result], kitchen: str, caption: str, columns: Sequence[str]) -> PaperTable:
    title = f"{caption}: {kitchen}"
    played = [dataclasses.replace(line, method=_row(line)) for line in results if line.world == kitchen]
    table = make_table(played, title, columns)
    return dataclasses.replace(table, caption=table.caption + published_note(played, kitchen))


def published_note(played: Sequence[Result], kitchen: str) -> str:
    """A sentence with the published reward; empty where there is none, or episodes have another length."""
    lengths = {line.value for line in played if line.metric == "episode_length"}
    if kitchen not in PUBLISHED or lengths - {MAX_EPISODE_STEPS}:
        return ""
    return f" For comparison: the game's own self-play agents reach about {PUBLISHED[kitchen]} in 7 million env steps."


def _row(line: Result) -> str:
    """Label of a row; for COLE with its env steps, as the release has about a hundred times as many."""
    return f"{line.method}, {line.env_steps:,} env steps" if line.method == COLE and line.env_steps else line.method


Config = TypeVar("Config", bound=OvercookedConfig)

OVERCOOKED_RANGES = MappingProxyType({**Overcooked.metric_ranges, "reward": COUNT, "reward_sampled": COUNT})
CURVES = {
    "episode/soups": "soups per episode",
    "valid/reward": "reward per episode, without shaping",
    "episode/shaped_return": "shaped points per episode",
    "policy/entropy": "entropy (nats, both chefs)",
    "cole/payoff_with_members": "reward with its population (cole)",
}
_VIDEO_STEPS = 160
"""Number of env steps in a video: enough for several soups in a small file."""


class OvercookedExperiment(Experiment[Config]):
    """One table on a kitchen."""

    metric_ranges = OVERCOOKED_RANGES
    columns = {"soups": "episode/soups", "shaped": "episode/shaped_return", "reward": "valid/reward"}
    curves: Mapping[str, str] = CURVES

    def evaluation_seeds(self, config: Config) -> Sequence[int]:
        """Seeds of validation and test."""
        return evaluation.VALIDATION_SEED, evaluation.EVALUATION_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table a kitchen."""
        return tables(results, self.caption)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """The beginning of an episode, [H, W, 3] uint8 a step."""
        return record_episode(loaded, seed)[: _VIDEO_STEPS + 1]

    def check(self, config: Config) -> None:
        """Check that COLE has at most as many generations as its learner has updates."""
        settings = config.cole
        updates = config.budget_env_steps // config.workers.env_steps_of_update
        if COLE in config.methods and settings.generations > updates:
            raise UserError(
                f"--cole.generations must be at most {updates:,}, the number of updates in --budget-env-steps, "
                f"not {settings.generations:,}"
            )

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> Overcooked:
        """The run's kitchen."""
        return make_world(config, num_worlds)

    def valid_world(self, config: Config, num_worlds: int) -> Overcooked:
        """The same."""
        return make_world(config, num_worlds)


def cole_notes(config: OvercookedConfig) -> list[str]:
    """Deviations of method `cole` from the paper, if a run has it."""
    if COLE not in config.methods:
        return []
    return [
        f"cole: at most {config.cole.population_size} members, exact Shapley values, visits counted by each world, and "
        "both chefs learn in self-play",
        "cole: PPO's constants are self-play's, generations are shorter, and the last learner is tested, not a chosen "
        "one",
    ]
