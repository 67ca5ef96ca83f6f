"""Environments are usable without the libraries of training."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.processes
def test_importing_the_environments_brings_in_numpy_alone():
    code = (
        "import sys, rl_envs, rl_envs.testing, rl_envs.matrix_game.world\n"
        "heavy = {'torch', 'ray', 'gymnasium', 'pettingzoo', 'numba', 'rl_envs.wrappers', 'rl_models'}\n"
        "heavy |= {'tune_experiments'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert answer.stdout.strip() == "[]"
