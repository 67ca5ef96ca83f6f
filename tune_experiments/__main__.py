"""Experiments by name, and what comes after training.

    python -m tune_experiments EXPERIMENT [flags]      as its script; furnmove_sync, or package.module:NAME from outside
    python -m tune_experiments evaluate|play|show|render|export|pack|doctor|table|compare PATH
    python -m tune_experiments render WORLD --policies NAME NAME

PATH is a run folder, a trial folder or a checkpoint. `compare` takes run folders, and `table` also takes saved results
and documents (`launch/saved_results.py`). No Ray is started for these. A run of an experiment from outside is opened
only with --allow MODULE, for opening it runs that module's code.
"""

from __future__ import annotations

from tune_experiments.core.import_path import current_folder_last

if __name__ == "__main__":
    current_folder_last()

# isort: split
import difflib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from tune_experiments.core.config_path import spelled
from tune_experiments.core.drawing import lines_of
from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.storage_uri import check_folders
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.finding import find_experiment, find_stored, known_experiments
from tune_experiments.launch import saved_results
from tune_experiments.launch.experiment import main as run_experiment
from tune_experiments.play.team_commands import (
    Acting,
    Doctor,
    Evaluate,
    Export,
    Pack,
    Play,
    Render,
    Show,
    doctor,
    evaluate,
    export,
    pack_team,
    play,
    render,
    show,
)
from tune_experiments.results import comparison
from tune_experiments.results import rows as result_file


@dataclass(frozen=True)
class Table:
    """Make tables again: of a run folder (and its figures), of a saved file of results, or of whole documents."""

    path: tyro.conf.Positional[Path | None] = None
    """Run folder with the results of training, or a file that --save has written."""
    save: Path | None = None
    """File (.jsonl.gz) in which the results of the run folder are saved; at most 50 kB."""
    document: tuple[Path, ...] = ()
    """Documents whose tables between `<!-- table: NAME -->` and `<!-- end -->` are made again from the file
    NAME.jsonl.gz beside each."""
    check: bool = False
    """Whether the documents are only compared; a stale table is then an error, and nothing is written."""
    allow: tuple[str, ...] = ()
    """Modules outside Concord that may be imported if the run folder names them."""


@dataclass(frozen=True)
class Compare:
    """Compare methods, from the results of runs and searches: means, differences, shares of pairs above."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs or searches; comparison.md and a plot go into the first."""


def table(command: Table, console: Console) -> None:
    """Print and write the tables of a run folder, of a saved file or of documents again."""
    if command.document and command.path is not None:
        raise UserError("table takes a PATH or --document FILE, not both")
    if command.check and not command.document:
        raise UserError("--check compares documents: name them with --document, or leave it out")
    if command.document:
        for document in command.document:
            console.print(saved_results.remake(document, command.check))
    elif command.path is None:
        raise UserError("write python -m tune_experiments table RUN, or table --document FILE")
    elif command.path.name.endswith(saved_results.SUFFIX):
        console.print(saved_results.read_saved(command.path).markdown())
    else:
        _tables_of_run(command.path, command, console)


def _tables_of_run(path: Path, command: Table, console: Console) -> None:
    """Show the tables of a run folder, or save its results."""
    from tune_experiments.launch.report import show_results
    from tune_experiments.run.run_folder import CONFIG_FILE, read_config, read_sessions

    experiment, config = find_stored(*read_config(path), command.allow, path / CONFIG_FILE)
    results = path / result_file.RESULTS_FILE
    if not results.exists() or not result_file.read(results):
        raise UserError(f"{path} has no results yet; the experiment's command with this --out continues it")
    if command.save is None:
        show_results(experiment, config, path, console)
    else:
        sessions = read_sessions(path)
        saved_results.save(experiment, config, result_file.read(results), sessions, command.save)
        console.print(f"wrote {command.save}")


def compare(command: Compare, console: Console) -> None:
    """Compare methods in whatever two of them were measured in."""
    from tune_experiments.results.plots.comparison_report import write_comparison

    if not command.paths:
        raise UserError("write python -m tune_experiments compare RUN [RUN ...]")
    comparisons = comparison.compare(comparison.read_runs(command.paths))
    for one in comparisons:
        console.print(one.markdown())
    for line in lines_of(write_comparison(command.paths[0], comparisons)):
        console.print(line)


COMMANDS: dict[str, tuple[type, Callable[[Any, Console], None]]] = {
    "evaluate": (Evaluate, evaluate),
    "play": (Play, play),
    "show": (Show, show),
    "render": (Render, render),
    "export": (Export, export),
    "pack": (Pack, pack_team),
    "doctor": (Doctor, doctor),
    "table": (Table, table),
    "compare": (Compare, compare),
}
"""Name of a command -> its flags, and who reads them."""
USAGE = f"write python -m tune_experiments EXPERIMENT [flags], or {'|'.join(COMMANDS)} PATH"


def read_command(words: Sequence[str]) -> Any:
    """The command with its arguments; tyro ends the process with code 2 and says why where it cannot read them."""
    if not words:
        raise UserError(f"{USAGE} (--help lists the experiments)")
    return tyro.extras.subcommand_cli_from_dict(
        {name: flags for name, (flags, _) in COMMANDS.items()},
        args=words,
        prog="python -m tune_experiments",
        description=f"{__doc__}\nExperiments: {', '.join(known_experiments())}.",
    )


def _check_seed(command: Any) -> None:
    """Refuse what `--seeds` of a script refuses."""
    if (seed := getattr(command, "seed", 0)) < 0:
        raise UserError(f"--seed must be a whole number, 0 or larger, not {seed}")


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and do it, or run the experiment that the first word names."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] not in (*COMMANDS, "-h", "--help"):
        known = known_experiments()
        words[0] = spelled(words[0], known)
        if ":" not in words[0] and words[0] not in known:
            near = difflib.get_close_matches(words[0], [*COMMANDS, *known], n=1)
            advice = f"did you mean {near[0]}?" if near else f"{USAGE} (--help lists the experiments)"
            raise UserError(f"unknown command {words[0]!r}; {advice}")
        return run_experiment(find_experiment(words[0]), words[1:])
    command = read_command(words)
    check_folders(command)
    _check_seed(command)
    import torch

    from rl_models.runtime.device import refusing_gpu

    torch.set_num_threads(1)
    with refusing_gpu(isinstance(command, Acting) and command.device == "cpu"):
        dict(COMMANDS.values())[type(command)](command, Terminal())
    return 0


if __name__ == "__main__":
    sys.exit(main())
