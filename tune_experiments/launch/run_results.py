"""Results of several runs by name, for `export` and `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_envs.core.errors import did_you_mean
from tune_experiments.core.config_json import first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.launch import saved_results
from tune_experiments.results.rows import Result, read_results


def name_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Run folders and saved files by their names, or by their paths where two have the same name.

    Raises:
        UserError: a run that is named twice.
    """
    whole = [path.resolve() for path in paths]
    if twice := [path for path, other in zip(paths, whole, strict=True) if whole.count(other) > 1]:
        raise UserError(f"{twice[0]} is named twice, and its seeds would count twice; name each run once")
    short = [path.name.removesuffix(saved_results.SUFFIX) for path in whole]
    return {name if short.count(name) == 1 else str(path): path for name, path in zip(short, paths, strict=True)}


def read_run(path: Path) -> Sequence[Result]:
    """Results of a run folder, or of a file that `table --save` has written.

    Raises:
        UserError: there are none, or they are damaged.
    """
    if path.name.endswith(saved_results.SUFFIX):
        return saved_results.read_saved(path).results
    if not (results := read_results(path)):
        raise UserError(f"{path} has no results: name the folder of a run that has finished a trial")
    return results


def describe_differences(paths: Mapping[str, Path]) -> list[str]:
    """For each run folder, the settings that differ from those of the first folder of its experiment, as one sentence.

    Methods and seeds are left out.

    Raises:
        UserError: a folder is damaged.
    """
    from tune_experiments.run.run_folder import CONFIG_FILE, read_config

    first: dict[str, tuple[str, Any]] = {}
    sentences = []
    for name, path in paths.items():
        if (path / CONFIG_FILE).is_file():
            experiment, config = read_config(path)
            settings = {key: value for key, value in config.items() if key not in ("methods", "seeds")}
            before, reference = first.setdefault(experiment, (name, settings))
            if changed := first_differences(reference, settings):
                sentences.append(f"Settings that differ ({before} -> {name}): {'; '.join(changed)}.")
    return sentences


def check_metrics(metrics: Sequence[str], known: Sequence[str]) -> None:
    """Check that every metric is in a run.

    Raises:
        UserError: the first of them.
    """
    for metric in metrics:
        if metric not in known:
            hint = did_you_mean(metric, known, f"there are {', '.join(dict.fromkeys(known))}")
            raise UserError(f"--metrics: no result has the metric {metric!r}; {hint}")
