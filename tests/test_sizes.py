"""Files and functions stay small enough to be read from top to bottom."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rl_envs", "rl_models", "tune_experiments", "cluster", "benchmarks", "examples")
MOST_LINES_OF_FILE = 400
MOST_LINES_OF_FUNCTION = 60


def too_long(folders):
    """Files with too many lines, name -> lines."""
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in files}
    return {name: count for name, count in lines.items() if count > MOST_LINES_OF_FILE}


@pytest.mark.parametrize("folders", [PACKAGES, ("tests",)], ids=["packages", "tests"])
def test_no_file_is_longer_than_400_lines(folders):
    assert too_long(folders) == {}


def test_no_function_is_longer_than_60_lines_and_its_docstring():
    found = {}
    for path in (path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = len((ast.get_docstring(node) or "").splitlines())
                found[f"{path.relative_to(ROOT)}:{node.name}"] = node.end_lineno - node.lineno + 1 - docstring
    assert {name: lines for name, lines in found.items() if lines > MOST_LINES_OF_FUNCTION} == {}
