"""EnDi in MESSENGER with two agents: entities divided between agents that read (EnDi, 2023, tables 1, 3, 4, 5, fig. 8).

    python tune_experiments/endi_messenger.py                              # laptop: stage 1, minutes a row on 2 cores
    python tune_experiments/endi_messenger.py --stages 1 2 3               # then stages 2 and 3, hours
    python tune_experiments/endi_messenger.py --weights last               # without choosing weights by validation
    python tune_experiments/endi_messenger.py --preset smoke               # under 2 minutes, learns nothing
    python tune_experiments/endi_messenger.py --preset reference           # the release's constants, frozen BERT: days
    python tune_experiments/endi_messenger.py --preset paper               # the paper's network, larger batches: a GPU

Rows: `emma` and `silg` without a divider; `endi_num` and `endi_dis` with the paper's two regularisers; `endi_sup`
without agent modelling, `endi_reg` without a regulariser; `..._grounding` with a contrastive loss, not in the paper,
that ties sprites to the sentences about them. Further rows: `endi_dis_balance` (the release's form of `dis`),
`endi_kl`. Columns are training games, unseen ones in unseen sentences (zero-shot), the same with permuted roles, where
the manual tells of another game. A second table says how entities were divided: masks are drawn as in the paper, or
the likelier side is taken with `--division.masks likeliest`.
"""

from __future__ import annotations

import dataclasses
import sys

from rl_models.networks.txt2pi import SilgConfig
from tune_experiments.endi import messenger_figures
from tune_experiments.endi.messenger_config import PAPER_ROWS, EndiMessengerConfig
from tune_experiments.endi.messenger_tables import departures, tables
from tune_experiments.endi.messenger_trials import plan, test
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.messenger.config import make_world
from tune_experiments.messenger.presets import RELEASED_LEARNER, paper, reference, smoke
from tune_experiments.run.main import main

CAPTION = "Two-agent MESSENGER: win rates of EnDi and its backbone"
LAPTOP = EndiMessengerConfig()
SMOKE = dataclasses.replace(
    smoke(LAPTOP),
    methods=("emma", "endi_dis_grounding"),
    stages=(1, 3),
    goal_features=4,
    silg=SilgConfig(hidden=2, word_features=4, channels=(4, 4), features=4),
)
REFERENCE = reference(
    dataclasses.replace(LAPTOP, methods=PAPER_ROWS, silg=SilgConfig()),
    dataclasses.replace(RELEASED_LEARNER, gamma=(0.99, 0.99, 0.99)),
)
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "reference": REFERENCE, "paper": paper(REFERENCE)}
PAPER_NUMBERS = {
    1: {"emma": {"train": 0.57}, "endi_dis": {"test": 0.79}},
    2: {"emma": {"train": 0.04}, "endi_dis": {"test": 0.52}},
}
"""Stage -> row -> column -> win rate, those that the paper's text gives."""

EXPERIMENT = Experiment(
    name="endi_messenger",
    caption=CAPTION,
    presets=PRESETS,
    methods=lambda config: config.methods,
    plan=plan,
    test=lambda config, policy: test(config, config.last_stage, policy),
    departures=lambda config: departures(config, REFERENCE),
    tables=lambda results: tables(results, CAPTION, PAPER_NUMBERS),
    draw=messenger_figures.draw,
    film=messenger_figures.film,
    make_test_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="test"),
    make_valid_world=lambda config, num_worlds: make_world(config, config.last_stage, num_worlds, split="val"),
    is_greedy=True,
    draws_noise=lambda config: config.division.draws_masks,
    columns={
        "win rate": "episode/win_rate",
        "validation": "valid/win_rate",
        "overlap": "division/overlap",
    },
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
