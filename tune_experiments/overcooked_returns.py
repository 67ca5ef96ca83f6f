"""Reward over env steps in Overcooked: role methods, self-play, populations and SAMA in one figure a kitchen.

    python tune_experiments/overcooked_returns.py runs/roles runs/selfplay runs/sama
    python tune_experiments/overcooked_returns.py runs/roles runs/sama --methods qmix roma sama --out runs/returns

Runs are of `overcooked_selfplay.py`, `overcooked_roles.py` and `sama_overcooked.py`; single trials, such as the best of
a search, can be named, too. The curves of self-play and of role methods are the validations of their logs. SAMA
validates by rounds, so each of its stored teams is tested here, with the run's planner, in whole episodes: all env
steps count, those of undone rounds included. It writes a figure and the points of every trial, by default in the folder
`returns` of the first run. It trains nothing and starts no Ray.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import tyro

from tune_experiments.core.drawing import Drawn, attempt, describe_drawings, with_older
from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.files import check_folder, check_for_other_files, write_atomically
from tune_experiments.core.storage_uri import check_folders
from tune_experiments.core.terminal import Terminal
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics

if TYPE_CHECKING:
    from tune_experiments.overcooked.crossplay import StoredTrial

KNOWN = ("overcooked_selfplay", "overcooked_roles", "sama_overcooked")
REWARD = "valid/reward"
POINTS, PLOTS = "points", "plots"


@dataclass(frozen=True)
class Returns:
    """Command-line arguments: runs whose curves are drawn, and folder of the figures."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders of overcooked_selfplay.py, overcooked_roles.py or sama_overcooked.py, or folders of single trials,
    such as the best of a search."""
    methods: tuple[str, ...] = ()
    """Methods to draw, without the name of their kitchen; all of them by default."""
    episodes: int = 10
    """Number of episodes in which each stored team of SAMA is tested."""
    out: Path | None = None
    """Folder of the figures; by default `returns` in the first run."""


Points: TypeAlias = list[tuple[int, float]]
"""Env steps of training, and the mean reward of an episode then, in order."""


def run_names(runs: Sequence[Path]) -> list[str]:
    """Distinct names of the runs' folders, as `distinct_names` gives them; a UserError if a run is named twice."""
    from tune_experiments.overcooked.crossplay import distinct_names

    folders = [run.resolve() for run in runs]
    twice = next((folder for folder in folders if folders.count(folder) > 1), None)
    if twice is not None:
        raise UserError(f"{twice} is named twice: name each run once")
    return distinct_names(folders)


def curve_points(trial: StoredTrial, episodes: int) -> Points:
    """The curve of a trial; without validations in its log, each stored team is tested in so many `episodes`."""
    from rl_models.training.checkpoint import numbered_checkpoints
    from tune_experiments.run.trial import CHECKPOINTS

    log = trial.folder / METRICS_FILE
    rows = read_metrics(log) if log.exists() else []
    if logged := [(int(row["env_steps"]), row[REWARD]) for row in rows if REWARD in row]:
        return logged
    checkpoints = sorted(numbered_checkpoints(trial.folder / CHECKPOINTS))
    return [_tested(path, trial.kitchen, episodes) for _, path in checkpoints]


def _tested(checkpoint: Path, kitchen: str, episodes: int) -> tuple[int, float]:
    from tune_experiments.play.loading import load_policy

    loaded = load_policy(checkpoint)
    config: Any = dataclasses.replace(loaded.config, test_episodes=episodes)
    played = loaded.experiment.evaluate_trial(config, loaded.method, loaded.policy, loaded.trial_folder)
    return loaded.env_steps, float(played[kitchen]["reward"].mean())


def write_figures(runs: Mapping[str, Sequence[StoredTrial]], episodes: int, out: Path) -> Iterator[Drawn]:
    """A figure for each kitchen, and the points of each trial of `runs` (name -> trials).

    A UserError without any, or for episodes of different lengths in a kitchen.
    """
    from tune_experiments.overcooked.crossplay import common_episode_steps

    configs: dict[str, list[Any]] = {}
    for trial in itertools.chain(*runs.values()):
        configs.setdefault(trial.kitchen, []).append(trial.config)
    episode_steps = {kitchen: common_episode_steps(found) for kitchen, found in configs.items()}
    often = Counter(row for trials in runs.values() for row in {trial.row for trial in trials})
    lines: dict[str, dict[str, list[Points]]] = {}
    for run, trials in runs.items():
        for trial in trials:
            if not (points := curve_points(trial, episodes)):
                continue
            path = out / f"{POINTS}/{run}-{trial.folder.name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, "".join(json.dumps({"env_steps": x, REWARD: y}) + "\n" for x, y in points))
            label = trial.row if often[trial.row] == 1 else f"{trial.row} ({run})"
            lines.setdefault(trial.kitchen, {}).setdefault(label, []).append(points)
            yield path
    if not lines:
        raise UserError("these runs hold no validation and no stored team of the methods: correct --methods")
    for kitchen, rows in lines.items():
        figure = functools.partial(draw, rows, kitchen, episode_steps[kitchen], out / f"{PLOTS}/returns_{kitchen}.png")
        yield from attempt(f"figure of {kitchen}", figure)


def draw(rows: Mapping[str, Sequence[Points]], kitchen: str, episode_steps: int, path: Path) -> Path:
    """One figure: a line for each seed, a colour and a marker for each method."""
    from tune_experiments.results.plots.figures import default_styles, explain_below, new_figure, save

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
    panel.set_ylabel(f"reward per episode of {episode_steps:,} env steps")
    panel.xaxis.set_major_formatter(lambda steps, _: f"{steps / 1000:,.0f} k")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title(kitchen)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    remark = "one line per seed; Q-learning takes greedy actions, others sample; SAMA's env steps count undone rounds"
    explain_below(figure, remark)
    return save(figure, path)


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None, prog: str | None = None) -> None:
    """Read the logs, test where needed, and draw."""
    command = read_command(sys.argv[1:] if arguments is None else list(arguments), prog)
    import torch

    from tune_experiments.overcooked.crossplay import find_trials, report_folder

    torch.set_num_threads(1)
    out = command.out or report_folder(command.runs[0], "returns")
    check_folder(out, "--out")
    check_for_other_files(out, (POINTS, PLOTS))
    runs = {
        name: [one for one in find_trials(run, KNOWN) if not command.methods or one.row in command.methods]
        for run, name in zip(command.runs, run_names(command.runs), strict=True)
    }
    for line in describe_drawings(with_older(write_figures(runs, command.episodes, out), out / PLOTS)):
        Terminal().print(line)


def read_command(words: Sequence[str], prog: str | None = None) -> Returns:
    """Parse the command line; tyro reports its own errors."""
    command = tyro.cli(Returns, prog=prog, args=words, description=__doc__)
    check_folders(command)
    if not command.runs or command.episodes < 1:
        raise UserError("a figure of rewards needs one run folder or more, and --episodes of at least 1")
    return command


if __name__ == "__main__":
    sys.exit(main())
