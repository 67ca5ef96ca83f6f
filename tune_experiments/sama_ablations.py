"""SAMA's ablations in Overcooked: planners, reflections, random commands, who writes rewards (figures 13 to 16).

    python tune_experiments/sama_ablations.py                                # laptop: cramped_room
    python tune_experiments/sama_ablations.py --layouts forced_coordination
    python tune_experiments/sama_ablations.py --methods sama blind predicate code
    python tune_experiments/sama_ablations.py --preset smoke                 # under 2 minutes, learns nothing

A trained team is tested under every condition: the planner with and without reflection; planners that err (`weak`,
`weaker`) with 0 to 3 reflections; a share of the commands replaced by random ones; DEPS and Plan4MC. With a language
model also without extracted objects and with three worked examples. Further rows train anew: `blind` is told nothing,
`predicate` and `code` learn from rewards that the planner's model wrote. Rules write them as we would, so that with the
offline planner these two rows repeat `sama`, `code` at the price of the sandbox.
"""

from __future__ import annotations

import dataclasses
import sys

from tune_experiments.experiment.experiment import Experiment
from tune_experiments.run.main import main
from tune_experiments.sama import figures
from tune_experiments.sama.conditions import test
from tune_experiments.sama.config import SamaConfig
from tune_experiments.sama.deviations import departures
from tune_experiments.sama.endpoint import shared_endpoint
from tune_experiments.sama.fine_tuning import plan
from tune_experiments.sama.manuals import placed
from tune_experiments.sama.tables import of_training, tables
from tune_experiments.sama.trials import check, make_test_rounds, methods_of
from tune_experiments.sama_overcooked import PRESETS as PLAIN

CAPTION = "SAMA in Overcooked, ablations"
PRESETS: dict[str, SamaConfig] = {
    "smoke": dataclasses.replace(PLAIN["smoke"], methods=("sama", "code"), test_episodes=1),
    "laptop": dataclasses.replace(PLAIN["laptop"], methods=("sama",)),
    "paper": dataclasses.replace(PLAIN["paper"], methods=("sama", "predicate")),
}

EXPERIMENT = Experiment(
    name="sama_ablations",
    caption=CAPTION,
    presets=PRESETS,
    methods=methods_of,
    check=check,
    placed=placed,
    shared=shared_endpoint,
    plan=plan,
    test=test,
    departures=lambda config: departures(config, PRESETS["paper"]),
    tables=lambda results: tables(results, CAPTION),
    of_training=of_training,
    draw=figures.draw,
    film=figures.film,
    make_test_world=make_test_rounds,
    columns={"completed": "valid/completed", "reached": "episode/reached"},
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
