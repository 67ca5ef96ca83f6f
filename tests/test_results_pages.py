"""Pages of results: each table is made of rows that are kept, each commit is one of this project.

A table stands between marks that say what it is made of: `table: NAME` and `crossplay: NAME` of a kept file,
`timings: COMMAND` of a benchmark, which keeps no rows, and `explanation` where it is no result.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
PAGES = sorted(RESULTS.glob("*.md"))
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"<!-- (table|crossplay|timings|explanation)(?:: (.+?))? -->\n(.*?)<!-- end -->", re.DOTALL)
COMMIT = re.compile(r"(?<![\w./-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
HELD = re.compile(r"\| \[(?:does not hold|holds)[^\]]*\]\((results/\w+\.md)#([^)]+)\)")


def rows_of(name):
    return [json.loads(line) for line in gzip.decompress((RESULTS / f"{name}.jsonl.gz").read_bytes()).splitlines()]


def blocks_of(page):
    """Kind, file and text of each block; what a marker chooses of its file stands after a semicolon."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(kind, name.partition(";")[0], text) for kind, name, text in found]


def kept_files():
    return sorted(path.name.removesuffix(".jsonl.gz") for path in RESULTS.glob("*.jsonl.gz"))


def tables_without_rows(text):
    """First lines of the tables that stand between no marks."""
    lines = BLOCK.sub("", text).splitlines()
    return [line for before, line in zip(["", *lines], lines, strict=False) if is_row(line) and not is_row(before)]


def is_row(line):
    return line.lstrip().startswith("|")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_table_of_results_is_made_of_kept_rows_or_says_what_it_is(page):
    assert tables_without_rows(page.read_text(encoding="utf-8")) == []
    for kind, name, _ in blocks_of(page):
        if kind in ("table", "crossplay"):
            assert (RESULTS / ("crossplay" if kind == "crossplay" else "") / f"{name}.jsonl.gz").is_file(), name
        assert kind != "timings" or page.name == "speed.md"
        assert kind != "explanation" or page.name == "corrections.md"


def test_a_table_that_was_typed_by_hand_is_found():
    made = "<!-- table: game -->\n\n| a |\n|---|\n| 1 |\n\n<!-- end -->\n"
    assert tables_without_rows(made) == []
    assert tables_without_rows(f"{made}\n| b |\n|---|\n| 2 |\n") == ["| b |"]


def test_every_kept_file_is_shown_or_named_on_a_page():
    shown = {name for page in PAGES for kind, name, _ in blocks_of(page) if kind == "table"}
    named = {name for page in PAGES for name in re.findall(r"`(\w+)`", page.read_text(encoding="utf-8"))}
    assert set(kept_files()) <= shown | named


@pytest.mark.parametrize("kitchen", sorted(path.name.split(".")[0] for path in RESULTS.glob("crossplay/*.gz")))
def test_tables_of_cross_play_are_their_rows(kitchen):
    """Soups of each team with itself, and the mean with the others in both orders; self-play's seeds in one row."""
    pairs = {
        tuple(row["method"].split(" with ")): row for row in rows_of(f"crossplay/{kitchen}") if row["metric"] == "soups"
    }
    teams = list(dict.fromkeys(first for first, _ in pairs))
    alone = [pairs[team, team]["value"] for team in teams]
    others = [
        sum(pairs[team, one]["value"] + pairs[one, team]["value"] for one in teams if one != team)
        / (2 * len(teams) - 2)
        for team in teams
    ]
    text = (RESULTS / "overcooked.md").read_text(encoding="utf-8")
    (table,) = [block for kind, name, block in BLOCK.findall(text) if (kind, name) == ("crossplay", kitchen)]
    cells = [line.strip("| ").split("|") for line in table.splitlines() if is_row(line)][2:]
    for column, values in ((1, alone), (2, others)):
        shown = re.findall(r"[\d.]+", " ".join(re.sub(r"\[.*?\]", "", row[column]) for row in cells))
        assert [float(number) for number in shown] == pytest.approx(values, abs=0.0501)


def test_each_commit_that_a_page_names_is_one_of_this_project():
    history = subprocess.run(
        ["git", "rev-list", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    shallow = ["git", "rev-parse", "--is-shallow-repository"]
    if not history or subprocess.run(shallow, cwd=ROOT, capture_output=True, text=True).stdout.strip() == "true":
        pytest.skip("no whole history here")
    unknown = {
        (page.name, name)
        for page in DOCUMENTS
        for name in COMMIT.findall(page.read_text(encoding="utf-8"))
        if not any(commit.startswith(name) for commit in history)
    }
    assert unknown == set()


def test_what_holds_was_named_before_its_run_by_its_record():
    """A claim in docs/results.md that holds, or does not, stands on a section with such a verdict."""
    claims = HELD.findall((ROOT / "docs/results.md").read_text(encoding="utf-8"))
    assert claims
    for page, anchor in claims:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        sections = re.split(r"^(?=##+ )", text, flags=re.MULTILINE)
        (section,) = [one for one in sections if slug(one.splitlines()[0]) == anchor]
        assert re.search(r"^Named before the run, main comparison: .*\*\*.* above .*\*\*", section, re.MULTILINE), (
            anchor
        )


def slug(heading):
    """Anchor of a heading, as GitHub has it."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-")
