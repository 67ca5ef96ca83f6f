"""Settings of the planner under which the ablations of all games test a team (SAMA, figures 13, 15 and 16)."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeVar

from tune_experiments.sama.planner_config import MAX_REFLECTIONS, RULES, PlannerConfig

Settings = TypeVar("Settings", bound=PlannerConfig)
_SHARES = (0.25, 0.5, 0.75, 1.0)
_MANY_SHOTS = 3


def erring_tests(config: Settings, noise: Literal["weak", "weaker"], name: str) -> dict[str, Settings]:
    """Noisy rules with 0 to 3 reflections, and with as many retries without a memory, by condition.

    A language model's record does not hold their answers, so it is not replayed.
    """
    replay = config.replay if config.planner in RULES else ""
    noisy = dataclasses.replace(config, planner="noisy", noise=noise, replay=replay, after_failure="reflect")
    again = dataclasses.replace(noisy, after_failure="retry")
    counts = range(MAX_REFLECTIONS + 1)
    found = {f"{name}, {n} reflections": dataclasses.replace(noisy, reflections=n) for n in counts}
    return found | {f"{name}, {n} retries": dataclasses.replace(again, reflections=n) for n in counts[1:]}


def random_tests(config: Settings) -> dict[str, Settings]:
    """Shares of random commands, without reflection, which would judge them and have them replaced."""
    return {f"random commands {n}": dataclasses.replace(config, random_share=n, reflections=0) for n in _SHARES}


def goal_tests(config: Settings) -> dict[str, Settings]:
    """The other methods that name goals."""
    return {"DEPS": dataclasses.replace(config, goals="deps"), "Plan4MC": dataclasses.replace(config, goals="plan4mc")}


def prompt_tests(config: Settings) -> dict[str, Settings]:
    """Other prompts, for language models only: rules read none."""
    if config.planner in RULES:
        return {}
    found = {f"{_MANY_SHOTS} shots": dataclasses.replace(config, shots=_MANY_SHOTS)}
    if config.planner == "scored":  # its prompts name no objects
        return found
    return {"no objects extracted": dataclasses.replace(config, extracts_objects=False)} | found
