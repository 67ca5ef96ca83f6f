"""Interface of an experiment for runs, searches, tables and players: `plan`, and hooks with defaults.

Only names and JSON cross process boundaries: a worker imports the experiment's module and builds its own objects.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from rl_envs import World
from rl_envs.core.metrics import ANY, COUNT, PROPORTION, MetricRange
from tune_experiments.core.config_json import DataclassInstance
from tune_experiments.core.config_path import changed_flags
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.curriculum import Plan
from tune_experiments.experiment.plan import TEST_SEED, Episodes, Tests, play_episodes
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results.intervals import Interval
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy

PACKAGE = "tune_experiments"
TEST_EPISODES = 100
_COMMON_RANGES = {
    "episode_length": COUNT,
    "tvd": PROPORTION,
    "tvd_estimate": PROPORTION,
    "invalid_probability": PROPORTION,
}
"""Ranges of metrics that every evaluation has."""


class HasMethods(DataclassInstance, Protocol):
    """A configuration, a frozen dataclass."""

    @property
    def methods(self) -> Sequence[str]:
        """Methods of the table, in order."""


Config = TypeVar("Config", bound=HasMethods)


class BaseExperiment(ABC, Generic[Config]):
    """One table of a paper, with configurations of one type.

    `plan` is abstract; all other methods have defaults.

    Attributes:
        name: Short name in snake case, for folders and results; in this package the file's name.
        caption: Title of the table.
        presets: Name -> configuration; `laptop` is the default, else the first.
        seeds: Default seeds.
        split: Split of the test results; "exact" if `evaluate` computes values without episodes.
        metric_ranges: Metric, or a pattern such as `success_of_*`, -> its range; other metrics can have any value.
        is_greedy: Whether tests take the most likely actions or sample; None: sample, unless the policy explores.
        columns: Heading -> key of the log, of the live line of a trial.
        curves: Key of the log -> label in the figure of learning curves; by default those of `columns`.
        frame_seconds: Time of a frame in videos of `figures`.
        reference_preset: Preset with the paper's numbers, that `deviations` compares a run with.
        main: Main comparison of the table, declared before the run; None with one method.
    """

    name: str
    caption: str
    presets: Mapping[str, Config]
    seeds: tuple[int, ...] = (0,)
    split: str = "test"
    metric_ranges: Mapping[str, MetricRange] = MappingProxyType({})
    is_greedy: bool | None = None
    columns: Mapping[str, str] = {"return": "episode/return", "success": "episode/success"}
    curves: Mapping[str, str] = MappingProxyType({})
    frame_seconds: float = 0.15
    reference_preset: str = "paper"
    main: MainComparison | None = None

    # ------------------------------------------------------------------------------------------- abstract

    @abstractmethod
    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> Plan:
        """Plan of one trial: one method trained with one seed, in one stage or in a curriculum of several.

        Args:
            config: Configuration of the run.
            method: Method of the table.
            seed: Seed of weights, environments and action sampling.
            trial_folder: Folder of the trial, with checkpoints and the files of `prepare`; None without training.
        """

    # --------------------------------------------------------------------------------------------------- hooks

    def evaluate(self, config: Config, method: str, policy: TeamPolicy) -> Tests:
        """Test a trained policy; by default in `--test-episodes` episodes of `test_world`.

        The result is name of an environment -> metric -> one value per episode, [K] float64. A `Tested` instead of the
        name adds a condition of the test, or another player.
        """
        world = self.test_world(config, getattr(config, "test_episodes", TEST_EPISODES), method)
        name = type(world).__name__.lower()
        return {name: play_episodes(world, TEST_SEED, policy, self.is_greedy, self.draws_noise(config))}

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """The tables, from the rows of results.jsonl alone; by default one of all methods and metrics."""
        return [make_table(results, self.caption)]

    @abstractmethod
    def figures(self, run_folder: Path, trials: Mapping[str, Mapping[int, Path]]) -> Sequence[Any]:
        """Draw figures and videos into the run folder: files (`Drawn`), and what failed (`Missing`)."""

    @abstractmethod
    def video(self, loaded: Any, seed: int) -> Sequence[Any]:
        """Frames of an episode of a `LoadedPolicy`, [H, W, 3] uint8 each."""

    @abstractmethod
    def episodes(self, loaded: Any, seed: int, episodes: int, max_steps: int) -> Sequence[Any]:
        """Records (`play.episode.Episode`) of first episodes of a `LoadedPolicy`, cut after `max_steps` env steps."""

    @abstractmethod
    def spectator(self, loaded: Any) -> Any:
        """Spectator of recorded episodes (`play.spectator.Spectator`): images and notes."""

    @abstractmethod
    def page(self, run_folder: Path, trials: Mapping[str, Mapping[int, Path]]) -> Sequence[Any]:
        """Write the page that shows an episode of each method."""

    def methods(self, config: Config) -> Sequence[str]:
        """Methods of the table, in order; by default those of the configuration."""
        return config.methods

    def depends_on_seed(self, method: str) -> bool:
        """Whether results depend on the seed; a method without this is run once."""
        return True

    def evaluate_trial(self, config: Config, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """`evaluate` with the trial's folder, for an evaluation that needs files of the trial."""
        return self.evaluate(config, method, policy)

    def estimates(self, episodes: Episodes) -> Mapping[str, Interval]:
        """Test results that are not means over episodes, with their own intervals: metric -> interval."""
        return {}

    def metric_range(self, metric: str) -> MetricRange:
        """Range of a metric, as declared under its name or the first pattern that matches."""
        declared = {**self.metric_ranges, **_COMMON_RANGES}
        fitting = (one for name, one in declared.items() if fnmatch.fnmatchcase(metric, name))
        return declared.get(metric) or next(fitting, ANY)

    def get_split(self, world: str) -> str:
        """Split of the test results of an environment; by default the experiment's."""
        return self.split

    def training_results(self, method: str, rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Results of training itself, for split "train": environment -> metric -> value, from the rows of a log."""
        return {}

    def main_comparisons(self, config: Config) -> Sequence[MainComparison]:
        """The main comparison of each table; by default `main`. All other orderings are exploratory."""
        return () if self.main is None else (self.main,)

    def is_other_task(self, config: Config) -> bool:
        """Whether a field of `config.task` has a value of no preset: then the paper's numbers are of another task."""
        own: Any = getattr(config, "task", None)
        if not dataclasses.is_dataclass(own):
            return False
        known = [vars(getattr(preset, "task", own)) for preset in self.presets.values()]
        return any(all(one[name] != value for one in known) for name, value in vars(own).items())

    def deviations(self, config: Config) -> list[str]:
        """Deviations from the paper: `deviation_notes`, and flags that differ from the preset `reference_preset`."""
        reference = self.presets.get(self.reference_preset)
        changed = [] if reference is None else changed_flags(reference, config)
        flags = ", ".join(f"{ours} ({theirs})" for ours, theirs in changed)
        notes = [f"flags, with the values of the preset {self.reference_preset} in brackets: {flags}"] if flags else []
        return [*self.deviation_notes(config), *notes]

    def deviation_notes(self, config: Config) -> Sequence[str]:
        """Deviations from the paper that flags do not show, one sentence each."""
        return ()

    def optimiser_steps(self, config: Config) -> str:
        """Sentence that compares the optimiser steps of a run with the paper's; empty by default."""
        return ""

    def test_world(self, config: Config, num_worlds: int, method: str = "") -> World:
        """Environments in which a policy of a method is shown and by default tested; by default those of training."""
        plan = self.plan(config, method or self.methods(config)[0], 0, None).stages[-1].plan
        return cast(World, plan.make_world(num_worlds=num_worlds, first_world=0))  # of rl_envs, as all that plans build

    def valid_world(self, config: Config, num_worlds: int) -> World | None:
        """Validation environment to check before the run, or None."""
        return None

    def draws_noise(self, config: Config) -> bool:
        """Whether stochastic networks sample after training; else they take the most likely value."""
        return True

    def as_loaded(self, config: Config) -> Config:
        """Configuration with which a stored run is shown or tested again.

        It must not name a file to write or a paid endpoint. Figures of the run itself use its unchanged configuration.
        """
        return config

    def evaluation_seeds(self, config: Config) -> Sequence[int]:
        """Seeds of validation and test environments; no trial may train with them."""
        return ()

    def page_title(self, config: Config) -> str:
        """Heading of pages of episodes; by default the caption up to its colon."""
        return self.caption.partition(":")[0]

    def run_name(self, config: Config) -> str:
        """Name of a run folder, before the name of its preset; by default the experiment's."""
        return self.name

    def inspect(
        self, config: Config, print_fn: Callable[[str], None], stored: Mapping[str, Any] | None = None
    ) -> Config:
        """Inspect requirements, such as the environment, before the run; returns the adapted configuration.

        `stored` is the configuration of the run that is continued, as JSON. ValueError if a requirement is unusable.
        """
        return config

    def check(self, config: Config) -> None:
        """Check before a run that its requirements are met, such as the key of an endpoint; UserError if not."""

    def prepare(self, config: Config, method: str, trial_folder: Path) -> None:
        """Write files that a policy needs beside its checkpoints; called whenever a trial starts."""

    def export(self, loaded: Any, folder: Path) -> Sequence[Path]:
        """Export a `LoadedPolicy` to another library's format; the written files, or a UserError if there is none."""
        raise UserError(f"{self.name} has no export: open its policies with load_policy")

    def shared(self, config: Config) -> contextlib.AbstractContextManager[None]:
        """Context manager around the training of all trials, in the driver, such as a shared endpoint."""
        return contextlib.nullcontext()

    def search_space(self) -> SearchSpace | None:
        """Search space of `--search`, or None; Ray Tune's domains are imported inside."""
        return None

    # --------------------------------------------------------------------------------------------------- names

    @property
    def config_class(self) -> type[Config]:
        """Type of the configurations."""
        return type(next(iter(self.presets.values())))

    @property
    def default_preset(self) -> str:
        """`laptop`, if there is one, else the first."""
        return "laptop" if "laptop" in self.presets else next(iter(self.presets))

    @property
    def module(self) -> str:
        """Importable module that defines this experiment, to name in `allow`."""
        return _importable(type(self).__module__)

    @property
    def entry_point(self) -> str:
        """Name by which workers import this object: its script's, or `package.module:NAME`; UserError without one."""
        package, _, script = self.module.rpartition(".")
        if package == PACKAGE:
            return script
        own = vars(sys.modules[type(self).__module__])
        names = [name for name, value in own.items() if value is self]
        if not names:
            made = type(self).__name__
            raise UserError(
                f"workers import an experiment by name, and no variable of {self.module} holds this {made}: "
                f"define EXPERIMENT = {made}() there"
            )
        return f"{self.module}:{names[0]}"


def _importable(module: str) -> str:
    """Name by which another process imports a module; a script's own is `__main__`."""
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # python -m package.module
        return str(main.__spec__.name)
    if getattr(main, "__file__", None) is None:
        raise UserError("an experiment cannot be defined in an interactive session: workers import it from its file")
    path = Path(str(main.__file__)).resolve()
    name, folder = path.stem, path.parent
    while (folder / "__init__.py").exists():
        name, folder = f"{folder.name}.{name}", folder.parent
    return name if _is_found(name, path) else path.stem


def _is_found(name: str, path: Path) -> bool:
    try:
        found = importlib.util.find_spec(name)
    except ImportError:
        return False
    return found is not None and found.origin is not None and Path(found.origin).resolve() == path
