"""A finished run (results, tables, files and trained policies), and callbacks.

    class Print(Callback): def on_validation(self, trial, row): print(trial, row["env_steps"], row["valid/success"])

    EXPERIMENT.run(preset="smoke", callbacks=[Print()])

Callbacks run in the driver and are never sent to a trial or stored. An error in one ends the run; the same call without
it continues.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from tune_experiments.core.errors import UserError
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.finding import trusting
from tune_experiments.play.loading import LoadedPolicy, load_policy
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.run.reports import Callback as Callback
from tune_experiments.run.stored_run import StoredRun


@dataclass(frozen=True)
class Run(Generic[Config]):
    """A finished run: the result of `EXPERIMENT.run(...)`, and the argument of `Callback.on_end`.

    Attributes:
        experiment, config: Experiment and configuration of the run.
        out: Folder, or URI of an object store, of the run.
        results: Rows of results.jsonl; of a search the scores of its settings.
        tables: Tables of these rows; `table.markdown()` is text. Empty for a search.
        failures: Trial name -> cause, for trials that failed permanently.
        is_complete: False if a slice ended before all trials were trained and tested; there are no tables then.
    """

    experiment: BaseExperiment[Config]
    config: Config
    out: str
    results: Sequence[Result]
    tables: Sequence[PaperTable]
    failures: dict[str, str]
    is_complete: bool = True

    @property
    def folder(self) -> Path:
        """The run folder; UserError if the run is in an object store."""
        if "://" in self.out:
            raise UserError(f"{self.out} is in an object store: fetch it, as by `aws s3 sync {self.out} FOLDER`")
        return Path(self.out)

    @property
    def figures(self) -> list[Path]:
        """The PNG files."""
        return sorted((self.folder / "plots").glob("*.png"))

    @property
    def videos(self) -> list[Path]:
        """The GIF files."""
        return sorted((self.folder / "videos").glob("*.gif"))

    @property
    def trials(self) -> dict[str, dict[int, Path]]:
        """Method -> seed -> folder with log, TensorBoard events and checkpoints; none after a search."""
        return StoredRun(self.folder, self.experiment, self.config).trials

    def load_policy(self, method: str | None = None, seed: int | None = None) -> LoadedPolicy:
        """A trained policy: by default of the first trained method with its lowest seed.

        Raises UserError where there is no such trial.
        """
        there = self.trials
        row = method or next(iter(there), None)
        seeds = there.get(row, {}) if row is not None else {}
        number = min(seeds, default=0) if seed is None else seed
        if number not in seeds:
            known = [folder.name for each in there.values() for folder in each.values()]
            asked = f"{row or 'a method'} with seed {number}"
            raise UserError(f"{self.out} holds no trial of {asked}; there are {', '.join(known) or 'none'}")
        with trusting(self.experiment, self.config):
            return load_policy(seeds[number])
