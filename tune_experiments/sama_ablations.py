"""SAMA's ablations in Overcooked: planners, reflections, random commands, sources of rewards (figures 13 to 16).

    python tune_experiments/sama_ablations.py                                # laptop: cramped_room
    python tune_experiments/sama_ablations.py --preset kitchens --seeds 0 1 2    # all five kitchens
    python tune_experiments/sama_retest.py RUN --ablations --methods sama    # the same with trained teams
    python tune_experiments/sama_ablations.py --methods sama blind code
    python tune_experiments/sama_ablations.py --preset smoke                 # under 2 minutes, learns nothing

A trained team is tested in every condition: the planner with and without reflection; noisy planners (`weak`, `weaker`)
with 0 to 3 reflections, and with as many retries, the control of reflection: another seed of that planner and an empty
memory; a share of the commands replaced by random ones; DEPS and Plan4MC. `rules_scripted` has the rules and scripted
chefs. A language model is also tested without extracted objects and with three worked examples. Further methods are
trained separately: `blind` gets no command, `code` learns from rewards that the planner's model wrote in Python.
Built-in rewards are by rule, so with the offline planner this method repeats `sama`, and costs the time of the sandbox.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.meter import Budget
from tune_experiments.experiment.plan import Tested, Tests
from tune_experiments.launch.experiment import main
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.sama.overcooked.base_experiment import SamaExperiment
from tune_experiments.sama.overcooked.config import SamaConfig
from tune_experiments.sama.overcooked.tables import ERRING
from tune_experiments.sama.planner_config import (
    MAX_REFLECTIONS,
    ModelSettings,
    erring_tests,
    goal_tests,
    prompt_tests,
    random_tests,
)
from tune_experiments.sama_overcooked import PRESETS as PLAIN

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy

PRESETS: dict[str, SamaConfig] = {
    "smoke": dataclasses.replace(PLAIN["smoke"], methods=("sama", "code"), test_episodes=1),
    "laptop": dataclasses.replace(PLAIN["laptop"], methods=("sama",)),
    "kitchens": dataclasses.replace(PLAIN["kitchens"], methods=("sama",), reflections=MAX_REFLECTIONS),
    "paper": dataclasses.replace(
        PLAIN["paper"],
        methods=("sama", "code"),
        model=ModelSettings(chat=ChatSettings(budget=Budget(max_calls=300_000, max_tokens=300_000_000))),
    ),
}
"""A seed of the preset `paper` needs about 180,000 queries of a language model; the budget is for one seed."""


def conditions(config: SamaConfig) -> dict[str, SamaConfig]:
    """Name of a condition -> its settings."""
    reflecting = dataclasses.replace(config, after_failure="reflect")
    found = {
        f"{config.planner} planner, {n} reflections": dataclasses.replace(reflecting, reflections=n)
        for n in (0, MAX_REFLECTIONS)
    }
    weak, weaker = ERRING
    found |= erring_tests(config, "weak", weak) | erring_tests(config, "weaker", weaker)
    return found | random_tests(config) | goal_tests(config) | prompt_tests(config)


class SamaAblations(SamaExperiment):
    """Trained teams in every condition of the planner, and methods with other rewards."""

    name = "sama_ablations"
    caption = "SAMA in Overcooked, ablations"
    presets = PRESETS
    columns = {"completed": "valid/completed", "reached": "episode/reached"}

    def main_comparisons(self, config: SamaConfig) -> Sequence[MainComparison]:
        """Reflection against as many retries without a memory, in every kitchen, with a noisy planner."""
        reflections, retries = (f"{ERRING[0]}, {MAX_REFLECTIONS} {tries}" for tries in ("reflections", "retries"))
        return [
            MainComparison(
                method=f"sama-{task}",
                against=f"sama-{task}",
                metric="soups",
                world=task,
                condition=reflections,
                against_condition=retries,
                table=f"{self.caption}: {task}",
            )
            for task in config.tasks
        ]

    def evaluate_trial(self, config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole episodes in a kitchen in each condition.

        Methods other than `sama` are tested in the first two conditions only, and those without a planner in none.
        """
        from tune_experiments.sama.overcooked import evaluation
        from tune_experiments.sama.overcooked.config import SAMA, split_method
        from tune_experiments.sama.overcooked.trials import UNPLANNED

        row, kitchen = split_method(method)
        if row in UNPLANNED:
            return evaluation.evaluate(config, method, policy)
        tested = conditions(config)
        names = list(tested) if row == SAMA else list(tested)[:2]
        scripted = evaluation.scripted_episodes(config, kitchen) if row == SAMA else {}
        return scripted | {
            Tested(kitchen, name): evaluation.planned_episodes(
                tested[name], method, policy, config.test_episodes, trial_folder
            )
            for name in names
        }


EXPERIMENT = SamaAblations()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
