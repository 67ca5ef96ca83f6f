"""The documentation builds, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.documented_commands import PAGES, ROOT
from tests.timeouts import TIMEOUT_SECONDS

FILE = re.compile(
    r"\b(?:rl_envs|rl_models|tune_experiments|cluster|benchmarks|tests|examples|docs)(?:/[\w.]+)*/[\w.]*\w\.\w+"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    assert [name for name in FILE.findall(text) if "NAME" not in name and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_somewhere_in_the_repository(page):
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_nobody_is_told_to_install_what_somebody_else_may_have_registered():
    """Concord is in no index: its extras are installed from the checkout, and other names are known to be published."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    folders = ("rl_envs", "rl_models", "tune_experiments", "cluster", "benchmarks", "examples", "docs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md")]
    texts = [path.read_text(encoding="utf-8") for path in [*files, *ROOT.glob("*.md")]]
    told = [line for text in texts for line in re.findall(r"pip install(?: -c constraints.txt)? (.*)", text)]
    assert len(told) > 10
    for line in told:
        first = re.match(r"""(?:-e )?["']?([\w.-]+)""", line)[1]
        assert first in {".", "benchmarl", "jaxmarl", "open_spiel", "pettingzoo", "stable-baselines3", "vmas"}, line
        assert "concord" not in line, line
        assert {name for names in re.findall(r"\.\[([\w,]+)\]", line) for name in names.split(",")} <= set(extras), line


@pytest.mark.slow
@pytest.mark.processes
def test_the_site_builds_without_a_broken_link_and_loads_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(tmp_path / "site").as_posix(): path.read_text() for path in tmp_path.rglob("*.html")}
    worlds = [path.parent.name for path in ROOT.glob("rl_envs/*/world.py") if path.parent.name != "core"]
    assert {f"worlds/{name}.html" for name in worlds} <= set(pages)
    foreign = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^\" >]+")
    assert [found for text in pages.values() for found in foreign.findall(text)] == []


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.timeout(2 * TIMEOUT_SECONDS)
def test_the_python_of_the_readme_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
