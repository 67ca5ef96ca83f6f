"""Compiled code lies only where nobody else can write, and without such a place everything works."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rl_envs import minirts
from rl_envs.core.compiled import CACHE_VARIABLE, KEPT_FOLDERS, cache_folder, entry

SOURCES = Path(minirts.__file__).parent


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder of the user's own, in which compiled code is kept."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    return tmp_path / "cache"


def test_a_folder_that_others_can_write_holds_no_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with pytest.warns(UserWarning, match="CONCORD_CACHE"):
        assert cache_folder(SOURCES) is None


def test_the_folder_is_the_users_alone_whatever_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "new" / "cache"))
    before = os.umask(0)
    try:
        folder = cache_folder(SOURCES)
    finally:
        os.umask(before)
    assert folder.parent == tmp_path / "new" / "cache"
    assert (folder.parent.stat().st_mode | folder.stat().st_mode) & 0o077 == 0


def test_without_a_folder_an_entry_is_compiled_in_memory(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))

    def doubled(number):
        return 2 * number

    with pytest.warns(UserWarning, match="CONCORD_CACHE"):
        assert cache_folder(SOURCES) is None
    assert entry(doubled)(4) == 8


def folder_of(root, number, seconds, content="kernel.nbc"):
    """A folder as another version of the sources leaves it, used so many seconds ago."""
    folder = root / f"minirts-{number:016x}"
    (folder / "minirts_0").mkdir(parents=True)
    (folder / "minirts_0" / content).touch()
    os.utime(folder, (time.time() - seconds,) * 2)
    return folder


def test_folders_of_other_versions_go_but_for_the_last_used_ones(cache):
    folders = [folder_of(cache, number, 1000 * number) for number in range(1, KEPT_FOLDERS + 3)]
    assert cache_folder(SOURCES) is not None
    assert [folder.exists() for folder in folders] == [True] * KEPT_FOLDERS + [False] * 2


def test_nothing_is_removed_that_the_compiler_did_not_write(cache, tmp_path):
    foreign = folder_of(cache, 99, 10**6, "thesis.txt")
    (cache / "minirts-notes").mkdir()
    elsewhere = folder_of(tmp_path / "elsewhere", 98, 10**6)
    (cache / elsewhere.name).symlink_to(elsewhere)
    for number in range(1, KEPT_FOLDERS + 2):
        folder_of(cache, number, 1000 * number)
    assert cache_folder(SOURCES) is not None
    assert (foreign / "minirts_0" / "thesis.txt").exists()
    assert (cache / "minirts-notes").exists()
    assert (elsewhere / "minirts_0" / "kernel.nbc").exists()


def package_of(folder, number):
    """A package of kernels, of which one constant stands in another file, and that of another one in a third."""
    sources = folder / "games" / "hall"
    sources.mkdir(parents=True)
    for path, text in (
        ("__init__.py", ""),
        ("hall/__init__.py", ""),
        ("hall/kernels.py", "from games.hall import walls\nfrom rl_envs.core.compiled import kernel\n"),
        ("hall/walls.py", "from games.metres import (\n    METRES,\n)\nHEIGHT = 3 * METRES\n"),
        ("hall/render.py", f"COLOUR = {number}\n"),
        ("metres.py", f"METRES = {number}\n"),
    ):
        (folder / "games" / path).write_text(text)
    return sources


def test_code_is_compiled_anew_when_a_constant_of_another_file_changes(cache, tmp_path):
    one, same, other = (package_of(tmp_path / name, number) for name, number in (("a", 1), ("b", 1), ("c", 2)))
    (same / "render.py").write_text("COLOUR = 5\n")
    names = [cache_folder(sources).name for sources in (one, same, other)]
    assert names[0] == names[1] != names[2]


def test_every_compiled_function_is_kept_by_all_that_it_is_compiled_from():
    """Numba itself keeps it by the one file in which it stands."""
    sources = Path(minirts.__file__).parents[1]
    compiled = [path for path in sources.rglob("*.py") if "njit" in path.read_text()]
    assert compiled == [sources / "core" / "compiled.py"]


MODULE = """
import sys
from rl_envs.core.compiled import entry

@entry
def total(numbers):
    found = 0
    for k in range(len(numbers)):
        found += numbers[k] % 7
    return found

if __name__ == "__main__":
    import numpy as np
    print(total(np.arange(100)), sum(total.stats.cache_hits.values()))
"""


def started(tmp_path, code):
    """A process with a fresh cache beside its code, which must not be written to."""
    environment = os.environ | {CACHE_VARIABLE: str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen([sys.executable, *code], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.processes
def test_two_processes_may_compile_at_once_and_a_later_one_loads(tmp_path):
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "kernels.py").write_text(MODULE)
    path = str(tmp_path / "installed" / "kernels.py")
    both = [started(tmp_path, [path]) for _ in range(2)]
    assert [process.communicate()[0].split()[0] for process in both] == ["295", "295"]
    assert [process.returncode for process in both] == [0, 0]
    assert started(tmp_path, [path]).communicate()[0].split() == ["295", "1"]
    assert [file.name for file in (tmp_path / "installed").rglob("*")] == ["kernels.py"]
