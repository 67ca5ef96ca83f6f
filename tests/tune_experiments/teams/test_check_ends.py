"""The checks before a run end where an environment hangs in them."""

import subprocess
import sys

import pytest

from rl_envs.wrappers import hangs
from tests.timeouts import TIMEOUT_SECONDS

GAME = """
import time
from tests.rl_envs.wrappers.odd_games import Signal

class Hangs(Signal):
    def reset(self, seed=None, options=None):
        time.sleep(1000)
"""
PROGRAM = """
import dataclasses
from tune_experiments.train import EXPERIMENT, SMOKE
EXPERIMENT.check(dataclasses.replace(SMOKE, env="hanging_game:Hangs", env_arguments="{}", methods=("ippo",)))
"""


@pytest.mark.long
@pytest.mark.processes
def test_an_environment_that_hangs_before_a_run_ends_it_with_call_and_line(tmp_path, monkeypatch):
    (tmp_path / "hanging_game.py").write_text(GAME)
    monkeypatch.setenv("PYTHONPATH", ":".join(("", str(tmp_path), *filter(None, sys.path))))
    monkeypatch.setenv(hangs.TIMEOUT_VARIABLE, "1")
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert ended.returncode == 1
    assert all(word in ended.stderr for word in ("reset", "1 s", "hanging_game.py, line 7"))
