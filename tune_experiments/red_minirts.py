"""RED on MiniRTS: a team that plays by itself and follows commands in words (Xu, Wang and Wu, 2022).

    python tune_experiments/red_minirts.py                              # laptop: quarter width, 200 updates a method
    python tune_experiments/red_minirts.py --num-agents 2 --opponents medium_two --out runs/red_two
    python tune_experiments/red_minirts.py --methods red scratch --seeds 0 1 --out runs/red_scratch
    python tune_experiments/red_minirts.py --preset smoke               # under 2 minutes, learns nothing

A unit-level network reads the last five instructions; an agent selects units and gives all of them one command. The
team first clones scripts with template commands (the paper has human games, we have none), then learns by PPO without
commands, and after each round clones the scripts again together with games that it has won. Each method is tested with
five commanders: `oracle` knows what the enemy trains and names its counter (of several types each agent's names one),
`fair` guesses it through the fog, `none` is silent, `random` draws any of 17 phrases, `adversarial` names what loses. A
team that follows commands wins with the oracle and loses with its adversary. A scripted executor without training plays
the same games.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_envs.core.metrics import SHARE
from rl_envs.minirts.metric_ranges import METRIC_RANGES
from rl_models.networks.network_config import CommandedUnitsConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.optimiser_steps import describe_optimiser_steps, optimiser_steps
from tune_experiments.experiment.plan import Tests
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.red.config import CloningSettings, RedConfig, RedLearnerConfig, make_world
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.red import trials
    from tune_experiments.red.commanded_rts import CommandedRts
else:
    trials = LazyModule("tune_experiments.red.trials")

LAPTOP = RedConfig(cloning=CloningSettings(frames=48_000, num_epochs=2, frequency_power=0.5))
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("red",),
    opponents=("simple",),
    network=CommandedUnitsConfig(8, 8, 8, 4, 4, 8, 8, 4, 8),
    cloning=CloningSettings(frames=16, distillation_frames=16, worlds=2, num_epochs=1, frequency_power=0.5),
    iterations=1,
    budget_env_steps=32,
    value_updates=1,
    workers=Workers(worlds_per_runner=4, fragment_length=8),
    max_episode_steps=12,
    validate_every_env_steps=64,
    valid_episodes=2,
    checkpoint_every_env_steps=64,
    test_episodes=3,
)
PAPER = dataclasses.replace(
    LAPTOP,
    network=CommandedUnitsConfig(),
    cloning=CloningSettings(frames=20_000, distillation_frames=20_000, num_epochs=10, learning_rate=2e-4),
    learner=RedLearnerConfig(peak_learning_rate=5e-5, num_epochs=4),
    iterations=15,
    budget_env_steps=76_800_000,
    workers=Workers(runners=8, worlds_per_runner=64, fragment_length=100),
    validate_every_env_steps=5_120_000,
    checkpoint_every_env_steps=512_000,
    valid_episodes=120,
    test_episodes=1_200,
)
"""SAMA's schedule: 300 updates of warm-up to 5e-5, then down to 0 at 1500; 15 rounds of 100 updates (RED)."""
METRICS = ("win_rate", "episode_length")


class RedMinirts(Experiment):
    """A team with five commanders."""

    metric_ranges = METRIC_RANGES | {"win_rate": SHARE}
    name = "red_minirts"
    caption = "RED on MiniRTS"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    columns = {
        "win, oracle": "valid/win_rate",
        "win, silent": "valid/win_rate_without_commands",
        "cloning": "cloning/loss",
    }

    def plan(self, config: RedConfig, method: str, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """Cloning, then PPO and distillation alternately."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: RedConfig, method: str, policy: TeamPolicy) -> Tests:
        """Whole games with every commander; for the first method also those of a scripted executor."""
        scripted = trials.evaluate_scripted(config) if method == config.methods[0] else {}
        return trials.evaluate(config, policy) | scripted

    def main_comparisons(self, config: RedConfig) -> Sequence[MainComparison]:
        """Whether the team follows commands: the oracle against the commander that names what loses."""
        if trials.RED not in config.methods:
            return ()
        against = {"condition": trials.ORACLE, "against_condition": trials.ADVERSARIAL}
        return (MainComparison(trials.RED, trials.RED, "win_rate", trials.GAME, **against),)

    def evaluation_seeds(self, config: RedConfig) -> Sequence[int]:
        """Seeds of validation and test."""
        return trials.VALIDATION_SEED, config.test_seed

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One row per method, stage and commander."""
        rows = [dataclasses.replace(one, method=f"{one.method}, {one.condition}", condition="") for one in results]
        return [make_table(rows, self.caption, METRICS)]

    def deviation_notes(self, config: RedConfig) -> Sequence[str]:
        """Deviations that no flag shows."""
        return [
            "no human data: what is cloned are medium scripts, with their aims in template commands",
            "commands are the 17 phrases of a closed set, not 500 human ones",
            "PPO's settings that the papers leave open are ours",
            "against archers the oracle's kind of foot soldier differs by agent, in RED by game",
        ]

    def optimiser_steps(self, config: RedConfig) -> str:
        """Optimiser steps of PPO, compared with those of the preset `paper`; the paper does not give epochs."""
        steps = optimiser_steps(PAPER.learner, PAPER.workers, PAPER.budget_env_steps)
        how = f" in the {PAPER.learner.num_epochs} epochs an update of the released class"
        return describe_optimiser_steps(config.learner, config.workers, config.budget_env_steps, steps, how=how)

    def test_world(self, config: RedConfig, num_worlds: int, method: str = "") -> CommandedRts:
        """Games with the oracle."""
        return make_world(config, num_worlds, commander=trials.ORACLE)


EXPERIMENT = RedMinirts()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
