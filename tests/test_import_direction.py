"""Arrows point one way: worlds and models know neither each other nor their trainers; heavy libraries stay in place."""

import ast
import functools
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rl_envs", "rl_models", "tune_experiments", "cluster")
FILES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
VIEW_LIBRARIES = {"gymnasium", "pettingzoo"}


@functools.cache
def imports(path, text):
    """Every module that a file names in an import statement anywhere in it, relative ones made absolute."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(path.parent.parts[: len(path.parent.parts) - node.level + 1]) if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


def _wraps(path):
    """Whether a file gives worlds the interface of another library, or checks that."""
    return "wrappers" in (*path.parts, path.stem)


def forbidden_in(path):
    """Top-level packages that this file may not import."""
    place = path.as_posix()
    if place.startswith("rl_envs/"):
        banned = {"torch", "rl_models", "tune_experiments", "cluster"}
        banned |= set() if place == "rl_envs/wrappers/rllib.py" else {"ray"}
        banned |= set() if _wraps(path) else VIEW_LIBRARIES
        return banned | (set() if path.name == "render.py" else {"PIL"})
    if place.startswith("rl_models/"):
        banned = {"rl_envs", "tune_experiments", "cluster"}
        return banned | (set() if place.startswith("rl_models/rllib/") else {"ray"})
    if place.startswith("tune_experiments/"):
        return {"cluster"}
    return set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.as_posix())
def test_no_arrow_points_back(path):
    names = imports(path, (ROOT / path).read_text())
    wrong = sorted(name for name in names if name.split(".")[0] in forbidden_in(path))
    assert not wrong, f"{path} must not import {wrong}"


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parts[0] == "rl_envs" and "wrappers" not in (*path.parts, path.stem)],
    ids=str,
)
def test_no_world_imports_its_wrappers(path):
    wrong = sorted(name for name in imports(path, (ROOT / path).read_text()) if name.startswith("rl_envs.wrappers"))
    assert not wrong, f"{path} must not import {wrong}"


def arrows_between(name_of, packages=PACKAGES):
    """Arrows between the groups of files that `name_of` names; imports in functions and for types count too."""
    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}
    arrows = {}
    for path in (path for path in FILES if path.parts[0] in packages):
        targets = {name_of(modules[name]) for name in imports(path, (ROOT / path).read_text()) if name in modules}
        arrows.setdefault(name_of(path), set()).update(targets - {name_of(path)})
    return arrows


def place(path):
    """The room or paper of a file of the experiments; each module of the package itself is a place, too."""
    return path.parts[1] if path.parts[0] == "tune_experiments" else path.parts[0]


ROOMS = ("core", "results", "experiment", "run", "play", "search", "launch")
"""Sub-packages of the experiments, from the lowest; none of them knows a paper or a script."""
ARROWS_OF_EXPERIMENTS = arrows_between(place, ("tune_experiments",))


def test_no_file_imports_itself_by_way_of_others():
    graphlib.TopologicalSorter(arrows_between(lambda path: path.as_posix())).prepare()  # its error names the circle


def test_no_folder_of_worlds_or_models_imports_itself_by_way_of_others():
    graphlib.TopologicalSorter(arrows_between(lambda path: path.parent, ("rl_envs", "rl_models"))).prepare()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_experiments_knows_only_those_below_it(room):
    assert ARROWS_OF_EXPERIMENTS[room] <= {"rl_envs", "rl_models", *ROOMS[: ROOMS.index(room)]}


def test_the_rooms_of_the_experiments_have_these_names():
    folders = {path.parts[1] for path in FILES if path.parts[0] == "tune_experiments" and len(path.parts) > 2}
    assert set(ROOMS) <= folders


def test_no_folder_of_the_experiments_imports_itself_by_way_of_others():
    graphlib.TopologicalSorter(ARROWS_OF_EXPERIMENTS).prepare()


PARTS_OF_A_PAPER = ("config", "deviations", "domain", "evaluation", "figures", "methods", "tables", "trials")
"""What several papers have a file for, which is called so in each."""
PARTS_OF_A_GAME = ("choice", "episode_records", "executors", "features", "scene", "subgoals", "wording")
"""What each game of SAMA's planner has a file for."""


def test_no_two_files_of_the_experiments_have_the_same_name_but_parts_of_papers():
    known = {"__init__", *PARTS_OF_A_PAPER, *PARTS_OF_A_GAME}
    names = [path.stem for path in FILES if path.parts[0] == "tune_experiments" and path.stem not in known]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_two_files_of_the_models_have_the_same_name():
    names = [path.name for path in FILES if path.parts[0] == "rl_models" and path.name != "__init__.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.processes
def test_importing_the_worlds_brings_in_numpy_alone():
    code = (
        "import sys, rl_envs, rl_envs.testing, rl_envs.matrix_game.world\n"
        "heavy = {'torch', 'ray', 'gymnasium', 'pettingzoo', 'numba', 'rl_envs.wrappers', 'rl_models'}\n"
        "heavy |= {'tune_experiments'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "[]"


def test_the_walk_sees_every_kind_of_import():
    text = "import a.b\nfrom c import d\ndef f():\n    from . import e\n    from ..g import h\n"
    found = imports(Path("rl_envs/core/x.py"), text)
    assert found == {"a.b", "c", "c.d", "rl_envs.core", "rl_envs.core.e", "rl_envs.g", "rl_envs.g.h"}


@pytest.mark.parametrize(
    ("place", "module"),
    [
        ("rl_envs/core/world.py", "torch"),
        ("rl_envs/core/world.py", "PIL"),
        ("rl_envs/wrappers/gymnasium.py", "ray"),
        ("rl_envs/rtfm/world.py", "gymnasium"),
        ("rl_models/heads/value.py", "rl_envs"),
        ("rl_models/heads/value.py", "ray"),
        ("tune_experiments/furnmove_sync.py", "cluster"),
    ],
)
def test_the_rule_forbids(place, module):
    assert module in forbidden_in(Path(place))


def test_no_test_file_imports_another():
    """What several share lies in a module with a name of its own, beside them."""
    tests = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))
    modules = {".".join(path.with_suffix("").parts) for path in tests}
    texts = {path: (ROOT / path).read_text() for path in tests}
    suspects = [path for path, text in texts.items() if re.search(r"^\s*(from|import)\b.*\btest_", text, re.MULTILINE)]
    found = {path.as_posix(): imports(path, texts[path]) & modules for path in suspects}
    assert {path: names for path, names in found.items() if names} == {}
