"""Overcooked by self-play: two chefs with one network learn to serve onion soup by PPO, the baseline of SAMA's figures.

    python tune_experiments/overcooked_selfplay.py                           # laptop: minutes on 2 cores
    python tune_experiments/overcooked_selfplay.py --layout coordination_ring --out runs/ring
    python tune_experiments/overcooked_selfplay.py --methods selfplay --seeds 0 1 2 3 --out runs/population
    python tune_experiments/overcooked_selfplay.py --methods fcp --population runs/population --out runs/fcp
    python tune_experiments/overcooked_selfplay.py --methods selfplay --search 4 --search-by pbt   # PBT
    python tune_experiments/overcooked_selfplay.py --preset smoke            # under 2 minutes, learns nothing
    python tune_experiments/overcooked_selfplay.py --preset paper            # the published sizes: hours

Rows: `selfplay` is also paid, at first, for onions in pots, useful dishes and soups taken; what this is worth falls to
nothing. `selfplay_sparse` is paid for served soups alone. `fcp`, fictitious co-play, is paid as `selfplay` and learns
one chef beside partners that learn no more: teams of self-play of another run, each untrained, half-way and trained.
All see the whole kitchen (`lossless`). Numbers are of whole episodes of 400 env steps with sampled actions, without
shaping, beside random play; a soup is 20. A team of `fcp` is tested with itself, as the others are; how it cooks with
strangers is shown by `overcooked_crossplay.py`. Population based training is a search: members train side by side, and
those that serve least go on from the weights of those that serve most, with constants changed a little.
"""

from __future__ import annotations

import dataclasses
import sys

from rl_models.networks.grid_cnn import GridCnnConfig
from rl_models.rllib.workers import Workers
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.overcooked import figures
from tune_experiments.overcooked.config import LearnerSettings, OvercookedConfig, ShapingSettings, make_world
from tune_experiments.overcooked.deviations import departures
from tune_experiments.overcooked.evaluation import test
from tune_experiments.overcooked.search_space import search_space
from tune_experiments.overcooked.tables import tables
from tune_experiments.overcooked.trials import plan
from tune_experiments.run.main import main

CAPTION = "Overcooked, self-play"
LAPTOP = OvercookedConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    network=GridCnnConfig(convolutions=(4, 4), first_kernel=3, dense=(16,)),
    workers=Workers(worlds_per_runner=8, fragment_length=20),
    max_episode_steps=60,
    budget_env_steps=1_600,
    validations=2,
    valid_episodes=4,
    checkpoints=2,
    test_episodes=8,
)
PAPER = dataclasses.replace(
    LAPTOP,
    network=GridCnnConfig(),
    shaping=ShapingSettings(env_steps=2_500_000),
    learner=LearnerSettings(
        learning_rate=2.2e-4,
        final_learning_rate_share=1.0,
        gamma=0.97,
        lambda_=0.55,
        clip=0.15,
        epochs=8,
        minibatches=6,
        value_weight=0.015,
        entropy_weight=0.2,
        final_entropy_weight=0.1,
        entropy_env_steps=300_000,
    ),
    workers=Workers(worlds_per_runner=30, fragment_length=400),
    budget_env_steps=7_200_000,
    validations=60,
    checkpoints=60,
)
"""600 updates of 12,000 env steps, in minibatches of 2,000; the middle of the published ranges."""
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}

EXPERIMENT = Experiment(
    name="overcooked_selfplay",
    caption=CAPTION,
    presets=PRESETS,
    methods=lambda config: config.methods,
    plan=plan,
    test=test,
    departures=lambda config: departures(config, PAPER),
    tables=lambda results: tables(results, CAPTION),
    draw=figures.draw,
    film=figures.film,
    make_test_world=make_world,
    make_valid_world=make_world,
    search_space=search_space,
    columns={"soups": "episode/soups", "shaped": "episode/shaped_return", "reward": "valid/reward"},
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
