"""When a paper's smoke run is whole, and what counts as a refusal."""

import subprocess

import pytest

from cluster.testing import submission
from cluster.testing.local_cluster import LocalCluster
from cluster.testing.papers import missing_in

EVENTS = "events.out.tfevents.1700000000.000000002"


@pytest.fixture
def run(tmp_path):
    """The folder of a run of two trials."""
    for name in ("a-seed0", "b-seed0"):
        (tmp_path / "trials" / name).mkdir(parents=True)
        (tmp_path / "trials" / name / EVENTS).touch()
    (tmp_path / "results.jsonl").write_text("{}\n{}\n")
    (tmp_path / "table.md").write_text("| a | b |\n")
    return tmp_path


def test_a_run_with_table_results_and_events_is_whole_and_what_another_lacks_is_named(run):
    assert missing_in(run) == []
    for gone, name in (
        ("table.md", "table.md"),
        ("results.jsonl", "results.jsonl"),
        (f"trials/a-seed0/{EVENTS}", "events"),
    ):
        (run / gone).unlink()
        assert name in missing_in(run)[-1]
    assert "trials" in " ".join(missing_in(run / "elsewhere"))


@pytest.mark.parametrize(
    ("code", "output", "errors", "is_refused"),
    [
        (2, "", "error: refused the token", True),
        (0, "", "error: refused the token", False),
        (2, "job furnmove_sync-1\n", "error: refused the token", False),
        (2, "", "Uploading package\nerror: refused the token", False),
    ],
)
def test_a_refusal_is_one_sentence_and_no_other_output(monkeypatch, code, output, errors, is_refused):
    def answer(command, **options):
        shown = {name: value for name, value in options["env"].items() if name.startswith("RAY_AUTH_TOKEN")}
        assert shown in ({}, {"RAY_AUTH_TOKEN": "0" * 64}), "a token of the user's own"
        return subprocess.CompletedProcess(command, code, output, errors)

    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/a/token/of/the/users")
    monkeypatch.setattr(submission.subprocess, "run", answer)
    cluster = LocalCluster(workers=0)
    try:
        for token in submission.WRONG_TOKENS.values():
            assert bool(submission.refusal(cluster, "furnmove_sync", [], token)) == is_refused
    finally:
        cluster.stop()
