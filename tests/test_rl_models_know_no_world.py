"""No name, rule or sentence of a world stands in rl_models: what learning must know of a world is handed in.

Docstrings and comments may name a paper and its game.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path.relative_to(ROOT) for end in ("py", "txt") for path in (ROOT / "rl_models").rglob(f"*.{end}"))
WORLDS = (
    *("furnmove", "furnlift", "matrix_game", "messenger", "overcooked", "rock_paper_scissors", "rtfm", "salad"),
    *("two_step", "minirts", "frozen_lake"),
)
THINGS = (
    *("kitchen", "chef", "onion", "soup", "dish", "tomato", "lettuce", "knife", "bowl", "plate", "recipe", "cutting"),
    *("monster", "goblin", "dungeon", "blessed", "sword", "airplane", "mage", "thief", "enemy"),
    *("television", "sofa", "furniture", "scissors", "builder", "peasant", "dragon", "lake", "alice", "bob"),
    *("avatar", "room", "wall"),
)
WORDS = re.compile("|".join(rf"(?<![a-z]){word.replace('_', '[_ ]?')}s?(?![a-z])" for word in (*WORLDS, *THINGS)))


def words_of(text, is_python=True):
    """Identifiers and strings of a source text, or all its lines.

    Docstrings are left out, and so are the names that weights had in checkpoints of earlier versions.
    """
    if not is_python:
        return text.splitlines()
    tree = ast.parse(text)
    docstrings = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "renamed_weights":
            docstrings |= {id(name) for name in node.value.keys}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found.append(node.value)
        for field in ("id", "attr", "arg", "name", "asname", "module"):
            value = getattr(node, field, None)
            found += [value] if isinstance(value, str) else []
    return found


def found_in(words):
    """Words of worlds; `SoupPot` counts as `soup_pot`."""
    plain = (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower() for word in words)
    return sorted({found[0] for word in plain for found in WORDS.finditer(word)})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.as_posix())
def test_no_file_of_rl_models_knows_a_world(path):
    assert not found_in(words_of((ROOT / path).read_text(), path.suffix == ".py"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""Of Overcooked."""\ndef f():\n    """Onions."""\n', []),
        ("from rl_envs.salad import world", ["salad"]),
        ("class SoupPot: pass", ["soup"]),
        ("def f(num_monsters): pass", ["monsters"]),
        ("x = f'bring the {thing} to Bob'", ["bob"]),
        ("def f():\n    x.onion = 3", ["onion"]),
        ("f(kitchen=3)", ["kitchen"]),
        ("image = template.display", []),
        ("class A:\n    renamed_weights: dict = {'walls': 'edges'}", []),
        ("class A:\n    renamed_weights: dict = {'edges': 'walls'}", ["walls"]),
    ],
)
def test_words_are_found_wherever_they_stand(text, found):
    assert found_in(words_of(text)) == found


def test_worlds_are_those_that_there_are():
    folders = {path.parent.name for path in (ROOT / "rl_envs").glob("*/world.py")} - {"core"}
    assert all(any(folder.startswith(world) for world in WORLDS) for folder in folders)
