"""The soak's arithmetic: a process that grows is named, noise is not, and samples survive their file."""

import mmap
import os

import numpy as np
import pytest

from cluster.testing.memory import OBJECT_STORE, Sample, sample, trends
from cluster.testing.soak import main
from tests.tune_experiments.run.bomb import BOMB


def hour(pid, process, own, shared=None):
    """A sample every half minute, `own(minutes)` MB each."""
    minutes = np.arange(0, 60, 0.5)
    shared = shared or (lambda minute: 5.0)
    return [Sample(float(m), pid, process, own(m) + 50, own(m), shared(m)) for m in minutes]


def noisy(start, per_hour, seed):
    """A line with noise of 2 MB that lasts for some minutes, as allocators make it."""
    steps = np.random.default_rng(seed).normal(0, 2, 200)
    smooth = np.convolve(steps, np.ones(6) / 6, mode="same")
    return lambda minute: start + per_hour * minute / 60 + float(smooth[int(2 * minute)])


def test_the_process_that_grows_is_named_and_its_slope_is_in_the_interval():
    grows = hour(1, "worker: leaks", noisy(300, 30, seed=0))
    stays = hour(2, "worker: stays", noisy(200, 0, seed=1))
    found, brief = trends([*grows, *stays], warm_up=15)
    by_name = {one.process: one for one in found}
    assert by_name["worker: leaks"].verdict == "**grows**"
    assert abs(by_name["worker: leaks"].slope - 30) < by_name["worker: leaks"].margin < 20
    assert by_name["worker: stays"].verdict != by_name["worker: leaks"].verdict
    assert by_name["worker: leaks"].own == pytest.approx(300 + 30 * 37.5 / 60, abs=1)
    assert by_name["worker: leaks"].resident == pytest.approx(by_name["worker: leaks"].own + 50)
    assert brief == []


def test_objects_that_nobody_frees_are_seen_in_the_sum_of_all_processes():
    pages = [hour(pid, f"p{pid}", lambda minute: 10.0, lambda minute: 20 + minute / 2) for pid in (1, 2)]
    found, _ = trends([*pages[0], *pages[1]], warm_up=15)
    store = next(one for one in found if one.process == OBJECT_STORE)
    assert store.slope == pytest.approx(60)
    assert store.verdict == "**grows**"
    assert all(one.slope == 0 for one in found if one.process != OBJECT_STORE)


@pytest.mark.parametrize("content", [BOMB, b"a,b\n1,2\n", b"", b"minutes,pid,process\nx,1,p\n"])
def test_a_file_without_samples_is_refused_by_its_name(tmp_path, content, capsys):
    path = tmp_path / "samples.csv"
    path.write_bytes(content)
    for file in (path, tmp_path / "none.csv"):
        assert main(["--read", str(file)]) == 2
        said = capsys.readouterr().err
        assert file.name in said and "Traceback" not in said


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="looks into /proc")
def test_memory_that_this_process_takes_is_its_own():
    before = sample(0, os.getpid(), "me")
    block = mmap.mmap(-1, 50 * 2**20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # malloc may have as much left over
    block.write(b"1" * len(block))
    after = sample(1, os.getpid(), "me")
    assert after.own - before.own > 45, "more where another process ends that had shared memory with this one"
    assert after.resident > after.own
    block.close()
    assert sample(0, 2**22 + 1, "nobody") is None
