"""Which recordings the golden tests replay: our own small ones, and those of GOLDEN_DIR where it is set.

`GOLDEN_DIR=<folder> pytest tests/golden` replays every file of the schema that it finds in `<folder>/<world>`. Without
it the recordings of our own are replayed, so a change of the rules always fails.

Whoever sets GOLDEN_DIR is told by a failure where it is not there, where a world's folder in it holds no file or one
that is not of its schema, and (conftest.py) where nothing in it is replayed. A world without a folder in it is skipped
by name, unless `-k` asks for that world. Ours were played by the worlds themselves; the programs that wrote them are in
the history (`git log -- tests/golden/record.py`).
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

OWN = Path(__file__).parent / "recordings"
SCHEMAS = {
    "furnlift": ("episodes*.jsonl", "losses*.jsonl", "rooms*.json", "coordination*.json", "*_floors.json"),
    "furnmove": ("traj_n*.npz", "losses.npz"),
    "messenger": ("*_stage[123].npz", "stats*.npz"),
    "minirts": ("*.npz",),
    "overcooked": ("*.npz",),
    "rtfm": ("*_[0-9]*.npz", "stats.npz"),
    "salad": ("*.npz",),
}
"""World -> names of its files; a README may lie beside them."""


def golden_dir():
    """The folder of GOLDEN_DIR, None where it is not set; a failure where it is set and not there."""
    named = os.environ.get("GOLDEN_DIR")
    if named and not Path(named).is_dir():
        pytest.fail(f"GOLDEN_DIR={named} is not a folder: correct it, or unset it", pytrace=False)
    return Path(named) if named else None


def files_of(world, pattern, but="-"):
    """(id, path) of a world's files, but not of another pattern; ours lie in its folder, FurnMove's beside those."""
    paths, golden = sorted((OWN / world if world != "furnmove" else OWN).glob(pattern)), golden_dir()
    if golden and (golden / world).is_dir():
        check_folder(golden / world)
        paths += sorted((golden / world).glob(pattern))
    return [(f"{path.parent.name}-{path.stem}", path) for path in paths if not path.match(but)]


def own_or_golden(pattern, world="furnmove", but="-"):
    """The same as test cases, and one for the whole world where GOLDEN_DIR lacks it."""
    cases, golden = [pytest.param(path, id=name) for name, path in files_of(world, pattern, but)], golden_dir()
    if golden and not (golden / world).is_dir():
        cases.append(unreplayed(world, f"GOLDEN_DIR={golden} holds no folder {world}"))
    return cases


def measured(world, pattern):
    """(file, groups of the match) of every measurement in a world's statistics whose name matches, as test cases."""
    return [
        pytest.param(path, *found.groups(), id=f"{file} {found[0]}")
        for file, path in files_of(world, "stats*.npz")
        for name in np.load(path, allow_pickle=False).files
        if (found := re.fullmatch(pattern, name))
    ]


def of_setting(path, name):
    """What a file of statistics says of a setting."""
    with np.load(path, allow_pickle=False) as file:
        return {key.removeprefix(f"{name}_"): file[key] for key in file.files if key.startswith(f"{name}_")}


def worlds_without_an_engine():
    """One case for each folder of GOLDEN_DIR of a world that is not here."""
    golden = golden_dir()
    folders = sorted(path.name for path in golden.iterdir() if path.is_dir()) if golden else ()
    said = f"GOLDEN_DIR={golden} holds a folder {{}}, and no engine here replays it"
    return [unreplayed(world, said.format(world)) for world in folders if world not in SCHEMAS]


def unreplayed(world, reason):
    """A case that is skipped, or fails if `-k` asks for that world (conftest.py)."""
    return pytest.param(None, id=f"{world}-none", marks=pytest.mark.unreplayed(world, reason))


def check_folder(folder):
    """Fail unless a world's folder holds files of its schema and no other."""
    schema = SCHEMAS[folder.name]
    names = [path.name for path in folder.iterdir() if path.suffix != ".md"]
    wrong = [name for name in names if not any(Path(name).match(pattern) for pattern in schema)]
    if wrong or not names:
        found = ", ".join(sorted(wrong)) or "no recording"
        said = f"GOLDEN_DIR: {folder} holds {found}; its files are called {' or '.join(schema)}"
        pytest.fail(said, pytrace=False)
