"""The toy world under an id of its own."""

import pytest

from rl_envs.registry import WORLDS, register


@pytest.fixture
def toy_id(monkeypatch):
    monkeypatch.setattr("rl_envs.registry.WORLDS", dict(WORLDS))
    register("toy-v0", "tests.toy_worlds:Errands")
