"""Environments are usable without the libraries of training, and no package loads a module before somebody asks."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TRAINING = {"torch", "ray", "rl_models"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("imports", "heavy"),
    [
        (
            "rl_envs, rl_envs.testing, rl_envs.matrix_game.world",
            TRAINING | {"gymnasium", "pettingzoo", "numba", "rl_envs.wrappers", "tune_experiments"},
        ),
        ("tune_experiments", TRAINING | {"numpy", "matplotlib", "rl_envs", "tune_experiments.core"}),
    ],
)
def test_importing_a_package_brings_in_nothing_heavy(imports, heavy):
    code = f"import sys, {imports}\nprint(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "[]"
