"""A run folder that is read: for tables, figures, pages and players."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

from tune_experiments.core.config_path import grown_values
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.finding import find_stored
from tune_experiments.results.rows import Result
from tune_experiments.run.final_evaluation import is_tested_with
from tune_experiments.run.run_folder import CONFIG_FILE, read_config


@dataclass(frozen=True)
class StoredRun(Generic[Config]):
    """A run folder, perhaps a temporary copy of a store, with its experiment and configuration."""

    path: Path
    experiment: BaseExperiment[Config]
    config: Config

    @classmethod
    def open(cls, path: Path, allow: Sequence[str] = ()) -> "StoredRun[Any]":
        """Read the experiment and the configuration of a folder, as `find_stored` does."""
        return StoredRun(path, *find_stored(*read_config(path), allow, path / CONFIG_FILE))

    @property
    def trials(self) -> dict[str, dict[int, Path]]:
        """Trial folders: method -> seed -> folder, in the order of the table."""
        found: dict[str, dict[int, Path]] = {}
        for method in self.experiment.methods(self.config):
            folders = (self.path / "trials").glob(f"{method}-seed*")
            seeds = {one.name.removeprefix(f"{method}-seed"): one for one in folders}
            if by_seed := {int(seed): folder for seed, folder in seeds.items() if seed.isdigit()}:
                found[method] = dict(sorted(by_seed.items()))
        return found

    @cached_property
    def tested(self) -> dict[str, dict[int, Path]]:
        """Trials with test results of the present budget, as those of the tables."""
        budgets = grown_values(self.config)
        found = {
            method: {seed: folder for seed, folder in seeds.items() if is_tested_with(folder, budgets)}
            for method, seeds in self.trials.items()
        }
        return {method: seeds for method, seeds in found.items() if seeds}

    def untested(self, results: Sequence[Result]) -> tuple[str, ...]:
        """Method and seed of each trial without test results of the present budget, and without a row."""
        tested = {(line.method, line.seed) for line in results}
        tested |= {(method, seed) for method, seeds in self.tested.items() for seed in seeds}
        trials = [(method, seed) for method, seeds in self.trials.items() for seed in seeds]
        return tuple(f"{method} seed {seed}" for method, seed in trials if (method, seed) not in tested)
