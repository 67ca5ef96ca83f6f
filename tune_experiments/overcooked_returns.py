"""Reward over env steps in Overcooked: role methods, self-play, populations and SAMA in one figure a kitchen.

    python tune_experiments/overcooked_returns.py runs/roles runs/selfplay runs/sama
    python tune_experiments/overcooked_returns.py runs/roles runs/sama --methods qmix roma sama --out runs/returns

Runs are of `overcooked_selfplay.py`, `overcooked_roles.py` and `sama_overcooked.py`. The curves of self-play and of
role methods are the validations of their logs. SAMA validates by rounds, so each of its stored teams is tested here,
under the run's planner, in whole episodes: all env steps count, those of undone rounds included. It leaves a figure and
the points of every trial, by default in the folder `returns` of the first run. It trains nothing and starts no Ray.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
import tyro

from rl_models.training.checkpoint import numbered_checkpoints
from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.files import refuse_other_files, write_atomically
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.command_line import one_sentence
from tune_experiments.experiment.finding import find_stored, trial_folders
from tune_experiments.play.loading import load_policy
from tune_experiments.results.plots.figures import REMARK, default_styles, new_figure, save
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.run_folder import CONFIG_FILE, read_config
from tune_experiments.run.trial import CHECKPOINTS

KNOWN = ("overcooked_selfplay", "overcooked_roles", "sama_overcooked")
REWARD = "valid/reward"
POINTS, PLOTS = "points", "plots"


@dataclass(frozen=True)
class Returns:
    """Command-line arguments: runs whose curves are drawn, and folder of the figures."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders of overcooked_selfplay.py, overcooked_roles.py or sama_overcooked.py."""
    methods: tuple[str, ...] = ()
    """Rows that are drawn, without the name of their kitchen; all of them by default."""
    episodes: int = 10
    """Number of episodes in which each stored team of SAMA is tested."""
    out: Path | None = None
    """Folder of the figures; by default `returns` in the first run."""


Points: TypeAlias = list[tuple[int, float]]
"""Env steps of training, and the mean reward of an episode at that moment, from the first to the last."""


@dataclass(frozen=True)
class Trained:
    """One trial: kitchen, name of its run, row, and its folder."""

    kitchen: str
    run: str
    row: str
    folder: Path


def names_of(runs: Sequence[Path]) -> list[str]:
    """Names of the runs' folders, with the folder around them in front if two names are equal.

    Raises:
        UserError: a run is named twice, or two are still called alike.
    """
    folders = [run.resolve() for run in runs]
    twice = next((folder for folder in folders if folders.count(folder) > 1), None)
    if twice is not None:
        raise UserError(f"{twice} is named twice, and its seeds would be drawn twice; name each run once")
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [f"{folder.parent.name}/{folder.name}" for folder in folders]
    if len(set(names)) < len(names):
        raise UserError(f"two runs called {max(names, key=names.count)} cannot be told apart: rename one")
    return names


def trials_of(run: Path, name_of_run: str) -> Iterator[Trained]:
    """All trials of a run.

    Args:
        run: its folder.
        name_of_run: which tells it apart.

    Raises:
        UserError: no run, or one of another experiment.
    """
    name, data = read_config(run)
    if name not in KNOWN:
        raise UserError(f"{run} is a run of {name}; name runs of {', '.join(KNOWN)}")
    experiment, config = find_stored(name, data, (), run / CONFIG_FILE)
    for method, seeds in trial_folders(experiment, config, run).items():
        row, _, kitchen = method.partition("-")
        for folder in seeds.values():
            yield Trained(kitchen or config.task, name_of_run, row, folder)


def points_of(trained: Trained, episodes: int) -> Points:
    """The curve of a trial.

    Args:
        trained: of which trial.
        episodes: of each test, where the log has none.
    """
    log = trained.folder / METRICS_FILE
    rows = read_metrics(log) if log.exists() else []
    if logged := [(int(row["env_steps"]), row[REWARD]) for row in rows if REWARD in row]:
        return logged
    checkpoints = sorted(numbered_checkpoints(trained.folder / CHECKPOINTS))
    return [_tested(path, trained.kitchen, episodes) for _, path in checkpoints]


def _tested(checkpoint: Path, kitchen: str, episodes: int) -> tuple[int, float]:
    loaded = load_policy(checkpoint)
    config: Any = dataclasses.replace(loaded.config, test_episodes=episodes)
    played = loaded.experiment.evaluate_trial(config, loaded.method, loaded.policy, loaded.trial_folder)
    return loaded.env_steps, float(played[kitchen]["reward"].mean())


def write_figures(trials: Sequence[Trained], episodes: int, out: Path) -> Iterator[Path]:
    """A figure for each kitchen, and the points of each trial.

    Raises:
        UserError: no trial has a point.
    """
    runs_of: dict[str, set[str]] = {
        row: {trained.run for trained in trials if trained.row == row} for row in {one.row for one in trials}
    }
    lines: dict[str, dict[str, list[Points]]] = {}
    for trained in trials:
        if not (points := points_of(trained, episodes)):
            continue
        path = out / f"{POINTS}/{trained.run}-{trained.folder.name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "".join(json.dumps({"env_steps": x, REWARD: y}) + "\n" for x, y in points))
        label = trained.row if len(runs_of[trained.row]) == 1 else f"{trained.row} ({trained.run})"
        lines.setdefault(trained.kitchen, {}).setdefault(label, []).append(points)
        yield path
    if not lines:
        raise UserError("these runs hold no validation and no stored team of the rows that were asked for")
    for kitchen, rows in lines.items():
        yield draw(rows, kitchen, out / f"{PLOTS}/returns_{kitchen}.png")


def draw(rows: Mapping[str, Sequence[Points]], kitchen: str, path: Path) -> Path:
    """One figure: a line for each seed, a colour and a marker for each row."""
    figure = new_figure(7.5, 4.0)
    panel = figure.subplots()
    styles = default_styles(list(rows))
    for row, seeds in rows.items():
        for number, points in enumerate(seeds):
            look = styles[row].line() | styles[row].points()
            panel.plot(*zip(*points, strict=True), label="_" * bool(number) + row, **look)
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("env steps of training")
    panel.set_ylabel("reward per episode of 400 env steps")
    panel.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1000:,.0f} k")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title(kitchen)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    remark = "one line a seed; Q-learning plays best actions, others sampled ones; SAMA's env steps count undone rounds"
    figure.supxlabel(remark, fontsize=8, color=REMARK)
    return save(figure, path)


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> None:
    """Read or play, and draw."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    with one_sentence(words, "write RUN [RUN ...] (--help lists the flags)"):
        command = tyro.cli(Returns, args=words, description=__doc__)
    if not command.runs or command.episodes < 1:
        raise UserError("a figure of rewards needs one run folder or more, and --episodes of at least 1")
    torch.set_num_threads(1)
    out = command.out or command.runs[0] / "returns"
    refuse_other_files(out, (POINTS, PLOTS))
    named = zip(command.runs, names_of(command.runs), strict=True)
    trials = [one for run, name in named for one in trials_of(run, name)]
    chosen = [one for one in trials if not command.methods or one.row in command.methods]
    for path in write_figures(chosen, command.episodes, out):
        Terminal().print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
