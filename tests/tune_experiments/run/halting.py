"""A trial that halts after a row of its log, and says so with a file: who wants to kill it there need not be quick."""

import os
import threading
from pathlib import Path

from tune_experiments.results.trial_log import TrialLog

HALTS_AT, HALTED = "CONCORD_TEST_HALTS_AT", "CONCORD_TEST_HALTED"
"""Environment variables: the env steps of the row, and the file."""


def halts_after_a_row():
    """Ray calls this in each worker as it starts."""
    append = TrialLog.append

    def halting(log, row):
        append(log, row)
        if row["env_steps"] == int(os.environ[HALTS_AT]):
            Path(os.environ[HALTED]).touch()
            threading.Event().wait()

    TrialLog.append = halting
