"""Simplest Read to Fight Monsters: txt2pi against two baselines and its own ablations (RTFM, table 1 and figure 5).

    python tune_experiments/rtfm_txt2pi.py                      # laptop: hours on 2 cores, does not learn to read fully
    python tune_experiments/rtfm_txt2pi.py --preset smoke       # under 2 minutes, learns nothing
    python tune_experiments/rtfm_txt2pi.py --preset paper       # the paper's sizes and 100 million frames: a GPU, days
    python tune_experiments/rtfm_txt2pi.py --preset paper --learner.learning-rate 0.005    # the text's learning rate

Nothing moves, one monster is in each team and one modifier beats each element. A win takes two hops: from the goal's
team to the monster, and from that monster's element to the item. A policy that picks the right monster and any item
wins half of the episodes; the paper's baselines stay at this level. The networks are `no_task_attn` (no
goal-conditioned attention to the document), `no_vis_attn` (no attention to the document from the grid), `no_text_mod`
(FiLM instead of FiLM²).
"""

import dataclasses
import sys

from rl_models.rllib.workers import Workers
from tune_experiments.launch.experiment import main
from tune_experiments.rtfm.config import (
    PAPER_LEARNER,
    PAPER_NETWORK,
    PAPER_WORKERS,
    NetworkSettings,
    RtfmConfig,
    RtfmTask,
)
from tune_experiments.rtfm.reading_experiments import ReadingExperiment

LAPTOP = RtfmConfig(
    network=NetworkSettings(channels=(16, 16, 16)),
    test_sizes=(6, 10),
)
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("cnn", "txt2pi"),
    task=RtfmTask(max_episode_steps=10),
    network=NetworkSettings("code", 6, 4, 4, 3, (4, 4), 8),
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    budget_env_steps=512,
    validate_every_env_steps=256,
    valid_episodes=8,
    checkpoint_every_env_steps=256,
    test_sizes=(6,),
    test_episodes=16,
)
PAPER = dataclasses.replace(
    LAPTOP,
    task=RtfmTask(max_episode_steps=1000, resample_text="step"),
    network=PAPER_NETWORK,
    learner=PAPER_LEARNER,
    workers=PAPER_WORKERS,
    budget_env_steps=100_000_000,
    validate_every_env_steps=2_000_000,
    checkpoint_every_env_steps=1_000_000,
)
TABLE_1 = {
    "cnn": (0.24, 0.25, 0.13),
    "film": (0.49, 0.49, 0.32),
    "no_task_attn": (0.49, 0.49, 0.35),
    "no_vis_attn": (0.49, 0.49, 0.40),
    "no_text_mod": (0.49, 0.49, 0.35),
    "txt2pi": (0.84, 0.83, 0.66),
}
"""Win rates of the paper on training assignments, on unseen ones, and on unseen ones in a larger room."""


class RtfmTxt2Pi(ReadingExperiment[RtfmConfig]):
    """txt2pi, its ablations and two baselines."""

    name = "rtfm_txt2pi"
    caption = "Simplest RTFM: win rates of txt2pi, its ablations and two baselines"
    compared = (("txt2pi", "film"),)
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    paper = {
        method: dict(zip(("train_6x6", "eval_6x6", "eval_10x10"), rates, strict=True))
        for method, rates in TABLE_1.items()
    }


EXPERIMENT = RtfmTxt2Pi()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
