"""The checks before a run end where an environment hangs in them."""

import subprocess
import sys

import pytest

from rl_envs.wrappers import hangs
from tests.timeouts import TIMEOUT_SECONDS

PROGRAM = """
import dataclasses
from tune_experiments.train import EXPERIMENT, SMOKE
env = "tests.rl_envs.wrappers.test_hangs:Asleep"
EXPERIMENT.check(dataclasses.replace(SMOKE, env=env, env_arguments="{}", methods=("ippo",)))
"""


@pytest.mark.long
@pytest.mark.processes
def test_an_environment_that_hangs_before_a_run_ends_it_with_call_and_line(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(("", *filter(None, sys.path))))
    monkeypatch.setenv(hangs.TIMEOUT_VARIABLE, "1")
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert ended.returncode == 1
    assert all(word in ended.stderr for word in ("did not return from step", "1 s", "test_hangs.py, line"))
