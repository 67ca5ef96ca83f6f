"""Run an experiment as a job of a Ray cluster, follow its output, stop it, or list all jobs.

    python -m cluster.submit EXPERIMENT [--any.flag of the experiment] --address http://HOST:8265
    python -m cluster.submit furnmove_sync --preset smoke --storage /shared/runs
    python -m cluster.submit package.module:NAME --storage /shared/runs        # a custom experiment is uploaded, too
    python -m cluster.submit train --env rescue:parallel_env --storage /shared/runs     # a module, too
    python -m cluster.submit list | logs JOB | stop JOB

The experiment's flags are checked here first, so a wrong flag costs no upload. Results go to --out, or to
STORAGE/EXPERIMENT_PRESET. The same command continues a run, on the same cluster or on another one.
"""

import argparse
import os
import secrets
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cluster.jobs import Jobs, missing_on_nodes, runtime_environment
from cluster.user_code import user_code
from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.storage_uri import join_path, parse_uri
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.config_file import check_for_secrets
from tune_experiments.experiment.finding import find_experiment, imported_modules

COMMANDS = ("list", "logs", "stop")


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words, rest = _parser().parse_known_args(sys.argv[1:] if arguments is None else arguments)
    if words.what in COMMANDS:
        return _command(words, rest)
    experiment = find_experiment(words.what)
    if any(hasattr(preset, "env") for preset in experiment.presets.values()):  # the experiment's own flag
        rest, words.env = [*rest, *(["--env", *words.env] if words.env else [])], []
    flags, out, config, text = _flags(experiment, rest, words.storage)
    uploads, packages = user_code(imported_modules(experiment, config))
    for package in missing_on_nodes(packages, words.install):
        _warn(f"{package} is installed on this machine and is not uploaded: every node must have it")
    jobs = Jobs(words.address, words.token_file, _warn)
    job = f"{experiment.name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    settings = [*(["--any-versions"] * words.any_versions), *([] if text is None else [f"--config-text={text}"])]
    entrypoint = shlex.join(["python", "-m", "cluster.entry", *settings, experiment.entry_point, *flags])
    variables = _passed_on([*words.env, *words.pass_env])
    jobs.submit(job, entrypoint, runtime_environment(variables, words.install, uploads, packages))
    print(f"job {job}\nresults are written to {out}", flush=True)
    if words.no_wait:
        print(f"follow it: python -m cluster.submit logs {job}", flush=True)
        return 0
    return _follow(jobs, job)


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m cluster.submit", description=__doc__, formatter_class=shape, allow_abbrev=False
    )
    add = parser.add_argument
    message = "Name of a script in tune_experiments/, or package.module:NAME; list, logs or stop manages jobs."
    add("what", metavar="EXPERIMENT|list|logs|stop", help=message)
    add("--address", help="Address of the head's dashboard, http://HOST:PORT; by default RAY_API_SERVER_ADDRESS.")
    add("--token-file", type=Path, help="File that holds the cluster's token; by default RAY_AUTH_TOKEN holds it.")
    message = (
        "Folder that all nodes can access, or s3://..., gs://...; results go below it; by default CONCORD_STORAGE."
    )
    add("--storage", default=os.environ.get("CONCORD_STORAGE"), help=message)
    add("--no-wait", action="store_true", help="Return after the submission, without following the output.")
    message = (
        "Names of variables of this shell to pass to the job; Ray puts their values on the command lines of its "
        "workers, where every user of a node can read them."
    )
    add("--env", nargs="*", default=[], metavar="NAME", help=message)
    message = "The same, for an experiment that has a flag --env of its own."
    add("--pass-env", nargs="*", default=[], metavar="NAME", help=message)
    add("--install", action="store_true", help="Install the pinned versions on each node before training.")
    message = "Train even if the cluster's versions differ from the pinned ones."
    add("--any-versions", action="store_true", help=message)
    return parser


def _command(words: argparse.Namespace, rest: Sequence[str]) -> int:
    if len(rest) != (words.what != "list"):
        raise UserError(f"write python -m cluster.submit {words.what}{' JOB' * (words.what != 'list')}")
    jobs = Jobs(words.address, words.token_file, _warn)
    if words.what == "logs":
        jobs.status(rest[0])
        return _follow(jobs, rest[0])
    if words.what == "stop":
        print("asked to stop" if jobs.stop(rest[0]) else "was not running")
        return 0
    for one in jobs.all():
        begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((one.start_time or 0) / 1000))
        print(f"{one.submission_id}  {one.status.value}  {begun}  {one.entrypoint}")
    return 0


def _flags(
    experiment: BaseExperiment, rest: Sequence[str], storage: str | None
) -> tuple[list[str], str, Any, str | None]:
    """The experiment's flags with a persistent `--out`, that `--out`, the configuration, and the text of `--config`.

    The nodes do not have the file that `--config` names, so its text travels with the job. Raises UserError where the
    experiment refuses the flags, one holds a secret, or no lasting folder is named.
    """
    config, options = parse(experiment.presets, rest, experiment.caption, experiment.seeds)
    check_for_secrets(config)  # the job's list shows the flags
    if options.out is None and not storage:
        raise UserError(
            "name a place for the results: --storage (or CONCORD_STORAGE), a folder that all nodes share, or s3://..."
        )
    if options.out is None:
        out = join_path(parse_uri(str(storage)) or str(storage), f"{experiment.run_name(config)}_{options.preset}")
    else:
        out = parse_uri(options.out) or str(options.out)
    if "://" not in out and not Path(out).is_absolute():
        raise UserError(f"results in {out!r} would be lost with the job's temporary folder: name an absolute path")
    text = None if options.config is None else options.config.read_text()
    return ([*rest] if options.out else [*rest, "--out", out]), out, config, text


def _follow(jobs: Jobs, job: str) -> int:
    try:
        status = jobs.follow(job, lambda text: print(text, end="", flush=True))
    except KeyboardInterrupt:
        print(f"\n{job} continues; end it with: python -m cluster.submit stop {job}", file=sys.stderr)
        return 130
    message = jobs.status(job)[1].partition(", last available logs")[0]
    print(f"job {job}: {status}" + ("" if status == "SUCCEEDED" else f" ({message})"), flush=True)
    return 0 if status == "SUCCEEDED" else 1


def _passed_on(names: Sequence[str]) -> dict[str, str]:
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise UserError(f"--env names {missing[0]}, which this shell does not have; export it first")
    return {name: os.environ[name] for name in names}


def _warn(sentence: str) -> None:
    print(f"note: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
