"""Every command of the documents is read by the real command line of what it runs: flags, values, presets, names."""

import argparse
import functools
import importlib
import itertools
import re
import runpy
import sys

import pytest

from cluster import submit
from rl_envs.registry import ENTRY_POINT
from tests.documented_commands import FOLDERS, MODULES, PAGES, ROOT, commands_of, is_synopsis, words_of
from tune_experiments import __main__ as after_training
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.finding import find_experiment

OURS = (*FOLDERS, "tests")
OTHERS = ("pip", "venv", "pytest", "mkdocs", "ray", "-c")
OF_OTHER_INTERPRETERS = ("benchmarks.trainers.jaxmarl", "examples.trainers", "benchmarks.trainers.spread_speed")
"""Scripts that import what an environment of their own has."""
STANDS_FOR = {"R": "-1", "LIBRARY": "concord", "PART": "furnmove"}
"""Placeholders of the documents whose values must be of a kind."""
READ: set[tuple] = set()
MANY = ("docs/results/", "tune_experiments")
"""What shows more commands than are read in a second."""
SHOWS = {path.relative_to(ROOT).as_posix(): [path] for path in PAGES}
SHOWS |= {folder: [path for path in MODULES if path.is_relative_to(ROOT / folder)] for folder in FOLDERS}
"""A page, or a package, which has few commands in many files: what is read in one test -> its files."""


class HasReadError(BaseException):
    """A command line was read; nothing else is to happen."""


def stop(*_, **__):
    raise HasReadError


@pytest.mark.parametrize(
    "shown",
    [pytest.param(name, marks=[pytest.mark.long] if name.startswith(MANY) else []) for name in SHOWS],
)
def test_its_commands_are_read(shown):
    commands = [command for path in SHOWS[shown] for command in commands_of(path)]
    assert {command: fault for command in commands if (fault := fault_of(tuple(words_of(command))))} == {}
    assert commands or shown not in ("README.md", *FOLDERS), "no commands are found any more"


@functools.cache
def fault_of(words: tuple[str, ...]) -> str:
    """What is wrong with a command; nothing if it can be given."""
    try:
        with pytest.MonkeyPatch.context() as patch:
            if words[0] == "make":
                return of_make(words[1:], patch)
            module = ["-m", "tune_experiments"] if words[0] == "concord" else []
            return of_python([*module, *words[1:]], patch)
    except HasReadError:
        return ""
    except UserError as error:
        return str(error)
    except SystemExit as end:
        return "" if end.code == 0 else f"exit code {end.code}"  # 0: --help


def of_make(words, patch):
    target, *settings = words
    variables = dict(word.split("=", 1) for word in settings if "=" in word)
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    if recipe is None:
        return f"the Makefile has no target {target}"
    script = re.search(r"python (tune_experiments/\w+\.py|-m benchmarks)\b", recipe[1])
    flags = variables.get("ARGS", "").split() + (["--only", variables["ONLY"]] if "ONLY" in variables else [])
    return of_python([*script[1].split(), *flags], patch) if script and flags else ""


def of_python(words, patch):
    if words[0] in OTHERS or words[:2] in [["-m", other] for other in OTHERS]:
        return ""
    module = words[1] if words[0] == "-m" else ".".join(words[0].removesuffix(".py").split("/"))
    flags = words[2:] if words[0] == "-m" else words[1:]
    if module == "tune_experiments.NAME" or any(word.startswith("package.module") for word in flags):
        return ""
    if module.partition(".")[0] not in OURS or not there(module):
        return f"there is no {module}"
    missing = [word for word in flags if (named := ENTRY_POINT.fullmatch(word)) and not has(*named.groups())]
    if missing:
        return f"there is no {missing[0]}"
    return "" if is_synopsis(words) else read(module, [word for word in flags if word != "..."], patch)


def there(module):
    path = ROOT.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def has(module, name):
    """Whether a module of the repository has this; those of users and of other packages are not looked for."""
    return module.partition(".")[0] not in OURS or hasattr(importlib.import_module(module), name)


def read(module, flags, patch):
    if module == "tune_experiments":
        if not flags or flags in [[word] for word in after_training.WORDS]:
            return ""
        if flags[0] in after_training.COMMANDS:
            return str(after_training.read_command(flags) and "")
        flags = flags[1:] if flags[0] == after_training.RUN else flags
        is_named = not flags[0].isupper() and flags[0] != "--config"  # else by a placeholder or a file
        return of_experiment(find_experiment(flags[0]), flags[1:]) if is_named else ""
    if module == "cluster.submit":
        patch.setattr(submit, "Jobs", stop)  # which would look for its cluster
        patch.setattr(submit, "user_code", lambda modules: ([], []))  # modules of users are not here
        return f"exit code {submit.main(flags)}"
    if module.startswith(OF_OTHER_INTERPRETERS) or "argparse" not in source_of(module):
        script = None if module.startswith(OF_OTHER_INTERPRETERS) else importlib.import_module(module)
        if hasattr(script, "EXPERIMENT"):
            return of_experiment(script.EXPERIMENT, flags)
        return str(script.read_command(flags) and "") if hasattr(script, "read_command") else ""
    return of_argparse(module, flags, patch) if flags else ""  # a program is named, without what it needs


def of_experiment(experiment, flags):
    """Read an experiment's flags, unless each was read with this value, beside others of this preset."""
    starts = [place for place, flag in enumerate(flags) if flag.startswith("--")]
    groups = {tuple(flags[here:end]) for here, end in itertools.pairwise([*starts, len(flags)])}
    preset = next((group for group in groups if group[0] == "--preset"), ())
    new = {(experiment.name, preset, group) for group in groups} - READ
    if new or starts[:1] not in ([], [0]):
        parse(experiment.presets, flags, experiment.caption, experiment.seeds)
        READ.update(new)
    return ""


def of_argparse(module, flags, patch):
    """Run a module until it has read its words."""
    read_known = argparse.ArgumentParser.parse_known_args

    def read_and_stop(parser, words=None, namespace=None):
        found, others = read_known(parser, words, namespace)
        patch.undo()  # tyro has an argparse of its own
        if others and hasattr(found, "experiment"):  # it passes them on
            of_experiment(find_experiment(found.experiment), others)
        elif others:
            parser.error(str(others))
        raise HasReadError

    patch.setattr(argparse.ArgumentParser, "parse_args", read_and_stop)
    patch.setattr(argparse.ArgumentParser, "parse_known_args", read_and_stop)
    patch.setattr(sys, "argv", [module, *(STANDS_FOR.get(flag, flag) for flag in flags)])
    runpy.run_module(module, run_name="__main__")
    raise AssertionError(f"{module} has begun its work")


def source_of(module):
    path = ROOT.joinpath(*module.split("."))
    return (path / "__main__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


@pytest.mark.parametrize(
    "command",
    [
        "python tune_experiments/matrix_game.py --gamez 3",
        "python -m tune_experiments show RUN --episods 3",
        "concord run no_such_script --preset smoke",
        "python -m cluster.testing.soak --minuts 3",
        'make furnmove ARGS="--preset huge"',
    ],
)
def test_a_wrong_command_would_be_found(command):
    assert fault_of(tuple(words_of(command))), command
