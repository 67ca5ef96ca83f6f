"""Provenance of one session of a run: versions, git, command, hardware and seeds."""

import datetime
import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGES = (
    "concord-marl",
    "ray",
    "torch",
    "numpy",
    "gymnasium",
    "pettingzoo",
    "transformers",
    "peft",
    "safetensors",
    "scipy",
)


def describe_session(seeds: Sequence[int]) -> dict[str, Any]:
    """One entry of manifest.json's `sessions`; unknown values are null."""
    return {
        "utc_start": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "seeds": list(seeds),
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES},
        "git": _git(),
        "hardware": {
            "system": f"{platform.system()} {platform.release()}",
            "cpu": _cpu_model(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "gpus": _gpus(),
        },
    }


def without_run_folder(command: str) -> str:
    """A session's command without the folder of its run."""
    words = shlex.split(command)
    pairs = zip(["", *words], words, strict=False)
    return shlex.join(word for before, word in pairs if "--out" not in (before, word.split("=")[0]))


def concord_version() -> str:
    """The installed version of this program."""
    return _version("concord-marl") or "unknown"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """Commit of the checkout that this code runs from, dirty if not known to be clean; None for a package."""
    here = Path(__file__).resolve()
    # An installed package can lie inside another repository: only a tracked file has its commit.
    if _output("git", "-C", str(here.parent), "ls-files", "--error-unmatch", here.name) is None:
        return None
    status = _output("git", "-C", str(here.parent), "status", "--porcelain", "--untracked-files=no")
    return {"commit": _output("git", "-C", str(here.parent), "rev-parse", "HEAD"), "dirty": status != ""}


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _gpus() -> list[str]:
    """Names and memory from the driver's own tool: torch would allocate the GPU for this process."""
    listed = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    return listed.splitlines() if listed else []


def _output(*command: str) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return done.stdout.strip()
