"""A user's modules are found in the current folder, and no file there hides an installed module."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rl_envs.wrappers import from_pettingzoo
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.core.import_path import append_current_folder

ROOT = Path(__file__).resolve().parents[3]
HIDING = ("random", "statistics", "torch", "tyro", "pettingzoo")
ENVIRONMENT = """
from {errands} import Errands
import {beside}
def parallel_env(**arguments):
    import random, statistics
    random.random(), statistics.mean([1])
    return Errands(**arguments)
"""


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """The current folder, with an environment and files that are called like installed modules and fail."""
    for name in HIDING:
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('the user\\'s {name}.py hides a module')")
    shutil.copy(ROOT / "examples" / "errands.py", tmp_path / "own_errands.py")
    text = ENVIRONMENT.format(errands="own_errands", beside="beside_play")
    (tmp_path / "play.py").write_text(text)  # as a folder of ours is called
    (tmp_path / "beside_play.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.mark.parametrize("first", ["the current folder", "the folder of our scripts"])
def test_the_current_folder_comes_after_all_others(own_folder, first):
    implicit = str(own_folder if first == "the current folder" else ROOT / "tune_experiments")
    others = list(sys.path)
    sys.path.insert(0, implicit)
    append_current_folder()
    append_current_folder()
    assert sys.path == [*others, str(own_folder)]


def test_the_folder_that_holds_our_packages_stays_where_it_is(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), "/elsewhere"])
    append_current_folder()
    assert sys.path == [str(ROOT), "/elsewhere"]
    monkeypatch.setattr(sys, "path", [str(ROOT / "tune_experiments"), "/elsewhere"])
    append_current_folder()
    assert sys.path == ["/elsewhere", str(ROOT)]


@pytest.mark.processes
def test_processes_of_environments_look_where_this_one_does(own_folder):
    append_current_folder()
    from play import parallel_env  # in the current folder

    world = from_pettingzoo(parallel_env, 2, num_processes=2)
    try:
        assert set(world.reset(0)) >= {"note"}
    finally:
        world.close()


@pytest.mark.processes
@pytest.mark.long
def test_a_script_finds_the_environment_of_the_current_folder(own_folder):
    """So does `python -m tune_experiments`: test_fresh_clone.py."""
    command = [sys.executable, str(ROOT / "tune_experiments" / "train.py")]
    flags = ["--env", "play:parallel_env", "--env-arguments", '{"no_such_argument": 1}', "--preset", "smoke"]
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*command, *flags], capture_output=True, text=True, env=known, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 2, done.stderr
    assert "play:parallel_env" in done.stderr and "no_such_argument" in done.stderr, "it was found, and called"
