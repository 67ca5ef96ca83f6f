"""An experiment on RTFM or rock-paper-scissors from its presets: what is tested, drawn and told is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.differences import differences
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable
from tune_experiments.rtfm import figures
from tune_experiments.rtfm.config import RunConfig, make_world
from tune_experiments.rtfm.evaluation import test
from tune_experiments.rtfm.tables import of_last_games, win_rate_table
from tune_experiments.rtfm.trials import plan

COLUMNS = {"return": "episode/return", "win rate": "episode/win_rate", "greedy": "valid/win_rate"}
RATE_OF_TEXT = 0.005
_COMPARED = {
    "task.size": "training room",
    "task.max_episode_steps": "horizon",
    "task.setting": "letters",
    "task.resample_text": "texts written anew every",
    "network.form": "networks as in the",
    "network.channels": "channels",
    "network.document_hidden": "document states",
    "network.goal_hidden": "goal states",
    "network.inventory_hidden": "inventory states",
    "network.word_features": "word features",
    "network.features": "features before the heads",
    "learner.algorithm": "algorithm",
    "learner.optimiser": "optimiser",
    "learner.final_learning_rate_share": "share of the learning rate at the end",
    "learner.entropy_weight": "entropy weight",
    "workers.fragment_length": "unroll",
    "first_stage_env_steps": "env steps of the first stage",
    "budget_env_steps": "env steps",
    "transfer_env_steps": "env steps of a transfer",
}


def reading_experiment(
    name: str,
    caption: str,
    presets: Mapping[str, RunConfig],
    paper: PaperNumbers | None = None,
    plan: Callable[[Any, Any, int], TrialPlan | Curriculum] = plan,
    more_tables: Callable[[Sequence[Result]], Sequence[PaperTable]] = lambda results: (),
) -> Experiment:
    """Make an experiment.

    Args:
        name: its file's name.
        caption: what its table shows.
        presets: configurations by name; departures are told from the one called `paper`.
        paper: method -> column of the table -> what the paper prints.
        plan: how a row is trained; each row is a network by default.
        more_tables: what else is made of a run's results.
    """

    def tables(results: Sequence[Result]) -> Sequence[PaperTable]:
        ends = of_last_games(results)
        is_of_a_simpler_game = bool(results) and not ends
        first = [] if is_of_a_simpler_game else [win_rate_table(ends, caption, paper)]
        return [*first, *more_tables(results)]

    return Experiment(
        name=name,
        caption=caption,
        presets=presets,
        methods=lambda config: config.methods,
        plan=plan,
        test=test,
        departures=lambda config: departures(config, presets["paper"]),
        tables=tables,
        draw=figures.draw,
        film=figures.film,
        make_test_world=lambda config, num_worlds: make_world(config.task, num_worlds, split="eval"),
        is_greedy=True,
        columns=COLUMNS,
    )


def departures(config: RunConfig, paper: RunConfig) -> list[str]:
    """What a configuration changes, and what all of them do otherwise."""
    notes = ["training and unseen assignments are split by our own key: the released split changes with every start"]
    if (rate := config.learner.learning_rate) != RATE_OF_TEXT:
        released = paper.learner.learning_rate
        notes.append(f"learning rate: {rate}, the paper's text has {RATE_OF_TEXT}, the released commands {released}")
    return [*notes, *differences(config, paper, _COMPARED).values()]
