"""When a job of a paper's smoke run counts as whole, and an answer as a refusal."""

import dataclasses
import subprocess

import pytest

from cluster.testing import submission
from cluster.testing.local_cluster import LocalCluster
from cluster.testing.papers import EXPERIMENTS, as_table, report_on
from tune_experiments.experiment.finding import find_experiment

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


def report(run, refusals=("error: no", "error: wrong"), code=0):
    return report_on("furnmove_sync", refusals, code, 3.0, run)


def test_a_run_with_table_results_and_events_is_whole(run):
    one = report(run)
    assert one.is_whole
    assert (one.results, one.trials, one.with_events) == (2, 2, 2)
    assert "| furnmove_sync | refused | refused | 0 | 3 | yes | 2 | 2 of 2 |" in as_table([one])


@pytest.mark.parametrize("gone", ["table.md", "results.jsonl", f"trials/a-seed0/{EVENTS}"])
def test_a_run_that_lacks_something_is_not(run, gone):
    (run / gone).unlink()
    assert not report(run).is_whole


def test_a_run_that_failed_or_accepted_a_wrong_token_is_not(run):
    assert not report(run, code=1).is_whole
    assert not report(run, refusals=("error: no", "")).is_whole
    assert "**let in**" in as_table([report(run, refusals=("", "error: wrong"))])
    assert not dataclasses.replace(report(run), trials=0, with_events=0).is_whole


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


def test_every_paper_is_in_the_list():
    assert [find_experiment(name).name for name in EXPERIMENTS] == list(EXPERIMENTS)
    assert len(EXPERIMENTS) == 6
