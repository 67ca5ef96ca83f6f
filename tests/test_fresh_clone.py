"""What a newcomer does: clone, install, and give the commands of the documents from the clone's root.

Nothing of this checkout is on the path. Each script runs once, at the preset `smoke`, as its own documentation says.
"""

import subprocess
from pathlib import Path

import pytest

from tests.documented_commands import ROOT, commands_of, words_of
from tests.own_environment import interpreter_with, run
from tests.timeouts import TIMEOUT_SECONDS
from tune_experiments.experiment.finding import known_experiments

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * TIMEOUT_SECONDS)]

AFTER_OTHERS = {"overcooked_crossplay": "overcooked_selfplay", "overcooked_returns": "overcooked_selfplay"}
AFTER_OTHERS |= {"sama_retest": "sama_overcooked"}
"""Script that reads a run -> script of that run."""
HIDING = ("random", "statistics", "torch", "pandas", "requests", "utils")


def smoke_command(script):
    """The script's own command for `--preset smoke`, as documented."""
    path = ROOT / "tune_experiments" / f"{script}.py"
    documented = [words_of(command) for command in commands_of(path)]
    own = [words[1:] for words in documented if f"tune_experiments/{script}.py" in words and "smoke" in words]
    return own[0] if own else [f"tune_experiments/{script}.py", "--preset", "smoke"]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone") / "concord"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def python(clone, tmp_path_factory):
    """The interpreter of an environment in which the clone is installed as README says."""
    return interpreter_with(tmp_path_factory.mktemp("environment"), packages_of=clone)


@pytest.fixture(scope="module")
def run_of(clone, python, tmp_path_factory):
    """Gives the command of a script, once; returns its run folder."""
    done = {}

    def give(script):
        if script not in done:
            done[script] = tmp_path_factory.mktemp("runs") / script
            run(python, *smoke_command(script), "--out", done[script], cwd=clone)
        return done[script]

    return give


@pytest.mark.parametrize("script", sorted(set(known_experiments()) - set(AFTER_OTHERS)))
def test_a_script_runs_from_the_root_of_a_fresh_clone(script, run_of):
    folder = run_of(script)
    assert (folder / "results.jsonl").is_file() and (folder / "table.md").is_file()


@pytest.mark.parametrize("script", AFTER_OTHERS)
def test_a_script_that_reads_a_run_runs_after_it(script, clone, python, run_of, tmp_path):
    folder = run_of(AFTER_OTHERS[script])
    run(python, f"tune_experiments/{script}.py", folder, "--episodes", "2", "--out", tmp_path / "out", cwd=clone)
    assert any((tmp_path / "out").iterdir())


def test_an_environment_of_the_clone_is_found_by_its_documented_command(clone, python, tmp_path):
    commands = map(words_of, commands_of(ROOT / "docs" / "tutorials" / "your_environment.md"))
    (words,) = [words for words in commands if "examples.errands:parallel_env" in words]
    start = ["-m", "tune_experiments"]  # concord is the same
    run(python, *start, *words[1:], "--preset", "smoke", "--out", tmp_path / "run", cwd=clone)
    assert "lora_blind" in (tmp_path / "run" / "table.md").read_text()


def test_an_environment_of_the_users_folder_is_found_in_workers_and_no_file_there_hides_a_module(
    clone, python, tmp_path
):
    for name in HIDING:
        (tmp_path / f"{name}.py").write_text("raise ImportError('a file of the current folder hides a module')")
    (tmp_path / "rescue.py").write_text("from rescue_parts import Signposts\nparallel_env = Signposts\n")
    (tmp_path / "rescue_parts.py").write_text((Path(clone) / "examples" / "signposts.py").read_text())
    workers = ["--workers.runners", "1", "--env-processes", "1"]
    flags = ["--env", "rescue:parallel_env", "--preset", "smoke", "--methods", "ippo", *workers, "--out", "run"]
    run(python, "-m", "tune_experiments", "train", *flags, cwd=tmp_path)
    assert (tmp_path / "run" / "table.md").is_file()
