"""A folder of wheels for a machine without network, which has torch but not all of Concord's dependencies.

    python -m cluster.wheels build/wheels

There pip installs the files with --no-index --no-deps, and `python tune_experiments/NAME.py --local` trains. The
versions are those of constraints.txt. `PRESENT` lists what such a machine has.
"""

import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

from cluster.jobs import pinned_packages
from tune_experiments.core.errors import UserError, exits_with_one_sentence

WANTED = ("pydantic", "tyro", "gymnasium", "pettingzoo", "gguf")
PRESENT = frozenset(
    {"torch", "transformers", "peft", "numpy", "numba", "pyarrow", "safetensors", "scipy", "rich", "matplotlib"}
    | {"tensorboard", "pytest", "pyyaml", "tqdm"}
)
"""Packages on the machine, with their dependencies except `typing_extensions`, which may be too old."""
PYTHON, PLATFORMS = "3.12", ("manylinux_2_28_x86_64", "manylinux2014_x86_64")


def list_wheels(wanted: Iterable[str] = WANTED) -> list[str]:
    """Wheels to fetch, `name==version` each, in alphabetical order: of `wanted` packages, without those of `PRESENT`.

    Raises UserError where constraints.txt does not pin one of them.
    """
    pinned = {_plain(name): f"{name}=={version}" for name, version in pinned_packages().items()}
    found, left = set[str](), [_plain(name) for name in wanted]
    while left:
        name = left.pop()
        if name in found or name in PRESENT:
            continue
        if name not in pinned:
            raise UserError(f"constraints.txt has no version of {name}: run the command that writes it again")
        found.add(name)
        left += _needs(name)
    return sorted(pinned[name] for name in found)


def _needs(package: str) -> list[str]:
    """Packages that one needs there, of those that are always installed with it."""
    there = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "sys_platform": "linux", "extra": ""}
    needs = map(Requirement, importlib.metadata.requires(package) or [])
    return [_plain(need.name) for need in needs if need.marker is None or need.marker.evaluate(there)]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


@exits_with_one_sentence
def main(arguments: list[str] | None = None) -> int:
    """Fetch the wheels with pip, and print their size."""
    words = sys.argv[1:] if arguments is None else arguments
    if len(words) != 1 or words[0].startswith("-"):
        raise UserError("write python -m cluster.wheels FOLDER: it takes only the folder for the wheels")
    folder = Path(words[0])
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--no-deps"]
    command += ["--python-version", PYTHON, "--implementation", "cp", "--dest", str(folder)]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    if subprocess.run([*command, *list_wheels()], check=False).returncode:
        raise UserError("pip could not fetch the wheels: see its output above, and run the command again")
    wheels = sorted(folder.glob("*.whl"))
    print(f"{len(wheels)} wheels in {folder}: {sum(path.stat().st_size for path in wheels) / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
