"""Memory of processes over time: samples from /proc, and for each process a slope with its confidence interval.

The slope is that of a process's private (anonymous) memory, because leaks are there: pages of libraries and of the
object store are shared between processes. The object store has its own row. Linux only.
"""

import csv
import dataclasses
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from tune_experiments.core.errors import UserError

OBJECT_STORE = "object store (shared by all)"
_BLOCKS = 9
"""Number of blocks, whose means the line is fitted to, because single samples are correlated."""
_CONFIDENCE = 0.99
"""Confidence level of each interval; at 95 % one of about 20 processes would be a false alarm."""
_MEGABYTE = 1024.0


@dataclass(frozen=True)
class Sample:
    """Memory of one process at one time, in MB."""

    minutes: float  # minutes since sampling began
    pid: int  # process id
    process: str  # node and name of the process
    resident: float  # all pages in memory, shared ones included
    own: float  # anonymous (private) memory
    shared: float  # its proportional part of shared memory; the sum over all processes is the object store


@dataclass(frozen=True)
class Trend:
    """Growth of a process's private memory after the warm-up."""

    process: str  # node and name of the process
    pid: int  # process id
    resident: float  # median of all its pages in memory, MB
    own: float  # median of its private memory, MB
    slope: float  # growth of its private memory, MB an hour
    margin: float  # half the width of the slope's confidence interval, MB an hour

    @property
    def verdict(self) -> str:
        """Whether the interval of the slope excludes 0."""
        if abs(self.slope) <= self.margin:
            return "slope within noise"
        return "**grows**" if self.slope > 0 else "shrinks"


def sample(minutes: float, pid: int, process: str) -> Sample | None:
    """Memory of a process now, from the kernel; None after the process ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return None
    found = {name: int(rest.split()[0]) / _MEGABYTE for name, _, rest in (line.partition(":") for line in lines)}
    return Sample(minutes, pid, process, found["Rss"], found["Anonymous"], found["Pss_Shmem"]) if found else None


def process_name(command: str) -> str:
    """Short name of a process, from its command line; Ray's workers change theirs with every task."""
    words = command.split()
    if not words:
        return "?"
    program = Path(words[0]).name
    if not program.startswith("python"):
        return re.split(r"\.|-\d+$", program)[0]
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    script = next((word for word in words[1:] if word.endswith(".py")), "")
    return "/".join(Path(script).parts[-2:]) if script else f"{program} {' '.join(words[1:5])}"


def trends(samples: Iterable[Sample], warm_up: float) -> tuple[list[Trend], list[str]]:
    """Trends after `warm_up` minutes, the largest process first and the object store last; names of the others."""
    judged = [one for one in samples if one.minutes >= warm_up]
    moments = np.unique([one.minutes for one in judged])
    by_pid: dict[int, list[Sample]] = {}
    for one in judged:
        by_pid.setdefault(one.pid, []).append(one)
    lasting = [each for each in by_pid.values() if len(each) > 0.9 * len(moments)]
    brief = sorted({each[-1].process for each in by_pid.values() if len(each) <= 0.9 * len(moments)})
    found = sorted((_compute_trend(each) for each in lasting), key=lambda one: -one.resident)
    return [*found, _object_store(judged, moments)], brief


def _compute_trend(samples: Sequence[Sample]) -> Trend:
    own = np.array([one.own for one in samples])
    slope, margin = _slope(np.array([one.minutes for one in samples]) / 60, own)
    resident = float(np.median([one.resident for one in samples]))
    return Trend(samples[-1].process, samples[-1].pid, resident, float(np.median(own)), slope, margin)


def _object_store(samples: Sequence[Sample], moments: np.ndarray) -> Trend:
    sums = np.array([sum(one.shared for one in samples if one.minutes == moment) for moment in moments])
    slope, margin = _slope(moments / 60, sums)
    return Trend(OBJECT_STORE, 0, float(np.median(sums)), float(np.median(sums)), slope, margin)


def _slope(hours: np.ndarray, megabytes: np.ndarray) -> tuple[float, float]:
    """Slope of the line through the means of consecutive blocks, and half of its confidence interval, MB an hour."""
    if np.ptp(megabytes) == 0:  # scipy's interval would be nan
        return 0.0, 0.0
    if len(hours) < _BLOCKS:
        raise UserError(f"a slope needs {_BLOCKS} samples after the warm-up, not {len(hours)}: soak longer")
    centres = [block.mean() for block in np.array_split(hours, _BLOCKS)]
    means = [block.mean() for block in np.array_split(megabytes, _BLOCKS)]
    line = stats.linregress(centres, means)
    return float(line.slope), float(line.stderr * stats.t.ppf(0.5 + _CONFIDENCE / 2, _BLOCKS - 2))


def write_samples(path: Path, samples: Sequence[Sample]) -> None:
    """Append to a CSV file."""
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(field.name for field in dataclasses.fields(Sample))
        for one in samples:
            writer.writerow(f"{value:.3f}" if isinstance(value, float) else value for value in dataclasses.astuple(one))


def read_samples(path: Path) -> list[Sample]:
    """Samples of a CSV file; a UserError if it holds none."""
    numbers = ("minutes", "resident", "own", "shared")
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        found = [
            Sample(pid=int(row["pid"]), process=row["process"], **{n: float(row[n]) for n in numbers}) for row in rows
        ]
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); name the file of a soak") from error
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise UserError(f"{path} holds no samples of a soak ({error!r}); name the file that it wrote") from error
    if not found:
        raise UserError(f"{path} holds no samples yet; wait until the soak has written its first samples")
    return found
