"""Constant tables are shared by the worlds of a process, so nobody can write into them."""

import pytest

from rl_envs import WORLDS, make

RICH = {"minirts-v0": {"facts": True}}


@pytest.mark.parametrize("world_id", sorted(WORLDS))
def test_tables_are_read_only(world_id):
    for table in make(world_id, **RICH.get(world_id, {})).tables.values():
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0
