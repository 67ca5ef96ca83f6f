"""Under which conditions a trained team is tested in the ablations (SAMA, figures 13, 15 and 16, appendix H).

All conditions share one training, so a difference is the planner's. Planners that err do so by chance, so a new try
helps whatever precedes it: `retries` are the control of `reflections`, as many tries with another seed and an empty
memory. Rules read no prompt: conditions that change prompts alone are tested with language models only.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rl_models.policy import TeamPolicy
from tune_experiments.experiment.plan import Episodes
from tune_experiments.sama import evaluation
from tune_experiments.sama.config import MOST_REFLECTIONS, RULES, SamaConfig
from tune_experiments.sama.evaluation import CONDITION
from tune_experiments.sama.trials import SAMA, UNPLANNED, parts_of

_SHARES = (0.25, 0.5, 0.75, 1.0)
_MANY_SHOTS = 3


def conditions(config: SamaConfig) -> dict[str, SamaConfig]:
    """Condition in words -> the settings it is tested with."""
    most, name = MOST_REFLECTIONS, config.planner
    reflecting = _changed(config, after_failure="reflect")
    found = {f"{name} planner, {n} reflections": _changed(reflecting, reflections=n) for n in (0, most)}
    # A model's record holds no answers of rules that err, and others would stand in for them.
    replay = config.replay if config.planner in RULES else ""
    for noise in ("weak", "weaker"):
        noisy = _changed(reflecting, planner="noisy", noise=noise, replay=replay)
        found |= {f"{noise} planner, {n} reflections": _changed(noisy, reflections=n) for n in range(most + 1)}
        again = _changed(noisy, after_failure="retry")
        found |= {f"{noise} planner, {n} retries": _changed(again, reflections=n) for n in range(1, most + 1)}
    # Without reflection, which would judge random commands and have them replaced.
    found |= {f"random commands {share}": _changed(config, random_share=share, reflections=0) for share in _SHARES}
    found |= {"DEPS": _changed(config, goals="deps"), "Plan4MC": _changed(config, goals="plan4mc")}
    if config.planner in ("openai", "replay"):
        found["no objects extracted"] = _changed(config, extracts_objects=False)
        found[f"{_MANY_SHOTS} shots"] = _changed(config, shots=_MANY_SHOTS)
    return found


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


def _changed(config: SamaConfig, **changes: Any) -> SamaConfig:
    return dataclasses.replace(config, **changes)
