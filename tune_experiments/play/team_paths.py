"""Paths of trained teams, those of the package among them. Importing this file loads no torch."""

import os
from pathlib import Path

from tune_experiments.core.errors import UserError

PRETRAINED = Path(__file__).parents[1] / "pretrained"
"""Teams that the package brings (`pretrained.py`), one folder each, laid out as trial folders."""


def pretrained_names() -> list[str]:
    """Names of the teams in the package."""
    return sorted(folder.name for folder in PRETRAINED.iterdir() if folder.is_dir())


def in_package(path: Path) -> Path:
    """Path of a team of the package, for `pretrained/NAME` where the current folder has no such path.

    Raises UserError where the package has no such team.
    """
    if path.parts[:1] != (PRETRAINED.name,) or len(path.parts) != 2 or path.exists():
        return path
    if path.name not in pretrained_names():
        raise UserError(f"the package has no team {path.name!r}; it has {', '.join(pretrained_names())}")
    return PRETRAINED / path.name


def stored_path(team: str) -> str:
    """The path of a team as a run stores it, which is opened from other folders: absolute, or a name of the package."""
    path = Path(team)
    is_of_package = path.parts[:1] == (PRETRAINED.name,) and not path.exists()
    return team if is_of_package or not team else os.path.abspath(os.path.expanduser(team))
