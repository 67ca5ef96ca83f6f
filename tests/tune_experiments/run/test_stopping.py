"""What ends a run from outside: it says so at once, and in the end that the same command continues."""

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster.testing.local_cluster import wait_until
from cluster.testing.processes import MARK, kill_marked, marked
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.launch import launch as launching
from tune_experiments.launch.experiment import main
from tune_experiments.matrix_game import EXPERIMENT
from tune_experiments.run.tuning import find_failures, graceful_stop, run_trials

ROOT = Path(__file__).parents[3]
STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def in_the_foreground():
    """A shell ignores Control-C for what it starts in the background, `nohup` SIGHUP, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGHUP, before[1])


@pytest.mark.parametrize("number", STOPS)
def test_the_first_signal_is_said_at_once_and_passed_to_tune_and_the_second_ends_all(number):
    said, heard, before = [], [], signal.getsignal(number)
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.raises(KeyboardInterrupt))
        stack.enter_context(graceful_stop(said.append))
        signal.signal(signal.SIGUSR1, lambda *_: heard.append("Tune"))
        signal.raise_signal(number)
        assert (said, heard) == (["stopping; the newest checkpoints are kept"], ["Tune"])
        signal.raise_signal(number)
    assert len(said) == len(heard) == 1
    assert signal.getsignal(number) is before, "what others had chosen holds again"


@pytest.mark.parametrize("number", STOPS)
def test_where_tune_does_not_run_yet_the_first_signal_ends_all(number):
    said = []
    with pytest.raises(KeyboardInterrupt), graceful_stop(said.append):
        signal.raise_signal(number)
    assert said == ["stopping; the newest checkpoints are kept"]


def wait_until_it_trains(process, run):
    logs = "trials/*/metrics.jsonl"
    wait_until(lambda: any(run.glob(logs)) or process.poll() is not None, TIMEOUT_SECONDS, "it does not train")
    assert process.poll() is None


@pytest.mark.slow
@pytest.mark.parametrize("what", ["the terminal closes", "SIGHUP to the run alone", "SIGTERM to the run alone"])
def test_a_run_that_has_begun_ray_itself_ends_whole(what, tmp_path):
    mark, run = f"run_{os.getpid()}_{what[:7]}", tmp_path / "run"
    flags = ["--preset", "smoke", "--methods", "sync", "--budget-env-steps", "1000000000", "--out", str(run)]
    # Without SPT_NOENV Ray's processes write their titles over their environment, and so over our mark.
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | {"SPT_NOENV": "1"}
    command = [sys.executable, str(ROOT / "tune_experiments" / "matrix_game.py"), *flags]
    terminal, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment | {MARK: mark}, start_new_session=True, preexec_fn=take_terminal, **streams
    )
    os.close(theirs)
    threading.Thread(target=read_all, args=(terminal,), daemon=True).start()
    try:
        wait_until_it_trains(process, run)
        if what == "the terminal closes":
            os.close(os.dup2(os.open(os.devnull, os.O_RDONLY), terminal))
        else:
            process.send_signal(signal.SIGHUP if "SIGHUP" in what else signal.SIGTERM)
        assert process.wait(TIMEOUT_SECONDS) == 130
        wait_until(lambda: marked(mark) == [], TIMEOUT_SECONDS, f"processes are left: {marked(mark)}")
    finally:
        process.kill()
        process.wait()
        kill_marked(mark)


def test_what_ignores_hang_ups_goes_on():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with graceful_stop(pytest.fail):
        signal.raise_signal(signal.SIGHUP)


def take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_all(terminal):
    with contextlib.suppress(OSError):
        while os.read(terminal, 2**16):
            pass


def test_failures_are_told_by_the_name_of_a_trials_folder_and_why():
    def result(name, error=None, **metrics):
        return SimpleNamespace(config=None, metrics=metrics, path=f"/tune/{name}", error=error)

    results = [result("stopped"), result("died", RuntimeError("no actor")), result("refused", refused="write --x 3")]
    assert find_failures(results) == {"died": "no actor", "refused": "write --x 3"}


@pytest.mark.parametrize(("ended", "failed"), [(0, 1), (1, 0), (1, 1)])
def test_trials_that_tune_left_unfinished_are_told_as_its_signal_so_that_no_other_session_begins(
    tmp_path, monkeypatch, ended, failed
):
    class Results(list):
        num_terminated, num_errors = ended, failed

    left = Results([SimpleNamespace(metrics={}, path="/tune/trial", error=None)] * 2)
    monkeypatch.setattr("ray.tune.Tuner", lambda *_, **__: SimpleNamespace(fit=lambda: left))
    signals = []
    run_trials([{"name": "trial"}], {}, concurrent=1, out=tmp_path, columns={}, signals=signals)
    assert signals == [signal.SIGUSR1] * (ended + failed < 2)


def raise_interrupt(*_, **__):
    raise KeyboardInterrupt


def return_after_signal(*_, **__):
    signal.signal(signal.SIGUSR1, lambda *_: None)  # as Tune does
    signal.raise_signal(signal.SIGINT)
    return {}


def return_early(*_, **__):
    """As Tune does where it gets SIGUSR1 itself."""
    return {}


@pytest.mark.parametrize("ends", [raise_interrupt, return_after_signal, return_early])
def test_whatever_is_interrupted_the_user_hears_that_the_same_command_continues(ends, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(launching, "run_local_trials", ends)
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENT.run("smoke", out=tmp_path / "run", local=True)
    assert "the same command continues" in capsys.readouterr().out
    assert main(EXPERIMENT, ["--preset", "smoke", "--local", "--out", str(tmp_path / "script")]) == 130
    assert capsys.readouterr().err == "", "it is said once"
