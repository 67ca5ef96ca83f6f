"""Test the trained teams of a SAMA run again, with another planner or in more conditions, without training.

    python tune_experiments/sama_retest.py runs/sama                         # the table of sama_overcooked.py
    python tune_experiments/sama_retest.py runs/sama --ablations --methods sama --tasks forced_coordination
    python tune_experiments/sama_retest.py runs/sama --planner openai --model.name NAME --episodes 2

Teams are those of a run folder of `sama_overcooked.py` or `sama_ablations.py`, with the weights chosen by validation.
It writes `results.jsonl`, `table.md` and the planner's transcripts, by default into the folder `RUN_retest`. A folder
holds tests of one kind: `retest.json` contains their planner, model and number of episodes. A language model gets about
70 to 450 questions an episode (docs/papers/sama.md); no question is sent twice. It trains nothing and starts no Ray.
"""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tyro

from tune_experiments import sama_ablations, sama_overcooked
from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.storage_uri import check_folders
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.finding import find_stored
from tune_experiments.launch.saved_results import check_save_path, make_record, write_saved
from tune_experiments.results.main_comparison import with_verdicts
from tune_experiments.results.rows import RESULTS_FILE, read
from tune_experiments.results.tables import TABLE_FILE, write_tables
from tune_experiments.run.manifest import describe_session
from tune_experiments.sama.overcooked.base_experiment import SamaExperiment
from tune_experiments.sama.planner_config import ModelSettings, PlannerName


@dataclass(frozen=True)
class Retest:
    """Teams to test, planner, and folder of the results."""

    run: tyro.conf.Positional[Path]
    """Run folder of sama_overcooked.py or sama_ablations.py."""
    methods: tuple[str, ...] = ()
    """Methods to test; all of them by default."""
    tasks: tuple[str, ...] = ()
    """Kitchens to test; all of them by default."""
    ablations: bool = False
    """Whether teams are tested in every condition of sama_ablations.py."""
    planner: Literal["as_trained"] | PlannerName = "as_trained"
    """Planner of the test: as_trained, the planner of the run, a language model from its record; offline, rules; noisy,
    rules with errors on purpose; scored, a language model on this machine, which scores sub-goals; openai, a language
    model behind an endpoint; replay, the record of a model."""
    model: ModelSettings = field(default_factory=ModelSettings)
    """The language model of the planners scored, openai and replay."""
    episodes: int = 0
    """Number of episodes of each test; 0: as many as in the run."""
    out: Path | None = None
    """Folder of the results; by default the run's folder with `_retest` added to its name."""
    save: Path | None = None
    """File NAME.jsonl.gz in which the results are saved for a document, with the commands of the training and of this
    test."""

    @property
    def changes(self) -> dict[str, Any]:
        """Changed fields of the run's configuration."""
        named = {"planner": self.planner, "model": self.model, "replay": ""}
        changed: dict[str, Any] = {} if self.planner == "as_trained" else named
        return changed | ({"test_episodes": self.episodes} if self.episodes else {})


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None, prog: str | None = None) -> None:
    """Test all teams, one after another, and write the tables."""
    command = read_command(sys.argv[1:] if arguments is None else list(arguments), prog)
    import torch

    from tune_experiments.run.run_folder import read_config, read_sessions, with_announcement_times
    from tune_experiments.sama.overcooked.retest import check_out, load_teams, tested_again

    torch.set_num_threads(1)
    console, run = Terminal(), command.run.resolve()  # with its name, also for `.`
    experiment: SamaExperiment = (sama_ablations if command.ablations else sama_overcooked).EXPERIMENT
    _, config = find_stored(*read_config(command.run), (), command.run)
    out = command.out or run.parent / f"{run.name}_retest"
    check_out(out)
    sessions = []
    if command.save is not None:  # checked before any test
        check_save_path(command.save)
        sessions = read_sessions(command.run)
    for team in load_teams(command.run, command.methods, command.tasks):
        rows = tested_again(experiment, team, command.changes, out)
        soups = ", ".join(f"{row.world} {row.value:.1f}" for row in rows if row.metric == "soups")
        console.print(f"{team.method}, seed {team.seed}: soups in {soups}")
    rows = read(out / RESULTS_FILE)
    trained = read_sessions(command.run, may_be_missing=True)
    comparisons = with_announcement_times(experiment.main_comparisons(config), trained)
    tables = with_verdicts(experiment.tables(rows), comparisons, rows)
    for table in tables:
        console.print(table.for_terminal(console.width), crop=False)
    write_tables(out / TABLE_FILE, tables)
    console.print(f"wrote {out / RESULTS_FILE}, {out / TABLE_FILE}")
    if command.save is not None:
        tested = dataclasses.replace(config, **command.changes)
        record = make_record(experiment, tested, rows, [*sessions, _this_session(command)])
        write_saved(record, command.save)
        console.print(f"wrote {command.save}")


def _this_session(command: Retest) -> dict[str, Any]:
    """Session entry of this test; its command without folders of this machine."""
    from tune_experiments.run.run_folder import ANNOUNCED

    session = describe_session(())
    left_out = {"--save", str(command.save), "--out", str(command.out)}
    words = [word for word in shlex.split(session["command"]) if word not in left_out]
    named = [f"runs/{command.run.resolve().name}" if word == str(command.run) else word for word in words]
    return session | {"command": shlex.join(named), ANNOUNCED: None}


def read_command(words: Sequence[str], prog: str | None = None) -> Retest:
    """Parse the command line; tyro reports its own errors."""
    command = tyro.cli(Retest, prog=prog, args=words, description=__doc__)
    check_folders(command)
    if command.episodes < 0:
        raise UserError("--episodes must be at least 0, and 0 means as many as in the run")
    return command


if __name__ == "__main__":
    sys.exit(main())
