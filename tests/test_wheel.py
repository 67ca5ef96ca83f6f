"""A wheel works elsewhere: built from a copy, installed in an empty environment, used outside the checkout."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.own_environment import PACKAGES, interpreter_with, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[1]
PLAY = """
import json, sys
import rl_envs, rl_models, tune_experiments
from tune_experiments import load_policy

team = load_policy(sys.argv[1])
world = rl_envs.make("furnmove-v0", num_worlds=3, rooms="floorplan229")
actions = team.act(world.reset(0))
packages = [rl_envs, rl_models, tune_experiments]
print(json.dumps({"files": [package.__file__ for package in packages], "actions": actions.tolist()}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of what it is made of, so that no old build folder leaks into it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", target, source, cwd=source)
    (found,) = target.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of an environment with the wheel."""
    return interpreter_with(tmp_path_factory.mktemp("environment"), wheel)


def test_the_wheel_has_every_file_of_the_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    paths = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()]
    assert shipped == {path.relative_to(ROOT).as_posix() for path in paths if path.parent.name != "__pycache__"}


def test_an_experiment_runs_outside_the_checkout_and_its_team_plays_in_another_folder(python, tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    command = (python, "-m", "tune_experiments", "furnmove_sync", "--preset", "smoke", "--out", "run")
    run(*command, cwd=here)
    rows = [json.loads(line) for line in (here / "run" / "results.jsonl").read_text().splitlines()]
    assert {"sync_13_cordial", "marginal"} <= {row["method"] for row in rows}

    said = json.loads(run(python, "-c", PLAY, here / "run" / "trials" / "marginal-seed0", cwd=elsewhere))
    environment = python.parent.parent
    assert all(Path(file).is_relative_to(environment) for file in said["files"])
    assert [len(actions) for actions in said["actions"]] == [2, 2, 2]
    assert "success" in run(python, "-m", "tune_experiments", "table", here / "run", cwd=elsewhere).lower()
