"""Overcooked by self-play: two chefs with one network learn to serve onion soup by PPO, the baseline of SAMA's figures.

    python tune_experiments/overcooked_selfplay.py                           # laptop: minutes on 2 cores
    python tune_experiments/overcooked_selfplay.py --task coordination_ring --out runs/ring
    python tune_experiments/overcooked_selfplay.py --methods selfplay --seeds 0 1 2 3 --out runs/population
    python tune_experiments/overcooked_selfplay.py --methods fcp --population runs/population --out runs/fcp
    python tune_experiments/overcooked_selfplay.py --methods cole --out runs/cole
    python tune_experiments/overcooked_selfplay.py --preset smoke            # under 2 minutes, learns nothing
    python tune_experiments/overcooked_selfplay.py --preset paper            # the published sizes: hours

Methods: `selfplay` also has shaped rewards for onions in pots, useful dishes and soups taken, whose weight falls to 0.
`selfplay_sparse` is only rewarded for served soups. `fcp`, fictitious co-play, has the rewards of `selfplay` and trains
one chef with frozen partners: teams of self-play of another run, each untrained, half-way and trained. `cole` (Li et
al., ICML 2023) has the rewards of `selfplay` and a growing population of partners: copies of itself, most often those
with the smallest contributions; `plots/` shows its generations. The episodes for payoffs are not counted as training.
All observe the whole kitchen (`lossless`). Results are of whole episodes of 400 env steps with sampled actions, without
shaping, beside random play; a soup is 20. Teams of `fcp` and `cole` are tested with themselves, as the others are;
`overcooked_crossplay.py` tests them with other teams.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rl_models.networks.network_config import GridCnnConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.optimiser_steps import describe_optimiser_steps, optimiser_steps
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.launch.experiment import main
from tune_experiments.overcooked.config import ColeSettings, OvercookedConfig, ShapingSettings, learner_config
from tune_experiments.overcooked.overcooked_experiment import OvercookedExperiment, cole_notes
from tune_experiments.results.main_comparison import MainComparison

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.overcooked import evaluation, trials
else:
    evaluation = LazyModule("tune_experiments.overcooked.evaluation")
    trials = LazyModule("tune_experiments.overcooked.trials")

LAPTOP = OvercookedConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    network=GridCnnConfig(channels=(4, 4), first_kernel=3, hidden_sizes=(16,)),
    workers=Workers(worlds_per_runner=8, fragment_length=20),
    max_episode_steps=60,
    budget_env_steps=640,
    validate_every_env_steps=160,
    valid_episodes=4,
    checkpoint_every_env_steps=160,
    test_episodes=8,
    cole=ColeSettings(generations=3, initial_generations=1, payoff_episodes=2),
)
PAPER = dataclasses.replace(
    LAPTOP,
    network=GridCnnConfig(),
    shaping=ShapingSettings(env_steps=2_500_000),
    learner=learner_config(
        learning_rate=2.2e-4,
        final_learning_rate_share=1.0,
        gamma=0.97,
        gae_lambda=0.55,
        clip_range=0.15,
        num_epochs=8,
        num_minibatches=6,
        value_coef=0.015,
        entropy_coef=0.2,
        final_entropy_coef=0.1,
        entropy_env_steps=300_000,
    ),
    workers=Workers(worlds_per_runner=30, fragment_length=400),
    budget_env_steps=7_200_000,
    validate_every_env_steps=120_000,
    checkpoint_every_env_steps=120_000,
)
"""600 updates of 12,000 env steps, in minibatches of 2,000; the middle of the published ranges."""
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}


class OvercookedSelfplay(OvercookedExperiment[OvercookedConfig]):
    """Self-play with and without shaping, fictitious co-play and COLE."""

    name = "overcooked_selfplay"
    caption = "Overcooked, self-play"
    presets = PRESETS

    def plan(self, config: OvercookedConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """PPO on one chef's network."""
        return trials.plan(config, method, seed)

    def evaluate(self, config: OvercookedConfig, method: str, policy: TeamPolicy) -> Tests:
        """Whole episodes without shaping, and random play."""
        return evaluation.evaluate(config, policy)

    def main_comparisons(self, config: OvercookedConfig) -> Sequence[MainComparison]:
        """Comparison of self-play with and without shaped points."""
        title = f"{self.caption}: {config.task}"
        return (MainComparison("selfplay", "selfplay_sparse", "reward", config.task, table=title),)

    def deviation_notes(self, config: OvercookedConfig) -> Sequence[str]:
        """Deviations that no flag shows."""
        ranges = "published constants differ by kitchen within the ranges whose middle is the preset paper"
        return [*cole_notes(config), ranges]

    def optimiser_steps(self, config: OvercookedConfig) -> str:
        """Optimiser steps, compared with those of the published self-play."""
        steps = optimiser_steps(PAPER.learner, PAPER.workers, PAPER.budget_env_steps)
        who = "published self-play"
        return describe_optimiser_steps(config.learner, config.workers, config.budget_env_steps, steps, who)

    def search_space(self) -> SearchSpace:
        """Constants of PPO, ranked by validation reward without shaping.

        Ranges include the published constants and the laptop's. The published ones differ between kitchens by
        factors of two and more.
        """
        from tune_experiments.run.ray_cluster import import_tune

        tune = import_tune()
        domains: dict[str, Any] = {
            "learner.learning_rate": tune.loguniform(1.5e-4, 3e-3),
            "learner.entropy_coef": tune.loguniform(0.01, 0.3),
            "learner.value_coef": tune.loguniform(0.01, 0.5),
            "learner.clip_range": tune.uniform(0.05, 0.3),
        }
        return SearchSpace(domains, objective="valid/reward")


EXPERIMENT = OvercookedSelfplay()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
