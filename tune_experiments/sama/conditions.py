"""Under which conditions a trained team is tested in the ablations (SAMA, figures 13, 15 and 16, appendix H).

All conditions share one training, so a difference is the planner's. Planners that err do so by chance, so a new try
helps whatever precedes it: `retries` are the control of `reflections`, as many tries with another seed and an empty
memory. Rules read no prompt: conditions that change prompts alone are tested with language models only.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rl_models.policy import TeamPolicy
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama import evaluation
from tune_experiments.sama.config import MOST_REFLECTIONS, SamaConfig
from tune_experiments.sama.evaluation import CONDITION
from tune_experiments.sama.planner_tests import erring_tests, goal_tests, prompt_tests, random_tests
from tune_experiments.sama.trials import SAMA, UNPLANNED, parts_of


def conditions(config: SamaConfig) -> dict[str, SamaConfig]:
    """Condition in words -> the settings it is tested with."""
    reflecting = dataclasses.replace(config, after_failure="reflect")
    found = {
        f"{config.planner} planner, {n} reflections": dataclasses.replace(reflecting, reflections=n)
        for n in (0, MOST_REFLECTIONS)
    }
    found |= erring_tests(config, "weak", "weak planner") | erring_tests(config, "weaker", "weaker planner")
    return found | random_tests(config) | goal_tests(config) | prompt_tests(config)


def evaluate(
    config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None = None
) -> dict[str, Episodes]:
    """The numbers of the table, by kitchen and condition.

    Rows beside `sama` are tested under the first two conditions alone, and those without a planner under none.
    """
    row, layout = parts_of(method)
    if row in UNPLANNED:
        return evaluation.evaluate(config, method, policy)
    tested = conditions(config)
    names = list(tested) if row == SAMA else list(tested)[:2]
    scripted = evaluation.scripted_episodes(config, layout) if row == SAMA else {}
    return scripted | {
        f"{layout}{CONDITION}{name}": evaluation.planned_episodes(
            tested[name], method, policy, config.test_episodes, trial_folder
        )
        for name in names
    }
