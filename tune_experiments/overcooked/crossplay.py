"""Cross-play: every trained team's chef 0 with every team's chef 1, beside the teams as they were trained.

Teams that were trained separately may have different conventions: rewards of mixed pairs show how much of a team's
reward depends on its own conventions. A pair is a `MixedTeam`: agent i takes the actions of team i. Teams must be
without memory and have independent agents. The report has tables in Markdown, and a heat map for each metric.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from rl_envs.core.spec import Array
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.policy import State, TeamOutput, TeamPolicy
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, check_for_other_files, write_atomically
from tune_experiments.experiment.plan import Episodes
from tune_experiments.overcooked.config import OvercookedConfig, make_world
from tune_experiments.overcooked.evaluation import EVALUATION_SEED, play_team
from tune_experiments.play.loading import LoadedPolicy, chosen_checkpoint, load_policy
from tune_experiments.play.team_paths import in_package
from tune_experiments.results import rows as result_file
from tune_experiments.results.intervals import interval_over_episodes
from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, explain_below, new_figure, save
from tune_experiments.results.rows import Result
from tune_experiments.run.run_folder import read_config
from tune_experiments.run.stored_run import StoredRun
from tune_experiments.run.trial import CHECKPOINTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


NAME, CAPTION = "overcooked_crossplay", "Overcooked, cross-play"
SELF_PLAY_OF = "overcooked_selfplay"
"""The experiment of self-play and of populations."""
METRICS = ("reward", "soups")
Kitchens = Mapping[str, Callable[[LoadedPolicy], str]]
"""Experiments whose teams can be paired -> kitchen of a team."""
Meet = Callable[[LoadedPolicy, LoadedPolicy, int], Episodes]
"""(first team, second team, episodes) -> episodes of the first one's chef 0 with the second one's chef 1."""


@dataclass(frozen=True)
class Matrix:
    """Results of all pairs of the K teams `names` in a kitchen `layout`.

    `values` are means over episodes, metric -> [K, K] float64; rows are chef 0's teams, columns chef 1's. `results` are
    the same as rows with intervals.
    """

    layout: str
    names: tuple[str, ...]
    values: Mapping[str, Array]
    results: tuple[Result, ...]

    def own(self, metric: str) -> Array:
        """[K] float64, each team with itself: the diagonal."""
        return np.diagonal(self.values[metric]).copy()

    def with_others(self, metric: str) -> Array:
        """[K] float64, mean of each team with all others, in both roles."""
        values, others = self.values[metric], 2 * (len(self.names) - 1)
        return np.asarray((values.sum(0) + values.sum(1) - 2 * self.own(metric)) / others)


def load_teams(
    runs: Sequence[Path], kitchens: Kitchens, methods: Sequence[str] = (), kitchen: str = ""
) -> dict[str, LoadedPolicy]:
    """All trained teams of some runs or single trials, by unique names.

    `kitchens` are the experiments whose teams can be paired. Without `methods` all are loaded; `kitchen` is that of the
    pairs, by default that of all teams.

    Raises:
        UserError: another experiment, several kitchens, or fewer than two teams.
    """
    trials = [trial for run in runs for trial in find_trials(run, kitchens)]
    chosen = [trial.folder for trial in trials if not methods or {trial.method, trial.row} & {*methods}]
    folders = [folder for folder in chosen if chosen_checkpoint(folder) is not None]
    names = distinct_names(folders)
    found = {name: load_policy(folder) for name, folder in zip(names, folders, strict=True)}
    where = {name: kitchens[team.experiment.name](team) for name, team in found.items()}
    found = {name: team for name, team in found.items() if kitchen in ("", where[name])}
    common_episode_steps([team.config for team in found.values()])
    if len(several := {where[name] for name in found}) > 1:
        raise UserError(
            f"teams of different kitchens cannot be paired, and these are of {', '.join(sorted(several))}; "
            "choose one with --kitchen"
        )
    if len(found) < 2:
        raise UserError(
            f"cross-play needs two trained teams or more, and {', '.join(map(str, runs))} has {len(found)}"
            f"{f' in {kitchen}' * bool(kitchen)}: train further --seeds, or name further runs"
        )
    return found


def common_episode_steps(configs: Sequence[Any]) -> int:
    """Number of env steps of an episode in all these configurations, 0 without any; a UserError if they differ."""
    limits = {config.max_episode_steps for config in configs}
    if len(limits) > 1:
        raise UserError(
            f"teams must have episodes of one length, and these have {', '.join(map(str, sorted(limits)))} env steps: "
            "name runs with the same --max-episode-steps"
        )
    return max(limits, default=0)


def distinct_names(folders: Sequence[Path]) -> list[str]:
    """Names of runs and trials; if two are equal, with the folder around a run, or the run of a trial, in front.

    A UserError if two names are still equal.
    """
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [f"{_around(folder.resolve()).name}/{folder.name}" for folder in folders]
    if len(set(names)) < len(names):
        raise UserError(f"two runs called {max(names, key=names.count)} cannot be told apart: rename one")
    return names


def _around(folder: Path) -> Path:
    return folder.parents[1] if (folder / CHECKPOINTS).is_dir() else folder.parent


def report_folder(run: Path, name: str) -> Path:
    """Default folder of a report: in the first run, or for a team of the package in the current folder."""
    return run / name if run.exists() else Path(name)


@dataclass(frozen=True)
class StoredTrial:
    """A trial in a run folder, with the configuration of its run.

    SAMA's and MAPPO's methods are named with a kitchen, `sama-cramped_room`.
    """

    method: str
    folder: Path
    config: Any

    @property
    def row(self) -> str:
        """The method without its kitchen."""
        return self.method.partition("-")[0]

    @property
    def kitchen(self) -> str:
        """Name of the layout."""
        return self.method.partition("-")[2] or str(self.config.task)


def find_trials(run: Path, experiments: Collection[str]) -> list[StoredTrial]:
    """All trials of a run, or a trial's own folder; a UserError if it is no run, or one of another experiment."""
    run = in_package(run)
    if (run / CHECKPOINTS).is_dir():
        loaded = load_policy(run)
        _check_experiment(run, loaded.experiment.name, experiments)
        return [StoredTrial(loaded.method, run, loaded.config)]
    _check_experiment(run, read_config(run)[0], experiments)
    stored = StoredRun.open(run)
    folders = [(method, folder) for method, seeds in stored.trials.items() for folder in seeds.values()]
    return [StoredTrial(method, folder, stored.config) for method, folder in folders]


def _check_experiment(run: Path, name: str, experiments: Collection[str]) -> None:
    if name not in experiments:
        known = " and ".join(experiments)
        raise UserError(f"{run} is of {name}, and cross-play needs teams of {known}: name a run of those")


def play_all(teams: Mapping[str, LoadedPolicy], layout: str, episodes: int, meet: Meet) -> Matrix:
    """The matrix of all pairs of teams of one kitchen in both orders; `meet` plays a pair."""
    names = tuple(teams)
    values = {metric: np.zeros((len(names), len(names))) for metric in METRICS}
    results: list[Result] = []
    for row, first in enumerate(names):
        for column, second in enumerate(names):
            played = meet(teams[first], teams[second], episodes)
            for metric in METRICS:
                values[metric][row, column] = played[metric].mean()
                results.append(_result(f"{first} with {second}", layout, metric, played[metric]))
    return Matrix(layout, names, values, tuple(results))


def play_pair(
    config: OvercookedConfig, first: TeamPolicy, second: TeamPolicy, episodes: int, seed: int = EVALUATION_SEED
) -> Episodes:
    """Episodes of one team's chef 0 with another's chef 1, with the game's own actions, as for `play_team`."""
    return play_team(make_world(config, episodes), MixedTeam([first, second]), seed=seed)


def _result(pair: str, layout: str, metric: str, episodes: Array) -> Result:
    found = interval_over_episodes(episodes)
    return Result(
        experiment=NAME,
        table=CAPTION,
        method=pair,
        world=layout,
        split="test",
        seed=None,
        metric=metric,
        value=found.value,
        ci_low=found.low,
        ci_high=found.high,
        n_episodes=len(episodes),
        interval=found.kind,
    )


class MixedTeam(TeamPolicy):
    """N agents, each from a different team."""

    def __init__(self, teams: Sequence[TeamPolicy], unknown: Sequence[Collection[str]] | None = None) -> None:
        """Take one team for each agent, in the order of the agents.

        `unknown` are, for each team, observation keys that it was not trained with. A ValueError for another number of
        teams than agents, or a team with memory.
        """
        first = teams[0]
        super().__init__(first.network, first.policy_head, first.value_head)
        if {team.num_agents for team in teams} != {len(teams)}:
            raise ValueError(f"{len(teams)} agents need {len(teams)} teams of {len(teams)} agents")
        if any(team.initial_state(1) for team in teams):
            raise ValueError("only teams without a memory can be mixed")
        self.teams = nn.ModuleList(teams)
        self._unknown = unknown or [()] * len(teams)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> TeamOutput:
        """Row i of team i's policy and values [B, T, N], from observations [B, T, N, ...] and `is_first` [B, T] bool.

        Raises ValueError for a team whose agents are not independent.
        """
        outputs = [
            team({key: value for key, value in obs.items() if key not in unknown}, state, is_first)
            for team, unknown in zip(self.teams, self._unknown, strict=True)
        ]
        own = [_marginals(output)[..., agent, :, :] for agent, output in enumerate(outputs)]
        # A chef with fewer actions never draws those at the end of the wider list.
        widest = max(each.shape[-1] for each in own)
        padded = [nn.functional.pad(each, (0, widest - each.shape[-1]), value=-torch.inf) for each in own]
        weights = own[0].new_zeros(*own[0].shape[:2], 1)
        values = torch.stack([output.values[..., agent] for agent, output in enumerate(outputs)], -1)
        return TeamOutput(MixtureOfMarginals(weights, torch.stack(padded, -3)), values, {}, {})


def _marginals(output: TeamOutput) -> Tensor:
    """Log-probabilities of each agent's own actions, [B, T, N, 1, A] float32."""
    policy = output.policy
    if not isinstance(policy, MixtureOfMarginals) or policy.log_weights.shape[-1] > 1:
        raise ValueError("only teams of independent agents can be mixed")
    return policy.log_marginals


REPORT = "crossplay.md"
_CELL = 0.6  # inches


def check_out(out: Path) -> None:
    """Check that a folder can be written and holds nothing but a report, else raise UserError."""
    check_folder(out, "--out")
    if not (out / REPORT).exists():
        check_for_other_files(out)


def write_report(matrix: Matrix, out: Path) -> Iterator[Drawn]:
    """Write results, tables and figures into a folder, replacing those of an earlier report."""
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / REPORT, in_markdown(matrix))
    result_file.write(out / result_file.RESULTS_FILE, matrix.results)
    yield from (out / result_file.RESULTS_FILE, out / REPORT)
    for metric in METRICS:
        heat_map = functools.partial(draw, matrix, metric, out / f"plots/crossplay_{metric}.png")
        yield from attempt(f"heat map of {metric}", heat_map)


def in_markdown(matrix: Matrix) -> str:
    """Report in Markdown: each team by itself and with the others, then every pair."""
    lines = [f"### {CAPTION}: {matrix.layout}", "", *_summary(matrix)]
    for metric in METRICS:
        lines += ["", f"{metric} of each pair, rows are chef 0's teams, columns chef 1's", ""]
        lines += [f"| | {' | '.join(matrix.names)} |", f"|---|{'---:|' * len(matrix.names)}"]
        for name, values in zip(matrix.names, matrix.values[metric], strict=True):
            lines.append(f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |")
    episodes = matrix.results[0].n_episodes
    return "\n".join([*lines, "", f"Means over {episodes:,} episodes a pair; results.jsonl has their intervals.", ""])


def _summary(matrix: Matrix) -> Iterator[str]:
    yield f"| team | {' | '.join(f'{metric}, own pair | {metric}, with the others' for metric in METRICS)} |"
    yield f"|---|{'---:|' * (2 * len(METRICS))}"
    columns = [values for metric in METRICS for values in (matrix.own(metric), matrix.with_others(metric))]
    for name, *cells in zip(matrix.names, *columns, strict=True):
        yield f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"
    yield f"| mean | {' | '.join(f'{column.mean():.1f}' for column in columns)} |"


def draw(matrix: Matrix, metric: str, path: Path) -> Path:
    """A heat map with the numbers in its cells; own pairs are framed."""
    from matplotlib.patches import Rectangle

    values, count = matrix.values[metric], len(matrix.names)
    names = 0.085 * max(map(len, matrix.names))
    side = max(count * _CELL, 2.4)
    figure = new_figure(side + names + 1.3, side + names + 1.2)
    panel = figure.subplots()
    image = _draw_pairs(panel, values, matrix.names)
    panel.set_xlabel("chef 1 from", fontsize=9)
    panel.set_ylabel("chef 0 from", fontsize=9)
    panel.spines[:].set_color(FAINT)
    frame: dict[str, Any] = {"fill": False, "edgecolor": COLOURS[1], "linewidth": 1.6}
    for place in range(count):
        panel.add_patch(Rectangle((place - 0.46, place - 0.46), 0.92, 0.92, **frame))
    own, others = matrix.own(metric).mean(), matrix.with_others(metric).mean()
    panel.set_title(f"{matrix.layout}: {metric} per episode", fontsize=10, color=INK)
    explain_below(figure, f"own pairs (framed) {own:.1f}, mixed pairs {others:.1f}")
    bar = figure.colorbar(image, ax=panel, shrink=0.8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)  # type: ignore[operator]
    return save(figure, path)


def _draw_pairs(panel: Axes, values: Array, names: Sequence[str]) -> AxesImage:
    """A heat map of values [K, K] of pairs, written into its cells."""
    dark = 0.6 * float(values.max())
    image = panel.imshow(values, cmap="Blues", vmin=0, vmax=float(values.max()) or 1.0)
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    panel.set_yticks(range(len(names)), names, fontsize=8)
    panel.tick_params(length=0)
    for (row, column), value in np.ndenumerate(values):
        text, colour = f"{value:.{1 if value < 100 else 0}f}", "white" if value > dark else INK
        panel.text(column, row, text, color=colour, fontsize=8, ha="center", va="center")
    return image
