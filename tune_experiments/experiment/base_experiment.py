"""Interface of an experiment for runs, searches, tables and players: three methods, and hooks with defaults.

An experiment file subclasses `Experiment` (`launch/experiment.py`), which adds `run` and the default figures and
videos. Everything that crosses a process boundary is a name and JSON: a worker imports the experiment's module again
and builds its own objects.
"""

from __future__ import annotations

import contextlib
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
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes, Tests, TrialPlan
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results.intervals import Interval
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy

PACKAGE = "tune_experiments"
_OF_EVERY_TEST = {"episode_length": COUNT, "tvd": PROPORTION, "invalid_probability": PROPORTION}
"""Ranges of what every evaluation measures."""


class HasMethods(DataclassInstance, Protocol):
    """A configuration, a frozen dataclass."""

    @property
    def methods(self) -> Sequence[str]:
        """Rows of the table, in order."""


Config = TypeVar("Config", bound=HasMethods)
"""Type of an experiment's configurations."""


class BaseExperiment(ABC, Generic[Config]):
    """One table of a paper, with configurations of one type.

    `plan`, `evaluate` and `tables` are to be written; the rest has defaults.

    Attributes:
        name: short name, snake case, of folders and results; in this package that of the file.
        caption: what the table shows, for people.
        presets: name -> configuration, frozen dataclasses of one type; `laptop` is the default, else the first.
        seeds: trained when the user names none.
        split: of the test results; "exact" where `evaluate` computes numbers and plays no episode.
        metric_ranges: metric, or a pattern of names such as `success_of_*`, -> its range: those of the world and of the
            experiment's own metrics. One that is not here can have any value.
        is_greedy: whether a trained team plays its most likely actions, as in the test, or samples.
        columns: what the live line of a trial shows, heading -> key of the log.
        main: the one comparison that the table is about, named before the run; None where there is one method.
    """

    name: str
    caption: str
    presets: Mapping[str, Config]
    seeds: tuple[int, ...] = (0,)
    split: str = "test"
    metric_ranges: Mapping[str, MetricRange] = MappingProxyType({})
    is_greedy: bool = False
    columns: Mapping[str, str] = {"return": "episode/return", "success": "episode/success"}
    main: MainComparison | None = None

    # ------------------------------------------------------------------------------------------- to be written

    @abstractmethod
    def plan(self, config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan | Curriculum:
        """How one method is trained with one seed: one plan, or a curriculum of several.

        Args:
            config: of the run.
            method: a row of the table.
            seed: of weights, worlds and action sampling.
            trial_folder: where the trial keeps its checkpoints and what `prepare` has left there; None where nothing is
                trained, as when flags are checked or the cost is estimated.
        """

    @abstractmethod
    def evaluate(self, config: Config, method: str, policy: TeamPolicy) -> Tests:
        """The final evaluation of a trained team.

        Args:
            config: of the run.
            method: which row the team is.
            policy: the team.

        Returns:
            world name -> metric -> one value an episode, [K] float64. `Tested` in place of the name says a condition of
                the test, or another player.
        """

    @abstractmethod
    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """The tables, from the rows of results.jsonl alone."""

    # --------------------------------------------------------------------------------------------------- hooks

    @abstractmethod
    def figures(self, run_folder: Path, trials: Mapping[str, Mapping[int, Path]]) -> Sequence[Any]:
        """Draw figures and videos of whatever there is yet; one that fails must not keep others from being drawn.

        Args:
            run_folder: where they go, into `plots` and `videos`.
            trials: method -> seed -> trial folder.

        Returns:
            what was written, and what could not be (`core.drawing.Drawn`).
        """

    @abstractmethod
    def video(self, loaded: Any, seed: int) -> Sequence[Any]:
        """Frames of an episode of a `LoadedPolicy`, [H, W, 3] uint8 each."""

    @abstractmethod
    def episodes(self, loaded: Any, seed: int, episodes: int, most_steps: int) -> Sequence[Any]:
        """Records (`play.episode.Episode`) of the first episodes of a `LoadedPolicy`, for a page.

        Args:
            loaded: the team.
            seed: of worlds and actions.
            episodes: how many starts.
            most_steps: env steps after which a record is cut.
        """

    @abstractmethod
    def spectator(self, loaded: Any) -> Any:
        """Spectator of recorded episodes (`play.spectator.Spectator`): images, and notes for people."""

    @abstractmethod
    def page(self, run_folder: Path, trials: Mapping[str, Mapping[int, Path]]) -> Sequence[Any]:
        """Write a page on which people look at an episode of each method; returns the same as `figures`.

        Args:
            run_folder: where it goes.
            trials: method -> seed -> trial folder.
        """

    def methods(self, config: Config) -> Sequence[str]:
        """Rows of the table, in order; by default those of the configuration."""
        return config.methods

    def depends_on_seed(self, method: str) -> bool:
        """Whether a row comes out differently with another seed; one that does not is run with the first seed alone."""
        return True

    def evaluate_trial(self, config: Config, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """`evaluate`, for an experiment whose evaluation needs what a trial has left in its folder."""
        return self.evaluate(config, method, policy)

    def estimates(self, episodes: Episodes) -> Mapping[str, Interval]:
        """Numbers of a test that are no means over its episodes, with intervals of their own: metric -> number.

        Args:
            episodes: of one world, as `evaluate` gives them, arrays for pictures included.
        """
        return {}

    def range_of(self, metric: str) -> MetricRange:
        """Range of a metric of the results: as declared, under its name or the first pattern that it fits."""
        declared = {**self.metric_ranges, **_OF_EVERY_TEST}
        fitting = (one for name, one in declared.items() if fnmatch.fnmatchcase(metric, name))
        return declared.get(metric) or next(fitting, ANY)

    def split_of(self, world: str) -> str:
        """Split in results.jsonl of what was evaluated under a world's name; by default the experiment's."""
        return self.split

    def of_training(self, method: str, rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Results of training itself for results.jsonl, under split "train".

        Args:
            method: a row of the table.
            rows: of the trial's log.

        Returns:
            world name -> metric -> value.
        """
        return {}

    def main_comparisons(self, config: Config) -> Sequence[MainComparison]:
        """The main comparison of each table; by default `main`. All other orderings are exploratory."""
        return () if self.main is None else (self.main,)

    def deviations(self, config: Config) -> Sequence[str]:
        """Deviations of a configuration from the paper, smaller sizes among them, one sentence each."""
        return ()

    def optimiser_steps(self, config: Config) -> str:
        """Sentence on the optimiser steps of a run beside the paper's; by default empty, as where a paper has none."""
        return ""

    def test_world(self, config: Config, num_worlds: int) -> World:
        """Worlds in which play and render show a team; by default those in which the first method is trained."""
        plan = self.plan(config, self.methods(config)[0], 0, None).stages[-1].plan
        return cast(World, plan.make_world(num_worlds=num_worlds, first_world=0))  # of rl_envs, as all that plans build

    def world_of(self, config: Config, method: str, num_worlds: int) -> World:
        """The same worlds for one method, where methods see them differently."""
        return self.test_world(config, num_worlds)

    def valid_world(self, config: Config, num_worlds: int) -> World | None:
        """Worlds of validation, where those can be wrong: they are built before a run starts. None: nothing to see."""
        return None

    def draws_noise(self, config: Config) -> bool:
        """Whether networks that draw something themselves do so after training, or take what is most likely."""
        return True

    def as_loaded(self, config: Config) -> Config:
        """The configuration of a stored run, perhaps a stranger's, that is looked at or tested again.

        It must name no file to write, and no endpoint may cost more than our own limits. A run's own figures keep what
        the run has.
        """
        return config

    def evaluation_seeds(self, config: Config) -> Sequence[int]:
        """Seeds of validation and tests, where a game has no splits: no trial trains with one of them."""
        return ()

    def run_name(self, config: Config) -> str:
        """Name of a run folder, before the name of its preset; by default the experiment's."""
        return self.name

    def inspect(self, config: Config, say: Callable[[str], None]) -> Config:
        """Look at what the run needs, such as its environment, before anything else; the configuration that follows.

        Args:
            config: what the user chose.
            say: prints a line.

        Raises:
            ValueError: what cannot be used.
        """
        return config

    def check(self, config: Config) -> None:
        """Refuse, before a run starts, what it needs and has not got, such as an endpoint's key.

        Raises:
            UserError: what is missing.
        """

    def prepare(self, config: Config, method: str, trial_folder: Path) -> None:
        """Leave beside a trial's checkpoints what its team needs elsewhere, too; called whenever the trial starts."""

    def export(self, loaded: Any, folder: Path) -> Sequence[Path]:
        """Write a `LoadedPolicy` in another library's format; what was written.

        Raises:
            UserError: there is no such format.
        """
        raise UserError(f"{self.name} trains no adapters; its teams are opened with load_policy")

    def shared(self, config: Config) -> contextlib.AbstractContextManager[None]:
        """Context that trials share, such as an endpoint: open while they train, in the process that leads the run."""
        return contextlib.nullcontext()

    def search_space(self) -> SearchSpace | None:
        """Search space of `--search`; its domains are Ray Tune's, so Ray is imported in here and not before."""
        return None

    # --------------------------------------------------------------------------------------------------- names

    @property
    def config_class(self) -> type[Config]:
        """Type of the configurations."""
        return type(next(iter(self.presets.values())))

    @property
    def default_preset(self) -> str:
        """`laptop`, or the first one where none is called so."""
        return "laptop" if "laptop" in self.presets else next(iter(self.presets))

    @property
    def module(self) -> str:
        """The importable module that defines this experiment; who opens its runs names it in `allow`."""
        return _importable(type(self).__module__)

    @property
    def entry_point(self) -> str:
        """Name by which a worker finds this object: that of its script, or `package.module:NAME` from outside.

        Raises:
            UserError: a worker could not find it.
        """
        package, _, script = self.module.rpartition(".")
        if package == PACKAGE:
            return script
        own = vars(sys.modules[type(self).__module__])
        names = [name for name, value in own.items() if value is self]
        if not names:
            made = type(self).__name__
            raise UserError(
                f"workers import an experiment by its module and name, and no name in {self.module} holds this "
                f"{made}: write EXPERIMENT = {made}() there and use that"
            )
        return f"{self.module}:{names[0]}"


def _importable(module: str) -> str:
    """The name by which another process imports a module; a script's own is `__main__`.

    Raises:
        UserError: an interactive session, which cannot be imported.
    """
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
