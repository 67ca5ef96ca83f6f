"""Commands on a trained team, `concord COMMAND PATH`: their flags, and the code that reads them.

`render WORLD --policies NAME NAME` writes a match of scripted policies, which a world offers by a method
`match_frames(policies, seed)` that yields frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from rl_envs.core.errors import installing
from rl_envs.registry import make
from rl_models.configuration import DeviceChoice
from rl_models.errors import first_line
from tune_experiments.core.drawing import describe_drawings, short_reason
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, read_json
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.recording import SEED, describe_episode, play_decentralised
from tune_experiments.play.team_paths import PRETRAINED
from tune_experiments.results.trial_log import METRICS_FILE, describe_skipped_updates, read_metrics

if TYPE_CHECKING:
    from tune_experiments.play.loading import LoadedPolicy

FRAME_SECONDS = 0.1
_WORLD_ID = re.compile(r"[\w.:]+-v\d+")
PathArg = Annotated[Path, tyro.conf.Positional]


@dataclass(frozen=True)
class PolicyArgs:
    """A trained team."""

    path: PathArg
    """Run folder, trial folder or checkpoint of the team."""
    allow: tuple[str, ...] = ()
    """Modules outside Concord that may be imported if the checkpoint names them."""


@dataclass(frozen=True)
class DeviceArgs(PolicyArgs):
    """A trained team on a device."""

    device: DeviceChoice = "auto"
    """Device of the team's networks: auto (a GPU if available), cpu, or cuda (an error without a GPU)."""


@dataclass(frozen=True)
class Evaluate(DeviceArgs):
    """Play the experiment's test episodes with a trained team and print its row of the table."""


@dataclass(frozen=True)
class Play(DeviceArgs):
    """Print an episode: texts, messages, actions and rewards. Of sixteen, a solved one of median length is chosen."""

    seed: int = SEED
    """Seed of the sixteen episodes to choose from, or of a game with a person, at least 0."""
    decentralised: bool = False
    """Whether each agent runs in a process of its own and exchanges only messages; the episode is the same."""
    human: str = ""
    """Name of an agent that a person plays in the browser, such as agent_0; the team plays the others."""
    port: int = 0
    """Port on this machine that the game is served at, 0 to 65535; 0 takes any free one."""
    record: Path = Path("human_episodes")
    """Folder for the episodes that the person plays."""


@dataclass(frozen=True)
class Show(DeviceArgs):
    """Write an HTML page of episodes: all methods of a run, or teams side by side."""

    path: PathArg
    """Run folder, whose methods are all shown, or trial folder or checkpoint of one team."""
    beside: Path | None = None
    """Another team, or run, that plays the same starts and is shown beside the first."""
    seed: int = SEED
    """Seed of the starts that every team plays, at least 0."""
    episodes: int = 3
    """Number of starts, at least 1 and at most 64."""
    out: Path | None = None
    """File of the page, which replaces an older page; by default episodes.html in the run folder, or in the current
    folder."""


@dataclass(frozen=True)
class Render(DeviceArgs):
    """Write a video of an episode, chosen as by `play`, or of a match of scripted policies."""

    path: PathArg
    """Run folder, trial folder or checkpoint of the team; with --policies the id of a world, such as minirts-v0."""
    policies: tuple[str, ...] = ()
    """Names of scripted policies that play a match in a world, one per side, such as medium strong."""
    seed: int = SEED
    """Seed of the sixteen episodes to choose from, or of the match, at least 0."""
    out: Path | None = None
    """File of the new video, which ends in .gif or .mp4; by default a GIF beside the checkpoints, and for a match or a
    team of the package in the current folder."""
    scale: int = 1
    """Factor by which each pixel is repeated, at least 1."""


@dataclass(frozen=True)
class ExportAdapters(PolicyArgs):
    """Write a team's adapters of a language model as folders that peft reads."""

    out: Path | None = None
    """New folder for the adapters; by default it lies beside the checkpoints, and for a team of the package in the
    current folder."""


@dataclass(frozen=True)
class Pack:
    """Add a trained team to the package, with a model card, for load_policy("pretrained/NAME")."""

    path: PathArg
    """Trial folder or checkpoint of the team, in a run folder with results; or the run folder, for its first method."""
    name: tyro.conf.Positional[str]
    """Name of the new team: letters, digits and underscores."""
    given: str
    """Sentence on what the team was given in addition to observations and rewards."""
    seed_choice: str
    """Sentence on how its seed was chosen among those that were trained."""
    title: str = ""
    """Short title of the team on pages; by default its name."""
    out: Path = PRETRAINED
    """Folder that the new team's folder goes into."""
    allow: tuple[str, ...] = PolicyArgs.allow
    """Modules outside Concord that may be imported if the checkpoint names them."""


@dataclass(frozen=True)
class Doctor(PolicyArgs):
    """Report the bottleneck of a trial, flags to try, and a check of its environment."""


def evaluate(command: Evaluate, console: Console) -> None:
    """Print the test results of a checkpoint."""
    from rl_models.text.weights_identity import model_identities
    from tune_experiments.core.config_path import grown_in, with_overrides
    from tune_experiments.play.loading import load_policy
    from tune_experiments.run.final_evaluation import evaluate_all, make_evaluations, make_results
    from tune_experiments.run.run_folder import CONFIG_FILE, MODELS, describe_models, read_config, with_model_notes

    loaded = load_policy(command.path, command.allow, command.device)
    config, run = loaded.config, loaded.trial_folder and loaded.trial_folder.parent.parent
    if run and (run / CONFIG_FILE).is_file():  # the run may have been continued with more test episodes
        config = with_overrides(config, grown_in(read_config(run)[1], config))
    experiment, curriculum = loaded.experiment, loaded.curriculum
    stage = f", stage {curriculum.label}" if curriculum.is_staged else ""
    console.print(f"{experiment.name}: {loaded.method}, seed {loaded.seed}, {loaded.env_steps:,} env steps{stage}")
    rows, trained = [], curriculum.plan.trained_env_steps(loaded.env_steps)
    found = make_evaluations(experiment, config, loaded.method, curriculum, loaded.trial_folder)
    for tested, episodes in evaluate_all(found, loaded.method, loaded.policy):
        rows += make_results(experiment, loaded.method, loaded.seed, tested, episodes, trained)
    models = describe_models([{MODELS: model_identities(loaded.config)}])
    for table in with_model_notes(loaded.experiment.tables(rows), models):
        console.print(table.for_terminal(console.width), crop=False)


def play(command: Play, console: Console) -> None:
    """Print an episode step by step."""
    from tune_experiments.play.loading import find_checkpoint, load_policy

    of_game = [flag for flag in ("port", "record") if getattr(command, flag) != getattr(Play, flag)]
    if command.human and command.decentralised:
        raise UserError("--decentralised cannot be combined with --human: remove one of them")
    if of_game and not command.human:
        raise UserError(f"--{of_game[0]} is for a game with a person: add --human AGENT, or remove it")
    checkpoint = find_checkpoint(command.path, command.allow)
    loaded = load_policy(checkpoint, command.allow, command.device)
    if command.human:
        _play_in_browser(loaded, command, console)
        return
    apart = command.decentralised
    lines = play_decentralised(loaded, checkpoint, command.seed) if apart else describe_episode(loaded, command.seed)
    with contextlib.closing(lines):
        for line in lines:
            console.print(line)


def _play_in_browser(loaded: LoadedPolicy, command: Play, console: Console) -> None:
    """Serve a game with a person and keep its episodes."""
    from tune_experiments.play.game.human_game import HumanGame

    try:
        from tune_experiments.play.game.server import serve
    except ModuleNotFoundError as error:
        raise UserError(f"a game in the browser needs {error.name}: {installing('play')}") from error
    if not 0 <= command.port < 2**16:
        raise UserError(f"--port must be 0 to 65535, not {command.port}")
    game = HumanGame(loaded, command.human, command.seed, command.record)
    for line in game.missing():
        console.print(line)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(game, command.port, console.print))


def show(command: Show, console: Console) -> None:
    """Write the page of a run or of teams."""
    from tune_experiments.play.show import MAX_EPISODES, PAGE, check_page_path, load_teams, write_page
    from tune_experiments.run.run_folder import CONFIG_FILE

    if not 1 <= command.episodes <= MAX_EPISODES:
        raise UserError(f"--episodes must be 1 to {MAX_EPISODES}, not {command.episodes}")
    out = command.out or (command.path / PAGE if (command.path / CONFIG_FILE).exists() else Path(PAGE))
    check_page_path(out)
    paths = [command.path] if command.beside is None else [command.path, command.beside]
    found = [load_teams(path, command.allow, command.device) for path in paths]
    teams = [team for loaded, _ in found for team in loaded]
    with _draw_errors("page"), _write_errors(out):
        drawn = write_page(out, teams, command.seed, command.episodes, command.beside is not None)
    for line in describe_drawings([*drawn, *(one for _, missing in found for one in missing)]):
        console.print(line)


def render(command: Render, console: Console) -> None:
    """Write an episode, or a match, as a video."""
    from tune_experiments.play.loading import find_checkpoint, load_policy
    from tune_experiments.play.video import write_video

    scale = command.scale
    if scale < 1:
        raise UserError(f"--scale must be at least 1, not {scale}")
    if command.policies:
        world_id = str(command.path)
        default = Path(f"{world_id.replace(':', '.')}_{'_'.join(command.policies)}_{command.seed}.gif")
        match = (world_id, command.policies, command.seed)
        _write_video(lambda out: write_match(*match, out, scale), command, default, console)
        return
    if _WORLD_ID.fullmatch(str(command.path)) and not command.path.exists():
        raise UserError(f"a match in {command.path} needs its sides: render {command.path} --policies NAME NAME")
    checkpoint = find_checkpoint(command.path, command.allow)
    loaded = load_policy(checkpoint, command.allow, command.device)
    of_package = PRETRAINED in checkpoint.parents
    name = checkpoint.parent.parent.name if of_package else trial_name(loaded.method, loaded.seed)
    default, frames = _output_folder(checkpoint) / f"{name}.gif", loaded.experiment.video
    _write_video(lambda out: write_video(frames(loaded, command.seed), out, scale=scale), command, default, console)


@contextlib.contextmanager
def _write_errors(out: Path, errors: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Turn errors of writing a file or folder into a sentence that names --out."""
    try:
        yield
    except errors as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise UserError(f"{out} cannot be written ({reason}): name another with --out") from error


@contextlib.contextmanager
def _draw_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UserError(f"no {what}: {short_reason(error)}; use `play` to print an episode") from error


def _output_folder(checkpoint: Path) -> Path:
    """Folder of files made from a team: its trial's folder, or for a team of the package the current one."""
    return Path() if PRETRAINED in checkpoint.parents else checkpoint.parent.parent


def _write_video(write: Callable[[Path], Path], command: Render, default: Path, console: Console) -> None:
    """Write a video to the named file or the default one, of which only one beside checkpoints may already exist."""
    from tune_experiments.play.video import SUFFIXES

    out = command.out or default
    if out.suffix.lower() not in SUFFIXES:
        raise UserError(f"--out must end in {' or '.join(SUFFIXES)}, not {str(out)!r}")
    is_beside_checkpoints = command.out is None and default.is_absolute()
    if out.exists() and not is_beside_checkpoints:
        raise UserError(f"{out} already exists: name a new file with --out")
    check_folder(out.parent, "--out")
    with _draw_errors("video"), _write_errors(out):
        written = write(out)
    console.print(f"wrote {written}")


def export_adapters(command: ExportAdapters, console: Console) -> None:
    """Write what another library reads."""
    from tune_experiments.play.loading import find_checkpoint, load_policy

    checkpoint = find_checkpoint(command.path, command.allow)
    loaded = load_policy(checkpoint, command.allow, "cpu")
    out = command.out or _output_folder(checkpoint) / "adapters"
    if out.exists():
        raise UserError(f"{out} already exists: name a new folder with --out")
    with _write_errors(out):
        written = loaded.experiment.export(loaded, out)
    for path in written:
        console.print(f"wrote {path}")


def pack_team(command: Pack, console: Console) -> None:
    """Write the folder of a team of the package."""
    from rl_models.training.checkpoint import CheckpointError
    from tune_experiments.play.pretrained import CARD, folder_bytes, pack

    with _write_errors(command.out, (OSError, CheckpointError)):
        written = pack(
            command.path, command.name, command.given, command.seed_choice, command.title, command.out, command.allow
        )
    card = read_json(written / CARD)
    console.print(f"wrote {written}: {card['method']}, seed {card['seed']}, {folder_bytes(written):,} bytes")


def doctor(command: Doctor, console: Console) -> None:
    """Print the breakdown of a trial's time, flags to try, and a check of its environment."""
    from tune_experiments.play.loading import find_checkpoint
    from tune_experiments.run.speed import examine

    checkpoint = find_checkpoint(command.path, imports=False)
    log = checkpoint.parent.parent / METRICS_FILE
    if not log.exists():
        raise UserError(f"{command.path} has no {METRICS_FILE} (packaged teams have none): name a run or a trial")
    rows = read_metrics(log)
    console.print(describe_skipped_updates(rows))
    for line in examine(checkpoint, rows, command.allow):
        console.print(line)


def write_match(world_id: str, policies: Sequence[str], seed: int, out: Path, scale: int = 1) -> Path:
    """Play a match and write it as a video; UserError for an unknown world or policy, or one without matches."""
    from tune_experiments.play.video import write_video

    try:
        frames = getattr(make(world_id), "match_frames", None)
        if frames is None:
            raise UserError(f"{world_id} offers no matches of scripted policies: name another world with --policies")
        return write_video(list(frames(policies, seed)), out, FRAME_SECONDS, scale)
    except ValueError as error:
        raise UserError(str(error)) from error
