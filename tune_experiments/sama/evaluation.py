"""What is tested: whole episodes under a planner, soups counted as everybody counts them.

`reward` is what papers report: 20 a soup, in an episode of 400 env steps. Rows that learn the game itself have no
planner.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np

from rl_models.planners.rounds import PlanningLoop
from rl_models.policy import TeamPolicy
from tune_experiments.experiment.plan import Episodes
from tune_experiments.overcooked.config import OvercookedConfig
from tune_experiments.sama.config import SamaConfig
from tune_experiments.sama.kitchens import CommandedKitchen
from tune_experiments.sama.planning import loop_of
from tune_experiments.sama.play import PlannedPlay, Watch
from tune_experiments.sama.teams import KitchenTeam
from tune_experiments.sama.trials import BLIND, UNPLANNED, play_unplanned

EVALUATION_SEED = 400
"""Of every test: it fixes the chance that cells are drawn with, and what a noisy planner gets wrong."""
TRANSCRIPT = "_transcript"
"""Of a test, one text; it is written beside the numbers."""


def test(config: SamaConfig, policy: TeamPolicy) -> dict[str, Episodes]:
    """The numbers of the table, by kitchen."""
    assert isinstance(policy, KitchenTeam)
    if policy.row in UNPLANNED:
        settings = OvercookedConfig(layout=policy.layout, max_episode_steps=config.max_episode_steps)
        played = play_unplanned(policy.row, settings, config.test_episodes, config.is_greedy, policy)
        return {policy.layout: played}
    return {policy.layout: planned_episodes(config, policy, config.test_episodes)}


def planned_episodes(config: SamaConfig, team: KitchenTeam, episodes: int, watch: Watch | None = None) -> Episodes:
    """Episodes under the planner that the settings name.

    Args:
        config: planner, reflections and limits.
        team: who cooks.
        episodes: B, played side by side.
        watch: looks on.

    Returns:
        as `PlannedPlay.run`, with the transcript.
    """
    loop = loop_of(config, team.layout, EVALUATION_SEED)
    found = play_under(loop, config, team, episodes, watch)
    return found | {TRANSCRIPT: np.array(transcript_of(loop))}


def play_under(
    loop: PlanningLoop,
    config: SamaConfig,
    team: KitchenTeam,
    episodes: int,
    watch: Watch | None = None,
    seed: int = EVALUATION_SEED,
) -> Episodes:
    """Episodes under a loop of one's own, with a seed of one's own; other arguments as for `planned_episodes`."""
    world = CommandedKitchen(
        episodes, layout=team.layout, is_told=team.row != BLIND, max_episode_steps=config.max_episode_steps
    )
    with closing(world):
        return PlannedPlay(world, team, loop, config.round_steps, config.is_greedy).run(seed, watch)


def transcript_of(loop: PlanningLoop) -> str:
    """Every call, goal and reflection in Markdown, with the sums in front."""
    sums = ", ".join(f"{name} {number}" for name, number in vars(loop.counts).items())
    calls = ", ".join(f"{how} {number}" for how, number in loop.planner.caller.counts.items())
    title, _, rest = loop.planner.caller.transcript.text.partition("\n")
    return f"{title}\n\nRounds: {sums}.\n\nQuestions: {calls}.\n{rest}"
