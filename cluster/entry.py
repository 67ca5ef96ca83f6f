"""Entry point of a submitted job: check that the cluster has the pinned versions, then run the experiment.

    python -m cluster.entry [--any-versions] [--config-text YAML] EXPERIMENT [flags]

Results depend on versions, so a job ends with one sentence where the cluster has other versions. `--config-text` holds
the file that `--config` named where the job was submitted.
"""

import argparse
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from cluster.jobs import PINNED, pinned_packages
from tune_experiments.core.errors import UserError, ending_threads, exits_with_one_sentence


def differences(pins: Mapping[str, str], installed: Mapping[str, str]) -> list[str]:
    """Versions that differ from the pins, e.g. "torch 2.9.0 for 2.13.0"; builds (`+cpu`) are ignored."""
    return [
        f"{name} {installed.get(name, 'missing').split('+')[0]} for {pins[name]}"
        for name in PINNED
        if name in pins and installed.get(name, "missing").split("+")[0] != pins[name]
    ]


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Check the versions, print the node and the Python version, and run the experiment."""
    parser = argparse.ArgumentParser("python -m cluster.entry", allow_abbrev=False)
    parser.add_argument("--any-versions", action="store_true")
    parser.add_argument("--config-text")
    parser.add_argument("experiment")
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    words = parser.parse_args(arguments)
    name, flags = words.experiment, words.flags
    installed = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    wrong = differences(pinned_packages(), installed)
    if wrong and not words.any_versions:
        raise UserError(
            f"this cluster has {', '.join(wrong)}; build its image from cluster/Dockerfile, "
            f"or submit with --install, or with --any-versions if results may differ"
        )
    from tune_experiments.experiment.finding import find_experiment  # after the check: it needs the checked packages
    from tune_experiments.launch.experiment import main as run

    if words.config_text is not None:
        file = Path(tempfile.mkdtemp()) / "config.yaml"
        file.write_text(words.config_text)
        flags += ["--config", str(file)]  # the last one counts
    print(f"{name} on {platform.node()}, Python {platform.python_version()}", flush=True)
    return run(find_experiment(name), flags)


if __name__ == "__main__":
    sys.exit(ending_threads(main()))
