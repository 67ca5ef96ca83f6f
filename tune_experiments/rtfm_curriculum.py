"""The full Read to Fight Monsters by a curriculum of simpler games (RTFM, table 2 and figure 13).

    python tune_experiments/rtfm_curriculum.py                       # laptop: hours on 2 cores
    python tune_experiments/rtfm_curriculum.py --preset smoke        # under 2 minutes, learns nothing
    python tune_experiments/rtfm_curriculum.py --preset paper        # 100 million frames, then 50 a stage: a GPU, weeks
    python tune_experiments/rtfm_curriculum.py --promote-at 0.8      # a stage ends at this win rate

In the full game monsters move (`dyna`), three monsters are in a team and two modifiers beat an element (`group`), and
documents are written in many words (`nl`). A method is a curriculum towards that game: from `random` weights, from the
simplest game, from it through `dyna`, or from it through `dyna` and `group`. A second table has the win rates at the
end of all stages, as the paper's table 2: by previous stages and next game. The other cells of that table are methods,
too, all of them in the preset `paper`:

    python tune_experiments/rtfm_curriculum.py --methods random_to_nl from_6x6_to_nl from_dyna_to_dyna_nl
"""

import dataclasses
import sys

from rl_models.rllib.workers import Workers
from tune_experiments.launch.experiment import main
from tune_experiments.rtfm import stages
from tune_experiments.rtfm.config import PAPER_LEARNER, PAPER_NETWORK, PAPER_WORKERS, CurriculumConfig, NetworkSettings
from tune_experiments.rtfm.reading_experiments import ReadingInStages

LAPTOP = CurriculumConfig(network=NetworkSettings(channels=(16, 16, 16)), test_sizes=(6, 10))
SMOKE = dataclasses.replace(
    LAPTOP,
    task=dataclasses.replace(LAPTOP.task, max_episode_steps=8),
    network=NetworkSettings("code", 6, 4, 4, 3, (4, 4), 8),
    workers=Workers(worlds_per_runner=16, fragment_length=8),
    methods=("from_6x6",),
    budget_env_steps=256,
    first_stage_env_steps=256,
    validate_every_env_steps=128,
    valid_episodes=8,
    checkpoint_every_env_steps=128,
    test_sizes=(6,),
    test_episodes=16,
)
PAPER = dataclasses.replace(
    LAPTOP,
    methods=stages.TABLE_2_METHODS,
    task=dataclasses.replace(LAPTOP.task, max_episode_steps=1000, resample_text="step"),
    network=PAPER_NETWORK,
    learner=PAPER_LEARNER,
    last_learning_rate=1e-4,
    workers=PAPER_WORKERS,
    first_stage_env_steps=100_000_000,
    budget_env_steps=50_000_000,
    validate_every_env_steps=2_000_000,
    checkpoint_every_env_steps=1_000_000,
)
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
TABLE_2 = {
    "from_scratch": {
        "simplest": 0.84,
        "dyna": 0.26,
        "group": 0.25,
        "nl": 0.45,
        "dyna_group": 0.23,
        "group_nl": 0.25,
        "dyna_nl": 0.23,
        "full": 0.23,
    },
    "from_6x6": {
        "dyna": 0.85,
        "group": 0.82,
        "nl": 0.78,
        "dyna_group": 0.64,
        "group_nl": 0.52,
        "dyna_nl": 0.53,
        "full": 0.40,
    },
    "from_dyna": {"dyna_group": 0.77, "dyna_nl": 0.65, "full": 0.43},
    "from_dyna_group": {"full": 0.65, "full_10x10": 0.61},
}
"""Win rates of the paper on training assignments, by previous stages and next game."""


class RtfmCurriculum(ReadingInStages):
    """Curricula towards the full game."""

    name = "rtfm_curriculum"
    caption = "RTFM: win rates in the full game by where a team comes from"
    compared = (("from_dyna_group", "from_scratch"),)
    presets = PRESETS
    paper = {row: {"train_6x6": rates["full"]} for row, rates in TABLE_2.items()}
    transfers = TABLE_2


EXPERIMENT = RtfmCurriculum()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
