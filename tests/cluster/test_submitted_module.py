"""A job of a real cluster plays an environment that lies in a folder of the user's, which its nodes do not know."""

from pathlib import Path

import pytest

from cluster.testing.local_cluster import LocalCluster
from cluster.testing.submission import Submission
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.results.rows import read

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--preset", "smoke", "--methods", "ippo", "--workers.runners", "1", "--env-processes", "1"]


def test_a_module_of_the_users_and_what_it_imports_reach_the_workers_and_their_processes(tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.mkdir()
    text = (ROOT / "examples" / "signposts.py").read_text()
    (own / "rescue_parts.py").write_text(text)
    (own / "rescue.py").write_text("import rescue_parts\nparallel_env = rescue_parts.parallel_env\n")
    with LocalCluster(workers=1, cpus_per_worker=3) as cluster:  # its nodes start without the folder on their path
        monkeypatch.setenv("PYTHONPATH", str(own))
        job = Submission(cluster, "train", ["--env", "rescue:parallel_env", *FLAGS], tmp_path / "out")
        try:
            assert job.wait(TIMEOUT_SECONDS) == 0, job.printed[-5000:]
        finally:
            job.process.kill()
    assert {row.method for row in read(tmp_path / "out" / "results.jsonl")} >= {"ippo"}
