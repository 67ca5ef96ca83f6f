"""Experiments by name, and what comes after training.

    python -m tune_experiments EXPERIMENT [flags]      as its script; furnmove_sync, or package.module:NAME from outside
    python -m tune_experiments evaluate|play|show|render|export|pack|doctor|table|compare PATH
    python -m tune_experiments render WORLD --policies NAME NAME

PATH is a run folder, a trial folder or a checkpoint. `compare` takes run folders, and `table` also takes saved results
and documents (`launch/saved_results.py`). No Ray is started for these. A run of an experiment from outside is opened
only with --allow MODULE, for opening it runs that module's code.
"""

from __future__ import annotations

import contextlib
import difflib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import torch
import tyro
from rich.console import Console

from rl_models.device import DeviceChoice, refusing_gpu
from rl_models.training.checkpoint import CheckpointError
from tune_experiments.core.errors import UserError, exits_with_one_sentence, first_line
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.command_line import one_sentence
from tune_experiments.experiment.finding import find_experiment, find_stored, known_experiments, trial_name
from tune_experiments.launch import saved_results
from tune_experiments.launch.experiment import main as run_experiment
from tune_experiments.launch.launch import show_results
from tune_experiments.play.cli_commands import match_file, play_in_browser, refuse_together, write_match
from tune_experiments.play.loading import PRETRAINED, LoadedPolicy, find_checkpoint, load_policy
from tune_experiments.play.pretrained import pack, size_of
from tune_experiments.play.recording import SEED, describe_episode, play_decentralised
from tune_experiments.play.show import MOST_EPISODES, PAGE, refuse_foreign, teams_of, write_page
from tune_experiments.play.video import write_gif
from tune_experiments.results import comparison
from tune_experiments.results import rows as result_file
from tune_experiments.results.plots.comparison_report import write_comparison
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.doctor import diagnose, report
from tune_experiments.run.final_evaluation import evaluations_of, results_of
from tune_experiments.run.remote_sync import uri_of
from tune_experiments.run.run_folder import CONFIG_FILE, read_config, read_sessions

Where = Annotated[Path, tyro.conf.Positional]
COMMANDS = ("evaluate", "play", "show", "render", "export", "pack", "doctor", "table", "compare")
USAGE = f"write python -m tune_experiments EXPERIMENT [flags], or {'|'.join(COMMANDS)} PATH"


@dataclass(frozen=True)
class Opened:
    """A trained team."""

    path: Where
    """Run folder, trial folder or checkpoint of the team."""
    allow: tuple[str, ...] = ()
    """Modules outside Concord that may be imported if the checkpoint names them."""


@dataclass(frozen=True)
class Acting(Opened):
    """A trained team that acts."""

    device: DeviceChoice = "auto"
    """Device of the team's networks: auto, a GPU if there is one; cpu, no GPU; or cuda, a GPU, and an error without
    one."""


@dataclass(frozen=True)
class Evaluate(Acting):
    """Play the experiment's test episodes with a trained team and print its row of the table."""


@dataclass(frozen=True)
class Play(Acting):
    """Play one episode and print what all agents do."""

    seed: int = SEED
    """Seed of the episode that is played."""
    decentralised: bool = False
    """Whether each agent runs in a process of its own and exchanges only messages; the episode is the same."""
    human: str = ""
    """Name of an agent that a person plays in the browser, such as agent_0; the team plays the others."""
    port: int = 0
    """Port on this machine that the game is served at, 0 to 65535; 0 takes any free one."""
    record: Path = Path("human_episodes")
    """Folder for the episodes that the person plays."""


@dataclass(frozen=True)
class Show(Acting):
    """Write a page of HTML on which people look at episodes: all methods of a run, or teams side by side."""

    path: Where
    """Run folder, whose methods are all shown, or trial folder or checkpoint of one team."""
    beside: Path | None = None
    """Another team, or run, that plays the same starts and is shown beside the first."""
    seed: int = SEED
    """Seed of the starts that every team plays."""
    episodes: int = 3
    """Number of starts, at least 1 and at most 64."""
    out: Path | None = None
    """File of the page, which replaces an older page; by default episodes.html in the run folder, or in the current
    folder."""


@dataclass(frozen=True)
class Render(Acting):
    """Write a video of one episode, a solved one if there is any among sixteen; or of a match of scripted policies."""

    path: Where
    """Run folder, trial folder or checkpoint of the team; with --policies the id of a world, such as minirts-v0."""
    policies: tuple[str, ...] = ()
    """Names of scripted policies that play a match in a world, one a side, such as medium strong."""
    seed: int = SEED
    """Seed of the sixteen episodes to choose from, or of the match."""
    out: Path | None = None
    """File of the new GIF; by default beside the checkpoints, and for a match in the current folder."""


@dataclass(frozen=True)
class Export(Opened):
    """Write a team's adapters of a language model as folders that peft reads."""

    out: Path | None = None
    """New folder for the adapters; by default it lies beside the checkpoints."""


@dataclass(frozen=True)
class Pack:
    """Put a trained team into the package, with a card of what made it, for load_policy("pretrained/NAME")."""

    path: Where
    """Trial folder or checkpoint of the team, in a run folder with results."""
    name: tyro.conf.Positional[str]
    """Name of the new team: letters, digits and underscores."""
    given: str
    """Sentence on what the team was given in addition to observations and rewards."""
    out: Path = PRETRAINED
    """Folder that the new team's folder goes into."""


@dataclass(frozen=True)
class Doctor(Opened):
    """Say what holds a trial up, and how many runners, worlds and learners to try instead."""


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


Command: TypeAlias = Evaluate | Play | Show | Render | Export | Pack | Doctor | Table | Compare


def evaluate(command: Evaluate, console: Console) -> None:
    """Print the test results of a checkpoint."""
    loaded = load_policy(command.path, command.allow, command.device)
    experiment, curriculum = loaded.experiment, loaded.curriculum
    stage = f", stage {curriculum.label}" if curriculum.is_staged else ""
    console.print(f"{experiment.name}: {loaded.method}, seed {loaded.seed}, {loaded.env_steps:,} env steps{stage}")
    rows, trained = [], loaded.env_steps if curriculum.plan.learns else None
    found = evaluations_of(experiment, loaded.config, loaded.method, curriculum, loaded.trial_folder)
    for after, evaluation in found.items():
        for world, episodes in evaluation(loaded.policy).items():
            rows += results_of(experiment, loaded.method, loaded.seed, world + after, episodes, trained)
    for table in loaded.experiment.tables(rows):
        console.print(table.for_terminal(console.width), crop=False)


def play(command: Play, console: Console) -> None:
    """Print an episode step by step."""
    given = [flag for flag in ("port", "record") if getattr(command, flag) != getattr(Play, flag)]
    refuse_together(command.human, command.decentralised, given)
    checkpoint = find_checkpoint(command.path, command.allow)
    loaded = load_policy(checkpoint, command.allow, command.device)
    if command.human:
        say = console.print
        play_in_browser(loaded, command.human, command.seed, command.record, command.port, say)
        return
    apart = command.decentralised
    lines = play_decentralised(loaded, checkpoint, command.seed) if apart else describe_episode(loaded, command.seed)
    with contextlib.closing(lines):
        for line in lines:
            console.print(line)


def show(command: Show, console: Console) -> None:
    """Write the page of a run or of teams."""
    if not 1 <= command.episodes <= MOST_EPISODES:
        raise UserError(f"--episodes must be 1 to {MOST_EPISODES}, not {command.episodes}")
    out = command.out or (command.path / PAGE if (command.path / CONFIG_FILE).exists() else Path(PAGE))
    refuse_foreign(out)
    paths = [command.path] if command.beside is None else [command.path, command.beside]
    teams = [team for path in paths for team in teams_of(path, command.allow, command.device)]
    title = ", ".join(dict.fromkeys(team.experiment.caption for team in teams))
    try:
        written = write_page(out, title, teams, command.seed, command.episodes, command.beside is not None)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}): name another file with --out") from error
    console.print(f"wrote {written}")


def render(command: Render, console: Console) -> None:
    """Write an episode, or a match, as a GIF."""
    if command.policies:
        world_id = str(command.path)
        default = match_file(world_id, command.policies, command.seed)
        _write_gif(lambda out: write_match(world_id, command.policies, command.seed, out), command, default, console)
        return
    checkpoint = find_checkpoint(command.path, command.allow)
    loaded = load_policy(checkpoint, command.allow, command.device)
    default = _beside(checkpoint) / f"{trial_name(loaded.method, loaded.seed)}.gif"
    _write_gif(lambda out: _write_episode(loaded, command.seed, out), command, default, console)


def _beside(checkpoint: Path) -> Path:
    """Where what is made of a team goes: its trial's folder, or for a team of the package the present one."""
    return Path() if PRETRAINED in checkpoint.parents else checkpoint.parent.parent


def _write_episode(loaded: LoadedPolicy, seed: int, out: Path) -> Path:
    try:
        frames = loaded.experiment.video(loaded, seed)
    except NotImplementedError as error:
        raise UserError(f"{error}, so there is nothing to render; `play` tells an episode in words") from error
    return write_gif(frames, out)


def _write_gif(write: Callable[[Path], Path], command: Render, default: Path, console: Console) -> None:
    """Write a GIF to the named file or the default one; only an episode's default file may be there already."""
    out = command.out or default
    if out.suffix.lower() != ".gif":
        raise UserError(f"--out must end in .gif, not {str(out)!r}")
    if (command.out is not None or command.policies) and out.exists():
        raise UserError(f"{out} is there already: name a new file with --out")
    try:
        written = write(out)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}): name another file with --out") from error
    console.print(f"wrote {written}")


def export(command: Export, console: Console) -> None:
    """Write what another library reads."""
    checkpoint = find_checkpoint(command.path, command.allow)
    loaded = load_policy(checkpoint, command.allow, "cpu")
    out = command.out or _beside(checkpoint) / "adapters"
    if out.exists():
        raise UserError(f"{out} is there already: name a new folder with --out")
    try:
        written = loaded.experiment.export(loaded, out)
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror}): name another with --out") from error
    for path in written:
        console.print(f"wrote {path}")


def pack_team(command: Pack, console: Console) -> None:
    """Write the folder of a team of the package."""
    try:
        written = pack(command.path, command.name, command.given, command.out)
    except (OSError, CheckpointError) as error:
        raise UserError(f"{command.out} cannot be written ({first_line(error)}): name another with --out") from error
    console.print(f"wrote {written}: {size_of(written):,} bytes")


def doctor(command: Doctor, console: Console) -> None:
    """Print where the time of a trial went, and what to try."""
    checkpoint = find_checkpoint(command.path, command.allow)
    plan = load_policy(checkpoint, command.allow, "cpu").curriculum.plan
    rows = read_metrics(checkpoint.parent.parent / METRICS_FILE)
    found = diagnose(rows, plan.workers, takes_turns=plan.objective.takes_turns)
    for line in report(found, plan.workers):
        console.print(line)


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
    if not command.paths:
        raise UserError("write python -m tune_experiments compare RUN [RUN ...]")
    comparisons = comparison.compare(comparison.read_runs(command.paths))
    for one in comparisons:
        console.print(one.markdown())
    for path in write_comparison(command.paths[0], comparisons):
        console.print(f"wrote {path}")


def _read(words: Sequence[str]) -> Command:
    """The command with its arguments; whatever tyro refuses is one sentence."""
    if not words:
        raise UserError(f"{USAGE} (--help lists the experiments)")
    if len(words) == 1 and words[0] in COMMANDS and words[0] not in ("table", "compare"):
        raise UserError(f"{words[0]} needs a PATH: a run, a trial or a checkpoint ({words[0]} --help lists its flags)")
    with one_sentence(words, f"{USAGE} (COMMAND --help lists its flags)"):
        return tyro.extras.subcommand_cli_from_dict(
            dict(zip(COMMANDS, (Evaluate, Play, Show, Render, Export, Pack, Doctor, Table, Compare), strict=True)),
            args=words,
            prog="python -m tune_experiments",
            description=f"{__doc__}\nExperiments: {', '.join(known_experiments())}.",
        )


def _check_paths(command: Command) -> None:
    """Refuse URIs: pictures and adapters would be written beside what they are of."""
    given: list[Path] = list(command.paths) if isinstance(command, Compare) else [command.path or Path()]
    for uri in filter(None, map(uri_of, given)):
        raise UserError(f"{uri} lies in an object store: fetch it, as by `aws s3 sync {uri} FOLDER`, and name FOLDER")


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and do it, or run the experiment that the first word names."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] not in (*COMMANDS, "-h", "--help"):
        known = known_experiments()
        if ":" not in words[0] and words[0] not in known:
            near = difflib.get_close_matches(words[0], [*COMMANDS, *known], n=1)
            advice = f"did you mean {near[0]}?" if near else f"{USAGE} (--help lists the experiments)"
            raise UserError(f"unknown command {words[0]!r}; {advice}")
        return run_experiment(find_experiment(words[0]), words[1:])
    command = _read(words)
    _check_paths(command)
    torch.set_num_threads(1)
    handlers: dict[type, Callable[..., None]] = {
        Evaluate: evaluate,
        Play: play,
        Show: show,
        Render: render,
        Export: export,
        Pack: pack_team,
        Doctor: doctor,
        Table: table,
        Compare: compare,
    }
    with refusing_gpu(isinstance(command, Acting) and command.device == "cpu"):
        handlers[type(command)](command, Terminal())
    return 0


if __name__ == "__main__":
    sys.exit(main())
