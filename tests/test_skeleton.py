"""The files around the code keep their promises: pins, commands, packages, version, pages."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rl_envs", "rl_models", "tune_experiments")
TARGETS = (
    "help",
    "venv",
    "furnmove",
    "matrix",
    "verco",
    "demo",
    "check",
    "test",
    "slow",
    "lint",
    "type",
    "bench",
    "cluster",
    "drills",
    "docs",
    "clean",
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), f"not an exact pin: {line!r}"
    return {canonical(name): version for name, version in (line.split("==") for line in lines)}


def test_every_direct_dependency_is_pinned() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = PROJECT["project"]["dependencies"] + extras["dev"] + extras["docs"]
    names = {canonical(re.match(r"[A-Za-z0-9._-]+", requirement)[0]) for requirement in wanted}  # type: ignore[index]
    assert names <= set(pins())
    assert pins()["torch"] == "2.13.0"


def test_what_the_packages_import_is_declared() -> None:
    """An installed wheel brings all of it; transformers brings what its own users import from beside it."""
    extras = [line for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
    declared = {re.match(r"[A-Za-z0-9._-]+", line)[0] for line in PROJECT["project"]["dependencies"] + extras}  # type: ignore[index]
    declared |= {"PIL", "tokenizers", "huggingface_hub", *PACKAGES, *sys.stdlib_module_names}
    nodes = [
        node
        for name in PACKAGES
        for path in (ROOT / name).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
    ]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    assert {name.split(".")[0] for name in names} <= declared


def test_the_installed_versions_are_the_pinned_ones() -> None:
    installed = {canonical(found.metadata["Name"]): found.version.split("+")[0] for found in metadata.distributions()}
    pinned = pins()
    assert {name: version for name, version in installed.items() if pinned.get(name, version) != version} == {}


@pytest.mark.parametrize("target", TARGETS)
def test_the_makefile_has_the_target_and_help_explains_it(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}:.* ## \S", makefile, re.MULTILINE)
    assert target in re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()  # type: ignore[index]


def test_ci_runs_make_test_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    commands = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert commands == ["set -eu", 'cd "$(dirname "$0")/.."', "make test"]


def test_readme_is_short_names_both_commands_and_links_to_files_that_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    assert 70 <= len(readme.splitlines()) <= 100
    assert "make furnmove" in readme
    assert "make test" in readme
    visible = re.sub(r"<!--.*?-->", "", readme, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#:]+)\)", visible)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_three_packages_are_the_ones_installed() -> None:
    assert PROJECT["tool"]["setuptools"]["packages"]["find"]["include"] == [f"{name}*" for name in PACKAGES]
    assert [name for name in PACKAGES if not (ROOT / name / "__init__.py").is_file()] == []


def test_changelog_has_the_version() -> None:
    assert f"## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_version_is_written_once() -> None:
    assert metadata.version("concord-marl") == VERSION
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                    assert all(getattr(target, "id", "") != "__version__" for target in node.targets), path


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_public_workflow_runs_make_test() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert commands == ["make test", "make docs"]


@pytest.mark.processes
def test_help_is_what_a_bare_make_prints() -> None:
    printed = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True).stdout
    assert "furnmove" in printed
    assert "make COMMAND" in printed
