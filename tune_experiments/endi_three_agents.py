"""Three agents in the first stage of RTFM: EnDi(dis) and its backbone (EnDi, 2023, section 5.3 and figure 4).

    python tune_experiments/endi_three_agents.py                      # laptop: a room of 6 x 6, minutes a method
    python tune_experiments/endi_three_agents.py --preset smoke       # under 2 minutes, learns nothing
    python tune_experiments/endi_three_agents.py --preset paper       # 15 million frames a row: a GPU, days

Three targets and three items. The others' side of the divider takes the nearest other agent of every cell, and each
agent predicts the actions of two. The paper has only a curve: EnDi(dis) above txt2pi.
"""

import dataclasses
import sys

from tune_experiments.endi.rtfm_config import EndiRtfmConfig, MethodName
from tune_experiments.endi.rtfm_experiments import EndiRtfmExperiment
from tune_experiments.endi_rtfm import PRESETS as OF_TWO_AGENTS
from tune_experiments.launch.experiment import main


def with_three_agents(config: EndiRtfmConfig, *methods: MethodName) -> EndiRtfmConfig:
    """The same for three agents, only in the first stage."""
    task = dataclasses.replace(config.task, num_agents=3)
    return dataclasses.replace(config, methods=methods, stages=(1,), task=task)


PRESETS = {"smoke": with_three_agents(OF_TWO_AGENTS["smoke"], "endi_dis")} | {
    name: with_three_agents(OF_TWO_AGENTS[name], "txt2pi", "endi_dis") for name in ("laptop", "paper")
}


class EndiThreeAgents(EndiRtfmExperiment):
    """EnDi(dis) and its backbone, each of three agents."""

    name = "endi_three_agents"
    caption = "Three agents in the first stage of RTFM"
    presets = PRESETS


EXPERIMENT = EndiThreeAgents()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
