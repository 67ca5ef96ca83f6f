"""The manual of prompts and policies: the game's own, or one that the planner's model writes from a paper's LaTeX.

A written one tells the rules; the map is always the game's own. It is written when a trial begins, into the trial's
folder, and tests and videos of the team read it there: no model is asked for it again.
"""

from __future__ import annotations

from pathlib import Path

from rl_models.planners.calling import Caller
from rl_models.planners.manual import LatexError, read_paragraphs, write_manual
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.sama.planner_config import PlannedGame, PlannerConfig

FILE = "manual.txt"
_MAX_BYTES = 100_000


def read_paper(config: PlannerConfig) -> list[str]:
    """Paragraphs of the paper that `--manual` names.

    Raises:
        UserError: it cannot be read, or holds no prose.
    """
    try:
        found = read_paragraphs(Path(config.manual))
    except LatexError as error:
        raise UserError(str(error)) from error
    if not found:
        raise UserError(f"{config.manual} holds no paragraph of prose: give --manual the LaTeX of a paper's text")
    return found


def prepare_manual(config: PlannerConfig, caller: Caller, game: PlannedGame, trial_folder: Path | None) -> None:
    """Have the manual written where one is wanted that is not there yet.

    Raises:
        UserError: the paper does not tell how the game is played.
    """
    path = _path(config, trial_folder)
    if path is None or path.exists():
        return
    try:
        text = write_manual(caller, game.name, read_paper(config), game.domain)
    except ValueError as error:
        raise UserError(f"{config.manual}: {error}") from error
    write_atomically(path, f"{text}\n")


def read_manual(config: PlannerConfig, task: str, trial_folder: Path | None) -> str:
    """Rules and map of a task's game; its own where there is no trial yet, as when weights are counted.

    Raises:
        UserError: the manual was to be written and is not there.
    """
    game, path = config.game(task), _path(config, trial_folder)
    if path is None:
        return game.domain.manual
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return f"{file.read(_MAX_BYTES).strip()}\n{game.map}"
    except OSError as error:
        raise UserError(
            f"the trial's manual {path} cannot be read ({error.strerror}): copy it along with the checkpoints"
        ) from error


def _path(config: PlannerConfig, trial_folder: Path | None) -> Path | None:
    """Path of a trial's written manual; None if the trial has none."""
    return trial_folder / FILE if config.manual and trial_folder is not None else None
