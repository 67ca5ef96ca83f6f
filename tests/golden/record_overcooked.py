"""Write the small recordings of Overcooked that every checkout replays: `python -m tests.golden.record_overcooked`.

They are ours, in the schema of those of the original engine: the world itself plays, by scripted cooks that serve and
by random actions, so they hold the rules still rather than prove them. Write them anew only when a rule changes on
purpose, and say so in the world's history.
"""

from pathlib import Path

import numpy as np

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.words import COOK_STEPS
from rl_envs.registry import make
from tests.golden.overcooked_replay import encoding_of, rows_of
from tests.rl_envs.overcooked.cooks import Cooks

RECORDINGS = Path(__file__).parent / "recordings" / "overcooked"
STEPS, NOISE, ENCODED_EVERY = 400, (0.05, 0.2, 0.5, 1.0), 20
TYPES = {"pos": np.int8, "pot_tick": np.int8}


def recording(layout):
    """Arrays of the schema; each episode has its own share of random actions."""
    world = make("overcooked-v0", len(NOISE), layout=layout)
    world.auto_resets = False
    observations = world.reset(0)
    cooks = Cooks(world, noise=np.array(NOISE)[:, None])
    rows, encodings = [rows_of(world)], [encoding_of(observations)]
    steps = {name: [] for name in ("actions", "sparse", "shaped", "done")}
    points = world.state["shaped"].copy()
    for step in range(1, STEPS + 1):
        actions = cooks()
        observations, reward, _, truncated, _ = world.step(actions)
        shaped, points = world.state["shaped"] - points, world.state["shaped"].copy()
        for name, value in zip(steps, (actions, reward[:, 0], shaped, truncated), strict=True):
            steps[name].append(value.copy())
        rows.append(rows_of(world))
        if step % ENCODED_EVERY == 0:
            encodings.append(encoding_of(observations))
    states = {name: np.stack([row[name] for row in rows], 1).astype(TYPES.get(name, np.uint8)) for name in rows[0]}
    types = {"actions": np.uint8, "sparse": np.int16, "shaped": np.int16, "done": bool}
    played = {name: np.stack(values, 1).astype(types[name]) for name, values in steps.items()}
    kitchen = world.kitchen
    return (
        states
        | played
        | {
            "layout": np.array(kitchen.rows),
            "pot_pos": np.stack([kitchen.pots % kitchen.width, kitchen.pots // kitchen.width], 1),
            "horizon": np.array(STEPS),
            "cook_time": np.array(COOK_STEPS),
            "behaviour": np.array(["script"] * len(NOISE)),
            "noise": np.array(NOISE),
            "enc_t": np.arange(0, STEPS + 1, ENCODED_EVERY),
            "enc": np.stack(encodings, 1),
        }
    )


def main():
    """Write all recordings."""
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    for layout in LAYOUTS:
        np.savez_compressed(RECORDINGS / f"{layout}.npz", **recording(layout))


if __name__ == "__main__":
    main()
