"""What is tested: whole episodes under a planner, soups counted as everybody counts them.

`reward` is what papers report: 20 a soup, in an episode of 400 env steps. Rows that learn the game itself have no
planner.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np

from rl_models.planners.rounds import PlanningLoop
from rl_models.policy import TeamPolicy
from tune_experiments.experiment.plan import Episodes
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.sama.config import SamaConfig
from tune_experiments.sama.kitchens import CommandedKitchen
from tune_experiments.sama.planning import loop_of
from tune_experiments.sama.play import PlannedPlay, Watch
from tune_experiments.sama.trials import BLIND, UNPLANNED, parts_of, play_unplanned

EVALUATION_SEED = 400
"""Of every evaluation: it fixes the chance that cells are drawn with, and what a noisy planner gets wrong."""
TRANSCRIPT = "_transcript"
"""Of a test, one text; it is written beside the numbers."""


def evaluate(
    config: SamaConfig, method: str, policy: TeamPolicy, trial_folder: Path | None = None
) -> dict[str, Episodes]:
    """The numbers of the table, by kitchen; `trial_folder` keeps the manual that was written for the trial."""
    row, layout = parts_of(method)
    if row in UNPLANNED:
        settings = OvercookedConfig(task=layout, max_episode_steps=config.max_episode_steps)
        return {layout: play_unplanned(row, settings, config.test_episodes, config.is_greedy, policy)}
    return {layout: planned_episodes(config, method, policy, config.test_episodes, trial_folder)}


def planned_episodes(
    config: SamaConfig,
    method: str,
    team: TeamPolicy,
    episodes: int,
    trial_folder: Path | None = None,
    watch: Watch | None = None,
) -> Episodes:
    """Episodes under the planner that the settings name.

    Args:
        config: planner, reflections and limits.
        method: row and kitchen.
        team: who cooks.
        episodes: B, played side by side.
        trial_folder: which keeps the manual that was written for the trial.
        watch: looks on.

    Returns:
        as `PlannedPlay.run`, with the transcript.
    """
    loop = loop_of(config, parts_of(method)[1], EVALUATION_SEED, trial_folder)
    found = play_under(loop, config, method, team, episodes, watch)
    return found | {TRANSCRIPT: np.array(transcript_of(loop))}


def play_under(
    loop: PlanningLoop,
    config: SamaConfig,
    method: str,
    team: TeamPolicy,
    episodes: int,
    watch: Watch | None = None,
    seed: int = EVALUATION_SEED,
) -> Episodes:
    """Episodes under a loop of one's own, with a seed of one's own; other arguments as for `planned_episodes`."""
    row, layout = parts_of(method)
    world = CommandedKitchen(episodes, layout=layout, is_told=row != BLIND, max_episode_steps=config.max_episode_steps)
    with closing(world):
        return PlannedPlay(world, team, loop, config.round_steps, config.is_greedy).run(seed, watch)


def transcript_of(loop: PlanningLoop) -> str:
    """Every call, goal and reflection in Markdown, with the sums in front."""
    sums = ", ".join(f"{name} {number}" for name, number in vars(loop.counts).items())
    calls = ", ".join(f"{how} {number}" for how, number in loop.planner.caller.counts.items())
    title, _, rest = loop.planner.caller.transcript.text.partition("\n")
    return f"{title}\n\nRounds: {sums}.\n\nQuestions: {calls}.\n{rest}"
