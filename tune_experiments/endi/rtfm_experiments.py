"""An experiment of EnDi in RTFM from its presets: what is trained, tested, drawn and told is the same for all."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.endi import episode_video
from tune_experiments.endi.division import division_departures
from tune_experiments.endi.division_table import division_table
from tune_experiments.endi.figures import draw_all
from tune_experiments.endi.rtfm_config import EndiRtfmConfig, make_stage
from tune_experiments.endi.rtfm_evaluation import columns
from tune_experiments.endi.rtfm_trials import plan, test
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.messenger import tables as stage_tables
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable
from tune_experiments.results.trial_figures import Trials
from tune_experiments.rtfm.reading_experiments import departures as of_rtfm

TESTED = (
    "Weights are the last ones. eval: unseen assignments; eval_new: with words that training never shows; then in a "
    "larger room; shuffled: unseen assignments with the document of another episode."
)
DIVISION_WORLDS = {f"stage_{stage}_{name}": f"S{stage}, {name}" for stage in range(1, 6) for name in ("train", "eval")}


def team_experiment(
    name: str, caption: str, presets: Mapping[str, EndiRtfmConfig], paper: Mapping[int, PaperNumbers]
) -> Experiment:
    """Make an experiment.

    Args:
        name: its file's name.
        caption: what its tables show.
        presets: configurations by name; departures are told from the one called `paper`.
        paper: stage -> row -> column of the table -> what the paper prints.
    """
    return Experiment(
        name=name,
        caption=caption,
        presets=presets,
        methods=lambda config: config.methods,
        plan=plan,
        check=check_tests,
        test=lambda config, policy: test(config, config.last_stage, policy),
        departures=lambda config: departures(config, presets["paper"]),
        tables=functools.partial(_tables, caption=caption, paper=paper),
        draw=_draw,
        film=film,
        make_test_world=lambda config, num_worlds: make_stage(config, config.last_stage, num_worlds, split="eval"),
        is_greedy=True,
        draws_noise=lambda config: config.division.draws_masks,
        columns={"win rate": "episode/win_rate", "greedy": "valid/win_rate", "overlap": "division/overlap"},
    )


def check_tests(config: EndiRtfmConfig) -> None:
    """Build the worlds of all tests, which come after days of training.

    Raises:
        ValueError: a room that is too small for what a stage has in it.
    """
    for stage in config.stages:
        for arguments in columns(config).values():
            make_stage(config, stage, **arguments).reset(0)


def departures(config: EndiRtfmConfig, paper: EndiRtfmConfig) -> list[str]:
    """What a configuration changes, and what all of them do otherwise."""
    ours, theirs = (dataclasses.replace(one, learner=one.learner_for(one.budget_env_steps)) for one in (config, paper))
    notes = of_rtfm(ours, theirs)
    for path, what in (("stages", "stages"), ("goal_channels", "channels of the goal's layers")):
        if (one := getattr(config, path)) != (other := getattr(paper, path)):
            notes.append(f"{what}: {' '.join(map(str, one))}, the paper has {' '.join(map(str, other))}")
    if config.divided_features:
        notes.append(f"rows that divide have an output layer of {config.divided_features}; the paper's have none")
    if (shared := config.task.team_loss) is not None:
        notes.append(f"when one agent causes a loss the others get {shared:g}; the paper's reward is not shared")
    return [*notes, *division_departures(config.division)]


def film(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """Frames of one episode with everybody's entities."""
    return episode_video.film(policy, episode_video.RTFM, seed)


def _draw(out: Path, trials: Trials) -> Sequence[Path]:
    return draw_all(out, trials, film, {"valid/unseen_win_rate": "win rate, unseen assignments (validation)"})


def _tables(results: Sequence[Result], caption: str, paper: Mapping[int, PaperNumbers]) -> list[PaperTable]:
    """Win rates, a table a stage; then how entities were divided."""
    won = stage_tables.tables(results, caption, paper, TESTED)
    return [*won, *division_table(results, caption, DIVISION_WORLDS)]
