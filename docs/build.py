"""Write docs/reference: the header of every world, mind and experiment, one page a family.

The headers are the documentation (each world opens with a table, each file with what it is), so this script
only gathers them. It reads source text with `ast` and imports nothing of Concord: a page can be made of code that does
not run. `make docs` calls it.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Family:
    """One page: its title and the files whose headers it gathers, as glob patterns from the root."""

    page: str
    title: str
    patterns: tuple[str, ...]


FAMILIES = (
    Family("worlds.md", "Worlds", ("rl_envs/*/world.py",)),
    Family("minds.md", "Minds", ("rl_models/**/*.py",)),
    Family("experiments.md", "Experiments", ("tune_experiments/*.py",)),
)


def headers(root: Path, family: Family) -> Iterator[tuple[str, str]]:
    """Yield (path from the root, docstring) of a family's files, in order of their paths.

    Names that start with an underscore and the shared contract in `core` are not of a family.
    """
    for path in sorted({found for pattern in family.patterns for found in root.glob(pattern)}):
        if path.name.startswith("_") or path.parent.name == "core":
            continue
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if docstring:
            yield path.relative_to(root).as_posix(), docstring


def render(family: Family, entries: list[tuple[str, str]]) -> str:
    """Return the page's Markdown: an index, then each header under its file's name."""
    index = [f"* [{path}](../../{path}): {text.splitlines()[0]}" for path, text in entries]
    bodies = [f"## {path}\n\n{text}" for path, text in entries]
    return "\n\n".join(
        [f"# {family.title}", "Written by `make docs` from the files' headers.", "\n".join(index), *bodies]
    )


def build(root: Path, target: Path) -> list[Path]:
    """Write one page a family that has any entry, and return the pages."""
    target.mkdir(parents=True, exist_ok=True)
    pages = []
    for family in FAMILIES:
        entries = list(headers(root, family))
        if entries:
            page = target / family.page
            page.write_text(render(family, entries) + "\n", encoding="utf-8")
            pages.append(page)
    return pages


def main() -> None:
    """Write the pages into docs/reference, or where --out says."""
    parser = argparse.ArgumentParser(description="gather the headers of worlds, minds and experiments")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reference")
    for page in build(ROOT, parser.parse_args().out):
        print(page)


if __name__ == "__main__":
    main()
