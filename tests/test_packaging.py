"""What is imported is declared, and what is declared is pinned; the version is the same everywhere."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("rl_envs", "rl_models", "tune_experiments")
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
    declared |= {"PIL", "yaml", "imageio_ffmpeg", "tokenizers", "huggingface_hub", *PACKAGES, *sys.stdlib_module_names}
    texts = [path.read_text() for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    names = {
        name for text in texts for name in re.findall(r"^ *(?:import|from(?= \S+ import\b)) (\w+)", text, re.MULTILINE)
    }
    assert {"torch", "numba", "ray"} < names <= declared


def test_the_installed_versions_are_the_pinned_ones() -> None:
    installed = {canonical(found.metadata["Name"]): found.version.split("+")[0] for found in metadata.distributions()}
    pinned = pins()
    assert {name: version for name, version in installed.items() if pinned.get(name, version) != version} == {}


def test_the_version_is_the_same_everywhere() -> None:
    assert metadata.version("concord-marl") == VERSION
    assert f"## [{VERSION}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_each_console_script_names_a_function():
    for entry in PROJECT["project"]["scripts"].values():
        module, _, name = entry.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
