"""The package's own names: each is there, and none is loaded before somebody asks."""

import subprocess
import sys
from pathlib import Path

import pytest

import tune_experiments

ROOT = Path(tune_experiments.__file__).parent


def test_every_public_name_is_there():
    assert all(callable(getattr(tune_experiments, name)) or name == "Episodes" for name in tune_experiments.__all__)


def test_another_name_is_refused():
    with pytest.raises(AttributeError, match="Experimnt"):
        tune_experiments.Experimnt  # noqa: B018


@pytest.mark.processes
def test_importing_the_package_loads_none_of_them_and_nothing_heavy():
    code = (
        "import sys, tune_experiments\n"
        "heavy = {'torch', 'ray', 'numpy', 'matplotlib', 'rl_envs', 'rl_models'} & set(sys.modules)\n"
        "print([*heavy, *(name for name in sys.modules if name.startswith('tune_experiments.'))])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert answer.stdout.strip() == "[]"
