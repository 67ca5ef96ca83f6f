"""EnDi in Read to Fight Monsters with two agents, stage by stage from S1 to S5 (EnDi, 2023, table 1 and figure 7).

    python tune_experiments/endi_rtfm.py                        # laptop: S1 in a room of 6 x 6, minutes a method
    python tune_experiments/endi_rtfm.py --stages 1 2 3 4 5     # the whole curriculum, hours
    python tune_experiments/endi_rtfm.py --preset smoke         # under 2 minutes, learns nothing
    python tune_experiments/endi_rtfm.py --preset paper         # 215 million frames a row: a GPU, weeks

Each of two agents has a target and an item that beats it; the team wins when all targets are dead. S1: nothing moves,
and there are no distractors; S2: with a distractor of each kind; S3: monsters move; S4: several names a team and
element; S5: natural language. Methods: `txt2pi` and `silg` without a divider; `endi_num` and `endi_dis` with the
paper's regularisers, `endi_sup` without agent modelling, `endi_reg` without a regulariser; `qmix` reads no text and is
meant for S1 (`--methods qmix`). A second table shows the division of entities.

`matching` is ours: the mention-matching reader with its own learner, a backbone that reads. Methods that end in
`_matching` put the paper's divider around it, to test whether dividing helps where both teams can read.

    python tune_experiments/endi_rtfm.py --methods matching endi_dis_matching

`endi_dis_weak_modelling_matching` has a tenth of agent modelling's weight. With `--task.team-loss None` a loss is paid
only by the agent that causes it, as in the paper.
"""

import dataclasses
import sys

from rl_models.rllib.workers import Workers
from tune_experiments.endi.rtfm_config import PAPER_QMIX, EndiRtfmConfig
from tune_experiments.endi.rtfm_experiments import EndiRtfmExperiment
from tune_experiments.launch.experiment import main
from tune_experiments.rtfm.config import PAPER_LEARNER, PAPER_NETWORK, NetworkSettings
from tune_experiments.rtfm.matching_config import SMOKE_MATCHING

LAPTOP = EndiRtfmConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("silg", "endi_dis"),
    stages=(1, 5),
    task=dataclasses.replace(LAPTOP.task, max_episode_steps=8),
    network=NetworkSettings("code", 6, 4, 4, 3, (4, 4), 8),
    goal_channels=(4, 3),
    divided_features=8,
    matching=dataclasses.replace(SMOKE_MATCHING, learner=LAPTOP.matching.learner),
    matching_goal_features=4,
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    budget_env_steps=128,
    first_stage_env_steps=128,
    validate_every_env_steps=128,
    valid_episodes=8,
    checkpoint_every_env_steps=128,
    test_sizes=(7,),
    test_episodes=16,
)
PAPER = dataclasses.replace(
    LAPTOP,
    stages=(1, 2, 3, 4, 5),
    task=dataclasses.replace(LAPTOP.task, size=8, max_episode_steps=1000, team_loss=None, resample_text="step"),
    network=PAPER_NETWORK,
    goal_channels=(16, 4),
    divided_features=0,
    learner=dataclasses.replace(PAPER_LEARNER, joint_ratio=False, final_learning_rate_share=1.0),
    qmix=PAPER_QMIX,
    workers=Workers(runners=10, worlds_per_runner=2, fragment_length=80, learners=1, gpus_per_learner=1.0),
    first_stage_env_steps=15_000_000,
    budget_env_steps=50_000_000,
    annealing_env_steps=100_000_000,
    validate_every_env_steps=1_000_000,
    checkpoint_every_env_steps=500_000,
)
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
PAPER_NUMBERS = {
    1: {"qmix": {"train": 0.64, "eval": 0.41}},
    5: {
        "endi_sup": {"train": 0.38, "eval": 0.39, "eval_new": 0.36, "eval_10x10": 0.44},
        "endi_reg": {"train": 0.39, "eval": 0.38, "eval_new": 0.35, "eval_10x10": 0.41},
        "endi_dis": {"train": 0.59, "eval": 0.61, "eval_new": 0.56, "eval_10x10": 0.62},
    },
}
"""Stage -> method -> column -> win rate: those of the paper's table 2, and QMIX's of its text."""


class EndiRtfm(EndiRtfmExperiment):
    """EnDi with its regularisers and ablations, its backbone, and QMIX."""

    name = "endi_rtfm"
    caption = "Multi-agent RTFM: win rates of EnDi and its backbone"
    presets = PRESETS
    paper = PAPER_NUMBERS


EXPERIMENT = EndiRtfm()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
