"""The page of a run or of teams, which all play the same starts: written by `show` and at the end of every run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.configuration import DeviceChoice
from tune_experiments.core.drawing import Drawn, Missing, short_reason
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, read_json, write_atomically
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.episode import MAX_STEPS
from tune_experiments.play.loading import LoadedPolicy, first_checkpoint, load_policy
from tune_experiments.play.pretrained import CARD
from tune_experiments.play.recording import SEED
from tune_experiments.play.viewer.page import Curves, ShownTeam, render_page
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.run.run_folder import CONFIG_FILE
from tune_experiments.run.stored_run import StoredRun

PAGE = "episodes.html"
PAGE_MAX_STEPS = 160
"""Env steps of an episode on the page that a run writes at its end."""
GENERATOR = b'content="Concord, page of episodes"'
MAX_EPISODES = 64
_POINTS = 120
_MAX_CURVES = 40
_GROUPS = ("episode/", "valid/", "policy/", "loss/")


def load_teams(
    path: Path, allow: Sequence[str] = (), device: DeviceChoice = "auto"
) -> tuple[list[LoadedPolicy], list[Missing]]:
    """The team of each method of a run folder, and methods without one; or the one team of a path.

    Raises as `load_policy` does.
    """
    if not (path / CONFIG_FILE).exists():
        return [load_policy(path, allow, device)], []
    run = StoredRun.open(path, allow)
    trials = run.trials
    found = {method: first_checkpoint(trials.get(method, {})) for method in run.experiment.methods(run.config)}
    missing = [Missing(method, f"{path} has no checkpoint of it") for method, one in found.items() if one is None]
    checkpoints = list(filter(None, found.values()))
    return [load_policy(one, allow, device) for one in checkpoints or [path]], missing


def shown_team(loaded: LoadedPolicy, name: str, seed: int, episodes: int, max_steps: int = MAX_STEPS) -> ShownTeam:
    """A team with recorded episodes and learning curves."""
    about, title = f"trained for {loaded.env_steps:,} env steps", team_title(loaded)
    if title:
        about = f"{trial_name(loaded.method, loaded.seed)} of {loaded.experiment.name}, {about}"
    recorded = loaded.experiment.episodes(loaded, seed, episodes, max_steps)
    log = None if loaded.trial_folder is None else loaded.trial_folder / METRICS_FILE
    curves = {} if log is None or not log.exists() else read_curves(log, tuple(loaded.experiment.columns.values()))
    return ShownTeam(title or name, about, recorded, curves, _card(loaded).get("given", ""))


def page_title(teams: Sequence[LoadedPolicy]) -> str:
    """Heading of a page on these teams: what they play."""
    return ", ".join(dict.fromkeys(team.experiment.page_title(team.config) for team in teams))


def team_title(loaded: LoadedPolicy) -> str:
    """Title on the card of a packaged team, or its name there; empty for another team."""
    card = _card(loaded)
    return str(card.get("title", card.get("name", "")))


def _card(loaded: LoadedPolicy) -> dict[str, Any]:
    """The card of a packaged team; empty for another one."""
    path = None if loaded.trial_folder is None else loaded.trial_folder / CARD
    return read_json(path) if path is not None and path.exists() else {}


def unique_names(teams: Sequence[LoadedPolicy]) -> list[str]:
    """Names of the teams' trials; where two are equal, the distinguishing parts of their folders' paths.

    Checkpoints of one trial have one folder, so their names say how long they were trained.
    """
    trials = [trial_name(team.method, team.seed) for team in teams]
    folders = [team.trial_folder.resolve().parts if team.trial_folder else () for team in teams]
    paths = [["/".join(parts[-length:]) for parts in folders] for length in range(1, max(map(len, folders)) + 1)]
    long = [f"{name}, {team.env_steps:,} env steps" for name, team in zip(trials, teams, strict=True)]
    return next((names for names in (trials, *paths) if len(set(names)) == len(teams)), long)


def check_page_path(out: Path) -> None:
    """Refuse (UserError) a folder that cannot be written, and to overwrite a file that is not a page of episodes."""
    check_folder(out.parent, "--out")
    if out.exists() and not (out.is_file() and GENERATOR in out.read_bytes()[:4096]):
        raise UserError(f"{out} already exists and is not a page of episodes: name another file with --out")


def write_page(
    out: Path,
    teams: Sequence[LoadedPolicy],
    seed: int = SEED,
    episodes: int = 1,
    beside: bool = False,
    max_steps: int = MAX_STEPS,
) -> list[Drawn]:
    """Let each team play from the same starts and write the page: its path, and what is missing in it.

    If no team can be recorded, the first error is raised.
    """
    shown: list[ShownTeam] = []
    played: list[LoadedPolicy] = []
    missing: list[Drawn] = []
    failures: list[Exception] = []
    for team, name in zip(teams, unique_names(teams), strict=True):
        try:
            shown.append(one := shown_team(team, name, seed, episodes, max_steps))
        except Exception as error:
            failures.append(error)
            missing.append(Missing(f"{name} in {out.name}", short_reason(error)))
        else:
            played.append(team)
            parts = dict(part for episode in one.episodes for part in episode.missing.items())
            missing += [Missing(f"{part} in {out.name}", why) for part, why in parts.items()]
    if not shown:
        raise failures[0]
    note = "All teams play the same episodes: the first ones of a seed, not chosen by their outcome."
    are_alike = len({tuple(episode.start for episode in one.episodes) for one in shown}) == 1
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, render_page(page_title(played), shown, note if are_alike and len(shown) > 1 else "", beside))
    return [out, *missing]


def read_curves(log: Path, first: Sequence[str] = ()) -> Curves:
    """Curves of a trial's log, each averaged to at most 120 points: the named metrics first, then the usual groups."""
    rows = read_metrics(log)
    names = dict.fromkeys(first) | dict.fromkeys(
        name for group in _GROUPS for name in sorted({key for row in rows for key in row}) if name.startswith(group)
    )
    found = {name: _curve(rows, name) for name in names}
    return dict([(name, points) for name, points in found.items() if points][:_MAX_CURVES])


def _curve(rows: Sequence[Mapping[str, float]], name: str) -> list[tuple[float, float]]:
    points = np.array([(row["env_steps"], row[name]) for row in rows if np.isfinite(row.get(name, np.nan))])
    if not len(points):
        return []
    parts = np.array_split(points, min(len(points), _POINTS))
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in parts]
