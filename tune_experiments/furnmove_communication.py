"""Analyse the meaning of talk and reply weights (A Cordial Sync, appendix A.5, equations 8 to 10, figure 5d).

    python tune_experiments/furnmove_communication.py                             # trains a small team first
    python tune_experiments/furnmove_communication.py --team runs/furnmove_sync_laptop   # analyses a trained team
    python tune_experiments/furnmove_communication.py --team pretrained/furnmove_sync    # a team of the package
    python tune_experiments/furnmove_communication.py --preset smoke              # under 2 minutes, learns nothing

In every env step agents exchange two messages, each a mixture of two symbols. This script plays the test episodes and
uses logistic regression to find what the weights of these mixtures say about the first agent: whether it sees the
television (equation 8), whether it will pass (9), and whether it will move with the television (10). Intervals come
from a bootstrap over episodes. The untrained network is shown for comparison: its messages carry no learned meaning,
but as functions of observations they may still predict whether an agent sees the television.

`--team` takes a run, a trial or a checkpoint of any FurnMove experiment whose agents exchange messages, with maps or
frames. The sign of a weight is arbitrary: if the two symbols of a round are swapped, the slopes of its weights and of
the product change their signs. A model without finite slopes (a constant message, separable outcomes) has no numbers in
the tables.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from pydantic import PositiveInt

from rl_envs import World
from rl_envs.core.metrics import COUNT
from rl_envs.furnmove.world import FurnMove
from rl_models.configuration import MAY_GAIN, Unread
from rl_models.schedule import Schedule
from tune_experiments.cordial_sync.communication import (
    DEVIATIONS,
    MODELS,
    MOVES,
    ODDS,
    PASSES,
    SEES,
    TALK_TURNS,
    deviations,
    slopes,
)
from tune_experiments.cordial_sync.config import METRICS, Config, parse_method
from tune_experiments.cordial_sync.messages import talks
from tune_experiments.core.checks import check_distinct, check_ranges
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_arrays
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Episodes, TrialPlan
from tune_experiments.furnmove_visual import EXPERIMENT as VISUAL
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.play.recording import SEED
from tune_experiments.play.team_paths import stored_path
from tune_experiments.results.intervals import BOOTSTRAP, Interval
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.cordial_sync import camera_video, evaluation, trials
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials
else:
    camera_video = LazyModule("tune_experiments.cordial_sync.camera_video")
    evaluation = LazyModule("tune_experiments.cordial_sync.evaluation")
    trials = LazyModule("tune_experiments.cordial_sync.trials")

Row: TypeAlias = Literal["trained", "untrained"]
TRAINED: Row = "trained"
UNTRAINED: Row = "untrained"
_ESTIMATES, _NAMES = "_estimates", "_estimate_names"
NOT_IDENTIFIED = "no finite slope"
_CAPTION = (
    "Slopes are for a weight that rises by one standard deviation. Odds are the factor of the odds if it rises by 0.1; "
    "they are given if a weight has at least this range. Intervals of 95 %: percentiles of a bootstrap "
    "over episodes; over several seeds Student's t. McFadden's R2 has none. The order of the two symbols of a round "
    "is arbitrary: if they are swapped, the slopes of that round and of the product change their signs."
)
_CAPTIONS = {
    SEES: "The slope of talk holds where the reply weight has its mean, and that of reply where talk has. "
    "talk_1_turns_at_reply_1: the reply weight at which the slope of talk changes its sign, without an interval; given "
    "where replies range over 0.1, the interval of the product excludes 0, and it is a weight from 0 to 1. ",
    MOVES: "In the paper both replies' slopes are negative and about ten times those of talk. ",
}
_PAPER: PaperNumbers = {TRAINED: {TALK_TURNS: 0.821, f"{PASSES.name}_reply_2{ODDS}": 2.7}}
"""All numbers of table 9 that the paper's text prints (appendix A.5)."""

_PLAYED = (*METRICS, *DEVIATIONS)


@dataclass(frozen=True)
class CommunicationConfig:
    """One run of this experiment."""

    team: str = ""
    """Folder of a trained FurnMove team: a run, a trial or a checkpoint; empty: a team is trained first."""
    methods: tuple[Row, ...] = dataclasses.field(default=(TRAINED, UNTRAINED), metadata=MAY_GAIN)
    """Methods to compare: trained, the team; untrained, the same network with its initial weights."""
    training: Config = dataclasses.field(
        default_factory=lambda: dataclasses.replace(VISUAL.presets["laptop"], methods=("sync_13_cordial",))
    )
    """Settings of the team's training and test; a team of `--team` keeps its own settings."""
    bootstrap_draws: PositiveInt = 1_000
    """Number of bootstrap draws of whole episodes, at least 1."""

    def __post_init__(self) -> None:
        """Check values, and that the method's agents exchange messages."""
        check_ranges(self)
        check_distinct(self, "methods")
        if len(self.training.methods) != 1 or parse_method(self.training.methods[0]).family not in ("marginal", "sync"):
            raise UserError("--training.methods must be one method with messages, such as marginal or sync_13_cordial")
        object.__setattr__(self, "team", stored_path(self.team))

    def unread_by(self, method: str) -> Unread:
        """Settings of a training that there is not: a given team has its own."""
        return {"training": "leave out --team, or the flag"} if self.team else {}

    @property
    def budget_env_steps(self) -> int:
        """Smallest budget of a method in env steps: 0 for a given team and an untrained one."""
        return 1


LAPTOP = CommunicationConfig()
SMOKE = CommunicationConfig(
    training=dataclasses.replace(VISUAL.presets["smoke"], methods=("sync_13_cordial",)), bootstrap_draws=100
)
PAPER = CommunicationConfig(training=dataclasses.replace(VISUAL.presets["paper"], methods=("sync_13_cordial",)))


class FurnmoveCommunication(Experiment[CommunicationConfig]):
    """A trained team and an untrained one."""

    metric_ranges = dict.fromkeys(("*_odds", "*_mcfadden", *DEVIATIONS), COUNT) | FurnMove.metric_ranges
    name = "furnmove_communication"
    caption = "What talk and reply weights mean"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    columns = {"return": "episode/return", "success": "episode/success", "invalid": "policy/invalid_probability"}

    def check(self, config: CommunicationConfig) -> None:
        """Check that the team is FurnMove's and exchanges messages."""
        if config.team:
            _given(config.team)

    def plan(self, config: CommunicationConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """The team's training; none for a given or an untrained team."""
        from rl_models.algorithms.optimiser import OptimiserSettings

        settings, name = _settings(config)
        if method == TRAINED and not config.team:
            return trials.plan(settings, name, seed)
        fixed = trials.plan(dataclasses.replace(settings, budget_env_steps=1), name, seed)
        unchanged = OptimiserSettings(learning_rate=Schedule.constant(0.0))
        fixed = dataclasses.replace(fixed, optimiser=unchanged, learns=False)
        if method == UNTRAINED:
            return fixed
        build = functools.partial(_given_policy, config.team)
        return dataclasses.replace(fixed, build_policy=build, given_env_steps=_given(config.team).env_steps)

    def evaluate(self, config: CommunicationConfig, method: str, policy: TeamPolicy) -> dict[str, Episodes]:
        """The paper's metrics, the data, and the fitted models."""
        settings, _ = _settings(config)
        played = evaluation.play_and_listen(settings, policy)
        found = [*deviations(played), *slopes(played, config.bootstrap_draws)]
        numbers = np.array([row[1:] for row in found], float).reshape(-1, 3)
        models: Episodes = {_ESTIMATES: numbers, _NAMES: np.array([row[0] for row in found], "U64")}
        return {evaluation.world_name(settings): played | models}

    def estimates(self, episodes: Episodes) -> Mapping[str, Interval]:
        """Slopes, odds and fits of the three models."""
        rows = zip(episodes[_NAMES].tolist(), episodes[_ESTIMATES].tolist(), strict=True)
        return {
            name: Interval(value) if low == value == high else Interval(value, low, high, BOOTSTRAP)
            for name, (value, low, high) in rows
        }

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """Metrics of the teams, then a table for each model."""
        played = [result for result in results if result.metric in _PLAYED]
        table = make_table(played, self.caption, _PLAYED, names_world=True)
        return [table, *_model_tables(results, self.caption)]

    def deviation_notes(self, config: CommunicationConfig) -> list[str]:
        """Deviations of the team from the paper, and the definition of seeing."""
        sees = "an agent sees the television if it is within 1.25 m and in the camera's view; furniture hides nothing"
        if config.team:
            given = _given(config.team)
            return [
                sees,
                f"the team is {given.method} of {config.team}, trained for {given.env_steps:,} env steps there",
            ]
        return [sees, *VISUAL.deviation_notes(config.training)]

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """The figures of the base class, and weights over an episode of each method's first seed."""
        from tune_experiments.cordial_sync.figures import draw_messages
        from tune_experiments.run.final_evaluation import figure_data_files

        def messages(method: str) -> Iterator[Path]:
            for data in list(figure_data_files(next(iter(trials[method].values()))).values())[:1]:
                yield draw_messages(read_arrays(data), run_folder / f"plots/messages_{method}.png", method)

        weights = (attempt(f"messages of {method}", functools.partial(messages, method)) for method in trials)
        return [*super().figures(run_folder, trials), *itertools.chain(*weights)]

    def draw_video(self, folder: Path, method: str, team: LoadedPolicy) -> Iterable[Drawn]:
        """An episode with its agents' frames and messages."""
        return camera_video.write_camera_videos(_camera_episode(team), folder, method)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """The map, and each agent's frame and messages, [H, W, 3] uint8 a step."""
        return _camera_episode(loaded, seed).frames

    def valid_world(self, config: CommunicationConfig, num_worlds: int) -> World:
        """Worlds at the validation starts, in held-out rooms."""
        return VISUAL.valid_world(_settings(config)[0], num_worlds)

    def test_world(self, config: CommunicationConfig, num_worlds: int, method: str = "") -> World:
        """Worlds that draw a start in the test's rooms."""
        return evaluation.shown_world(_settings(config)[0], num_worlds)


def _camera_episode(policy: LoadedPolicy, seed: int = SEED) -> camera_video.CameraEpisode:
    """A team that observes the map is shown with the paper's frames, which it does not observe."""
    settings, _ = _settings(policy.config)
    return camera_video.record_cameras(policy, seed, settings.frame_pixels if settings.observation == "frame" else 84)


def _settings(config: CommunicationConfig) -> tuple[Config, str]:
    """Settings of the team, and name of its method."""
    if not config.team:
        return config.training, config.training.methods[0]
    given = _given(config.team)
    return given.config, given.method


@functools.lru_cache(maxsize=2)
def _given(path: str) -> LoadedPolicy:
    """The team in a folder, whose agents must exchange messages in FurnMove."""
    from tune_experiments.play.loading import load_policy

    team = load_policy(path)
    if not isinstance(team.config, Config):
        raise UserError(f"--team {path} was trained by {team.experiment.name}: name a run of a FurnMove experiment")
    if not talks(team.policy):
        raise UserError(f"--team {path} is {team.method}, whose agents send no messages: name a team with messages")
    return team


def _given_policy(path: str) -> TeamPolicy:
    return copy.deepcopy(_given(path).policy)


def _model_tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """A table for each model: slopes, odds and fit."""
    known = list(dict.fromkeys(result.metric for result in results))
    tables = []
    for model in MODELS:
        prefix, last = f"{model.name}_", f"{model.name}_mcfadden"
        own = [metric for metric in known if metric.startswith(prefix) and metric != last]
        metrics = (*sorted(own, key=lambda metric: metric.endswith(ODDS)), last)
        names = tuple(metric.removeprefix(prefix).replace(ODDS, " odds") for metric in metrics)
        table = make_table(results, caption, metrics, _PAPER)
        title = f"Equation {model.equation}: whether {model.explained}"
        missing = {name: NOT_IDENTIFIED for name in names if not name.endswith(("odds", "turns_at_reply_1"))}
        tables.append(
            dataclasses.replace(
                table, title=title, metrics=names, caption=_CAPTIONS.get(model, "") + _CAPTION, missing=missing
            )
        )
    return tables


EXPERIMENT = FurnmoveCommunication()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
