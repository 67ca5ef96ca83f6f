"""A user's own modules, which a job uploads with the checkout, and packages that must be installed on the nodes.

A run imports its experiment, its environment and other modules by name. Those outside the checkout are uploaded, with
the modules in their folder that they import; installed packages are not, because they may be built for one machine.
"""

import contextlib
import importlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from modulefinder import ModuleFinder
from pathlib import Path
from typing import NamedTuple

from tune_experiments.core.errors import UserError, one_line

ROOT = Path(__file__).resolve().parents[1]
UPLOADED = ("cluster", "examples", "rl_envs", "rl_models", "tune_experiments")
"""Packages of the checkout that every job has; `.rayignore` excludes the others."""
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_INSTALLED = ("site-packages", "dist-packages")


class UserCode(NamedTuple):
    """Files and folders to upload, and names of distributions that the nodes must have."""

    uploads: list[str]
    installed: list[str]


def user_code(modules: Iterable[str]) -> UserCode:
    """The code of these modules, which are imported; other texts are ignored.

    Raises UserError where a module cannot be imported here, so it would fail on the node.
    """
    waiting = [module for module in modules if _MODULE.fullmatch(module)]
    for module in waiting:
        _import(module)
    uploads: dict[str, None] = {}
    seen: set[str] = set()
    installed: set[str] = set()
    while waiting:
        module = waiting.pop()
        top = module.partition(".")[0]
        if module in seen or top in UPLOADED or top in sys.stdlib_module_names:
            continue
        seen.add(module)
        place = _place(top)
        if place is None:
            installed.add(top)
        else:
            beside, elsewhere = _imports(module, place)
            uploads |= dict.fromkeys(map(str, [place, *beside]))
            waiting += elsewhere
    return UserCode(list(uploads), sorted(_distributions(installed)))


def _distributions(packages: set[str]) -> set[str]:
    """Names of the distributions of these packages, where there is one."""
    found = {one for one in packages if any(metadata.distributions(name=one))}
    if packages - found:  # it has another name; this search takes seconds
        owners = metadata.packages_distributions()
        found |= {owners[one][0].lower() for one in packages - found if one in owners}
    return found


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except Exception as error:
        raise UserError(
            f"the job needs the module {module!r}, which cannot be imported here ({one_line(error)[:200]}): fix or "
            f"install it, submit from the folder in which it lies, or add that folder to PYTHONPATH"
        ) from error


def _place(package: str) -> Path | None:
    """Folder or file of a top-level package; None if it is installed or Python's own."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module without a spec, created at run time
        return None
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        return None
    places = list(spec.submodule_search_locations or [str(spec.origin)])
    place = Path(places[0]).resolve()
    is_pythons = place.is_relative_to(Path(sysconfig.get_paths()["stdlib"]).resolve())
    return None if is_pythons or set(_INSTALLED) & set(place.parts) else place


def _imports(module: str, place: Path) -> tuple[list[Path], list[str]]:
    """Imports of a module, also in functions: paths in its folder, and names of modules elsewhere."""
    finder = ModuleFinder(path=[str(place.parent)], excludes=list(UPLOADED))
    with contextlib.suppress(ImportError):  # `from package import name`, where the name is no module
        finder.import_hook(module)
    here = [_place(top) for top in {name.partition(".")[0] for name in finder.modules}]
    return sorted(one for one in here if one is not None and one.parent == place.parent), list(finder.badmodules)
