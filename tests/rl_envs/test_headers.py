"""The header of each world is a complete and true table: the documentation quotes it."""

import importlib
import inspect
import re

import pytest

from rl_envs import WORLDS, make

NAMES = re.compile(r"`(\w+)`")
GENERAL = {"self", "num_worlds", "first_world"}
ROWS = ["agents", "actions", "episode end", "arguments", "recorded draws", "state for `restore`", "metrics"]
RICH = {
    "frozen_lake_spread-v0": {"hole": "out", "observations": ("place", "one_hot", "cells")},
    "furnlift-v0": {"shows_expert": True, "observations": ("view", "frame")},
    "furnmove-v0": {"observations": ("view", "frame")},
    "messenger-v0": {"shows_roles": True},
    "minirts-v0": {"facts": True},
    "overcooked-v0": {"actions": "any", "observations": ("lossless", "symbols")},
    "rock_paper_scissors-v0": {"tells_answer": True},
}
"""Arguments with which a world has all its observation keys."""


def world_class(world_id):
    module, name = WORLDS[world_id].split(":")
    return getattr(importlib.import_module(module), name)


def rows(world_id):
    """First column -> second column of the header's table."""
    header = importlib.import_module(WORLDS[world_id].split(":")[0]).__doc__
    return dict(line.strip("| ").split(" | ", 1) for line in header.splitlines() if re.match(r"\| \S.* \| \S", line))


@pytest.mark.parametrize("world_id", sorted(WORLDS))
def test_a_header_has_every_row(world_id):
    table = rows(world_id)
    assert not [name for name in [*ROWS, "version history"] if name not in table]
    assert any(name.startswith("rewards") for name in table)
    ends = table["episode end"].lower()
    assert "terminat" in ends and "truncat" in ends, "it must say which limit is a termination and which a truncation"


@pytest.mark.parametrize("world_id", sorted(WORLDS))
def test_a_header_names_everything(world_id):
    """Observation keys with their shapes, arguments, draws, metrics, and the state that `restore` asks for."""
    world, table = make(world_id, **RICH.get(world_id, {})), rows(world_id)
    shown = {name: text for name, text in table.items() if name.startswith("observation ")}
    keys = {key for name in shown for key in NAMES.findall(name)}
    assert keys == set(world.observation_spec) | set(world.text_spec)
    assert not [name for name, text in shown.items() if "[" not in text], "a shape is missing"
    arguments = set(inspect.signature(world_class(world_id).__init__).parameters) - GENERAL
    assert arguments <= set(NAMES.findall(table["arguments"])) or (not arguments and table["arguments"] == "none")
    assert set(world.recorded_draws) <= set(NAMES.findall(table["recorded draws"]))
    assert set(world.metric_names) <= set(NAMES.findall(table["metrics"]))
    needed = []
    try:
        world.restore({})
    except ValueError as error:
        needed = re.findall(r"'(\w+)'", str(error).split("missing")[1].split(";")[0])
    assert set(needed) <= set(NAMES.findall(table["state for `restore`"]))


@pytest.mark.parametrize("world_id", sorted(WORLDS))
def test_a_header_names_every_default(world_id):
    parameters = inspect.signature(world_class(world_id).__init__).parameters
    text = rows(world_id)["arguments"]
    for name, parameter in parameters.items():
        if name in GENERAL:
            continue
        found = re.search(rf"`{name}` \(([^)]*)", text)
        assert found, f"{name} has no default in parentheses"
        default = parameter.default
        if isinstance(default, str):
            assert default in found[1], name
        elif isinstance(default, bool) or default is None:
            assert str(default) in found[1] or default is None, name
        elif isinstance(default, (int, float)):
            assert re.search(rf"(?<![\d.]){re.escape(f'{default:g}')}(?!\d)", found[1]), name
