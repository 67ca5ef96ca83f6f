"""Pages of the site that follow from the code: one a world, one with all experiments, the API by folder.

mkdocs runs this file as a hook. It reads the tree of files and imports nothing of Concord; mkdocstrings reads the
docstrings, also from source text. So a new world or a new module has its page without an entry in any list.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/figures/environments"
"""NAME.png: `rl_envs.make("NAME-v0").render()` after a few steps."""
PACKAGES = ("rl_envs", "rl_models", "tune_experiments")
SOURCE_LINK = re.compile(r"\]\((?:\.\./)+(?P<path>(?:rl_envs|rl_models|tune_experiments)\b[\w/.]*)")
"""Beginning of a link to a folder or file of the packages, as a reader of the repository follows it."""
CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
FLAG = re.compile(r"--[\w.-]+")
SOURCES = {"tune_experiments": "experiments/index.md", "rl_envs/registry.py": "worlds/index.md"}
"""Source -> its page, where the rules for folders and `world.py` give another one."""
BOOSTS = {
    "tutorials/your_environment.md": 100,
    "tutorials/": 50,
    "index.md": 50,
    "quickstart.md": 50,
    "watching.md": 10,
    "cluster.md": 10,
    "papers/": 10,
    "decisions.md": 0.01,
    "api/": 0.001,
}
"""Weight in the search of a page, or of all pages of a folder; a word in a title counts 1,000 times."""


def module_name(path: Path) -> str:
    """The dotted name of a file, a package's for its `__init__.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def first_line(path: Path) -> str:
    """The first line of a file's docstring; empty without one."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def entry(path: Path, options: str = "") -> str:
    """The block that mkdocstrings replaces by a module's documentation."""
    return f"::: {module_name(path)}\n    options: {{{options}}}\n"


def worlds() -> list[Path]:
    """The `world.py` of every world."""
    return sorted(path for path in ROOT.glob("rl_envs/*/world.py") if path.parent.name != "core")


def scripts() -> list[Path]:
    """The flat file of every experiment."""
    return sorted(path for path in ROOT.glob("tune_experiments/*.py") if not path.name.startswith("_"))


def modules_in(folder: Path) -> list[Path]:
    """Modules of a folder's API page: its `__init__.py`, then all public ones that have no page of their own."""
    found = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    return [folder / "__init__.py", *(path for path in found if path not in {*worlds(), *scripts()})]


def world_pages() -> dict[str, str]:
    """One page a world: the header of its `world.py`, which is its reference."""
    rows = [f"| [{path.parent.name}]({path.parent.name}.md) | {first_line(path)} |" for path in worlds()]
    index = [
        "# Environments",
        "",
        "`rl_envs.make(id, num_worlds)` builds each of them.",
        "",
        "| environment | what it is |",
        "|---|---|",
    ]
    pages = {"worlds/index.md": "\n".join([*index, *rows]) + "\n"}
    for path in worlds():
        name = path.parent.name
        drawn = (PICTURES / f"{name}.png").exists()
        picture = f"![{name}](../figures/{PICTURES.name}/{name}.png){{ .environment }}\n\n" if drawn else ""
        pages[f"worlds/{name}.md"] = f"# {name}\n\n{picture}{entry(path, 'show_root_heading: false')}"
    return pages


def experiment_pages() -> dict[str, str]:
    """One page with the header of every experiment."""
    text = "# Experiments\n\nEach file is a script, and each takes `--help`, `--preset`, `--seeds` and `--out`.\n\n"
    return {"experiments/index.md": text + "\n".join(entry(path, "members: []") for path in scripts())}


def api_pages() -> dict[str, str]:
    """One page a folder of the packages."""
    pages = {}
    for package in PACKAGES:
        for init in sorted((ROOT / package).rglob("__init__.py")):
            name = init.parent.relative_to(ROOT).as_posix()
            entries = "\n".join(map(entry, modules_in(init.parent)))
            pages[f"api/{name.replace('/', '.')}.md"] = f"# {name}\n\n{entries}"
    return pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the empty sections of the navigation."""
    generated = {"Environments": world_pages(), "Experiments": experiment_pages(), "API": api_pages()}
    for section in config.nav or []:
        for title in generated.keys() & section.keys():
            pages = list(generated[title])
            section[title] = _by_package(pages) if title == "API" else [*pages, *section[title]]
    config.extra["generated"] = {page: text for pages in generated.values() for page, text in pages.items()}
    return config


def _by_package(pages: list[str]) -> list[dict[str, Any]]:
    return [{package: [page for page in pages if page[4:-3].split(".")[0] == package]} for package in PACKAGES]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for page, text in config.extra["generated"].items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the search show guides before reasons and reference, and links to sources lead to their pages."""
    boost = next((boost for path, boost in BOOSTS.items() if page.file.src_uri.startswith(path)), 1)
    page.meta.setdefault("search", {"boost": boost})
    return SOURCE_LINK.sub(lambda link: link_to_page(page.file.src_uri, link), markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let no line break stand between the dashes of a flag and its name."""
    return CODE.sub(lambda code: FLAG.sub(r'<span class="flag">\g<0></span>', code[0]), html)


def link_to_page(page: str, link: re.Match[str]) -> str:
    """The link to a source with its generated page as target, if it has one."""
    path = Path(link["path"])
    if path.as_posix() in SOURCES:
        target = SOURCES[path.as_posix()]
    elif path.name == "world.py":
        target = f"worlds/{path.parent.name}.md"
    elif path.suffix:
        return link[0]
    else:
        target = f"api/{'.'.join(path.parts)}.md"
    return f"]({'../' * page.count('/')}{target}"
