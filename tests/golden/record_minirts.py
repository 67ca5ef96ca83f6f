"""Write the hashes of our own games of MiniRTS: `python -m tests.golden.record_minirts`.

They hold the rules still rather than prove them: a few games of scripts and of random actions, hashed every tenth
decision. Write them anew only when a rule changes on purpose, and say so in the world's history.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from rl_envs.registry import make

HASHES = Path(__file__).parent / "recordings" / "minirts_hashes.json"
GAMES = {
    "scripts": {"own_script": "medium", "opponents": ["medium", "strong", "simple", "medium_catapult_towers"]},
    "random": {"agents_per_side": 2, "opponents": ["medium_two", "medium_three"], "extra_units": 6},
    "per_unit": {"actions": "per_unit", "opponents": "passive", "fair": True},
}
WORLDS, DECISIONS, EVERY = 2, 60, 10
HASHED = ("tick", "money", "num_units", "unit_id", "unit_type", "unit_hp", "unit_x", "unit_y", "order_kind", "winner")


def played(name):
    """Hashes of the games of one setting, in the order of time."""
    world, random = make("minirts-v0", WORLDS, **GAMES[name]), np.random.default_rng(5)
    world.reset(11)
    found = []
    for decision in range(1, DECISIONS + 1):
        shape = (WORLDS, world.num_agents)
        actions = {key: random.integers(size, size=shape) for key, size in world.action_spec.items()}
        observations = world.step(actions)[0]
        if decision % EVERY == 0:
            digest = hashlib.sha256(b"".join(world.state[key].tobytes() for key in HASHED))
            digest.update(b"".join(observations[key].tobytes() for key in sorted(observations)))
            found.append(digest.hexdigest()[:16])
    return found


def main():
    """Write all hashes."""
    HASHES.write_text(json.dumps({name: played(name) for name in GAMES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
