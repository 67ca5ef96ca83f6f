"""Tests of SAMA in Overcooked: whole episodes with a planner, soups counted within the env steps of an episode.

`reward` is 20 a soup, in 400 env steps. Undone rounds count in these (`PlannedPlay`); the paper's count, without them,
is `standing_soups`. Methods that learn the game itself have no planner. `RULES_SCRIPTED` has no policy: the offline
planner with scripted chefs shows the number of soups without learning.
"""

import dataclasses
from pathlib import Path
from typing import Any

from rl_models.policy import TeamPolicy
from tune_experiments.experiment.plan import Episodes, Tested, Tests
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.sama.overcooked.config import SAMA, SCRIPTED, Condition, SamaConfig, split_method
from tune_experiments.sama.overcooked.play import EVALUATION_SEED, ScriptedExecutor, play_under
from tune_experiments.sama.overcooked.tables import RULES_SCRIPTED, SAMPLED_SOUPS
from tune_experiments.sama.overcooked.trials import UNPLANNED, play_unplanned
from tune_experiments.sama.planned_experiment import planning_metrics
from tune_experiments.sama.planner_config import MAX_REFLECTIONS
from tune_experiments.sama.planning import make_planning_loop
from tune_experiments.sama.play import Executor, Watch, learned_executor, planner_seed

_RANDOM = {"random_share": 1.0, "reflections": 0, "planner": "offline", "manual": "", "record": "", "replay": ""}
_CHANGES: dict[Condition, dict[str, Any]] = {
    "random_commands": _RANDOM,
    "random_possible_commands": _RANDOM | {"random_from": "possible"},
    "reflections": {"reflections": MAX_REFLECTIONS, "after_failure": "reflect"},
    "retries": {"reflections": MAX_REFLECTIONS, "after_failure": "retry"},
}
"""Changed settings of additional tests."""


def evaluate(config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None = None) -> Tests:
    """Test results of a method, by kitchen and condition."""
    row, layout = split_method(method)
    if row in UNPLANNED:
        settings = OvercookedConfig(task=layout, max_episode_steps=config.max_episode_steps)
        found = play_unplanned(row, settings, config.test_episodes, config.is_greedy, policy)
        sampled = play_unplanned(row, settings, config.test_episodes, False, policy) if config.is_greedy else found
        return {layout: found | {SAMPLED_SOUPS: sampled["soups"]}}
    tests: Tests = {layout: _planned(config, method, policy, trial_folder)}
    if row not in (SAMA, SCRIPTED):
        return tests
    for name in config.also_tests:
        changed = dataclasses.replace(config, **_CHANGES[name])
        tests[Tested(layout, name.replace("_", " "))] = _planned(changed, method, policy, trial_folder)
    if row == SCRIPTED and config.planner == "offline":  # the same chefs with the same rules
        return tests
    return tests | scripted_episodes(config, layout)


def _planned(config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Episodes:
    """Episodes with the planner, and the soups of as many with sampled actions."""
    found = planned_episodes(config, method, policy, config.test_episodes, trial_folder)
    if split_method(method)[0] == SCRIPTED:
        return found
    sampled = found
    if config.is_greedy:
        sampling = dataclasses.replace(config, is_greedy=False)
        sampled = planned_episodes(sampling, method, policy, config.test_episodes, trial_folder)
    return found | {SAMPLED_SOUPS: sampled["soups"]}


def scripted_episodes(config: SamaConfig, layout: str) -> dict[Tested, Episodes]:
    """Episodes of the offline planner with scripted chefs."""
    ruled = dataclasses.replace(config, planner="offline", manual="")
    found = planned_episodes(ruled, f"{SCRIPTED}-{layout}", None, config.test_episodes)
    return {Tested(layout, method=RULES_SCRIPTED): found}


def planned_episodes(
    config: SamaConfig,
    method: str,
    team: TeamPolicy | None,
    episodes: int,
    trial_folder: Path | None = None,
    watch: Watch | None = None,
) -> Episodes:
    """Episodes with the configured planner: metrics of `KitchenPlay` and `planning_metrics`, [episodes] each.

    `method` is a method and its kitchen; without a `team` chefs are scripted.
    """
    row, layout = split_method(method)
    loop = make_planning_loop(config, layout, planner_seed(team, EVALUATION_SEED), trial_folder)
    if row == SCRIPTED or team is None:
        executor: Executor = ScriptedExecutor(layout)
    else:
        executor = learned_executor(team, config.is_greedy)
    found = play_under(loop, config, method, executor, episodes, watch)
    return found | planning_metrics(loop, config, episodes)
