"""The private names of Ray that Concord touches stand in one file, and the installed Ray has all of them."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from rl_models.rllib.private_ray import PRIVATE_NAMES

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / "rl_models/rllib/private_ray.py"
HOME_OF_TESTS = ROOT / "tests/private_ray.py"
FILES = [
    path
    for folder in ("rl_models/rllib", "tune_experiments", "cluster", "benchmarks", "examples", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path not in (HOME, HOME_OF_TESTS)
]


@pytest.mark.parametrize("place", PRIVATE_NAMES)
def test_the_installed_ray_has_every_private_name_that_is_touched(place):
    module, _, name = place.partition(":")
    found = getattr(importlib.import_module(module), name)
    bases = [] if inspect.ismodule(found) else [base for base in found.__mro__ if base.__module__.startswith("ray")]
    source = "".join(map(inspect.getsource, bases))
    missing = [one for one in PRIVATE_NAMES[place] if not hasattr(found, one) and f"self.{one}" not in source]
    assert not missing, f"{place} of this Ray has no {missing}: rl_models/rllib/private_ray.py needs another way"


def touched(path):
    """Private names of Ray in a file, and private modules of Ray that it imports."""
    known = {name for names in PRIVATE_NAMES.values() for name in names if name.startswith("_")}
    if "rllib" not in path.parts:  # where nothing is derived from RLlib's classes, functions of ours may be called so
        known -= {"_sample", "_forward", "_update"}
    text = path.read_text()
    if not any(name in text for name in (*known, "import ray", "from ray")):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in known:
            yield node.attr
        elif isinstance(node, ast.FunctionDef) and node.name in known:
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            names = [f"{module}.{alias.name}" for module in modules for alias in node.names]
            yield from (name for name in names if name.startswith("ray.") and "._" in name)


def test_no_other_file_touches_them():
    found = {path.relative_to(ROOT).as_posix(): sorted(set(touched(path))) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_every_listed_name_is_used():
    text = HOME.read_text()
    unused = [name for names in PRIVATE_NAMES.values() for name in names if name[0] == "_" and text.count(name) < 2]
    assert unused == []
