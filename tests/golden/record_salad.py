"""Write the small recordings of the salad kitchen that every checkout replays: `python -m tests.golden.record_salad`.

They are ours, in the schema of those of the authors' engine: the world itself plays under its rules, so they hold the
rules still rather than prove them. Write them anew only when a rule changes on purpose, and say so in the history.
"""

from pathlib import Path

import numpy as np

from rl_envs.salad.symbols import CHOPS, NOTHING, SIDE
from rl_envs.salad.world import Salad
from tests.golden.salad_replay import Replay

RECORDINGS = Path(__file__).parent / "recordings" / "salad"
HORIZON, EPISODES, CANDIDATES = 120, 8, 64
CASES = {
    "mapA_full_lettuce_tomato": ("A", "full", "lettuce-tomato"),
    "mapB_oneplate_onion": ("B", "one_plate", "onion"),
    "mapC_tomato_tomato": ("C", "tomato", "tomato"),
}
KITCHEN = {"swap": True, "collision_reward": 0.0, "restore_rule": "cover", "rechop_pays": True}


def play(layout, kitchen, recipe):
    """Many episodes of random macro actions: the primitive moves of each step, and every state."""
    world = Salad(
        CANDIDATES, layout=layout, kitchen=kitchen, recipes=[recipe], max_episode_steps=HORIZON, **KITCHEN, text=False
    )
    world.auto_resets = False
    random, moves, states = np.random.default_rng(1), [], []
    rules = world._rules.play
    world._rules.play = lambda state, chosen: (moves.append(chosen.copy()), rules(state, chosen))[1]
    obs = world.reset(1)
    outcomes = []
    for _ in range(HORIZON):
        states.append({name: value.copy() for name, value in world.state.items()})
        wishes = random.random((CANDIDATES, 2, world.action_spec)) * obs["legal"]
        obs, reward, terminated, truncated, _ = world.step(wishes.argmax(-1))
        outcomes.append((reward[:, 0].copy(), terminated.copy(), truncated.copy()))
    states.append({name: value.copy() for name, value in world.state.items()})
    return world, np.stack(moves, 1), states, outcomes


def recording(layout, kitchen, recipe):
    """Arrays of the schema: the episodes with most deliveries."""
    world, moves, states, outcomes = play(layout, kitchen, recipe)
    reward, terminated, truncated = (np.stack(part, 1) for part in zip(*outcomes, strict=True))
    length = (terminated | truncated).argmax(1) + 1
    wrong = np.stack([state["wrong_dishes"] for state in states], 1)
    final = wrong[np.arange(CANDIDATES), length]
    rows = np.argsort(-(final + 3 * terminated[np.arange(CANDIDATES), length - 1]), kind="stable")[:EPISODES]
    data = {name: np.stack([state[name][rows] for state in states], 1) for name in states[0]}
    cells = np.stack(np.divmod(data["thing_cells"], SIDE), -1)
    cells[data["thing_cells"] == NOTHING] = NOTHING
    before, after = data["agent_cells"][:, :-1], data["agent_cells"][:, 1:]
    swap = (before == after[..., ::-1]).all(-1)
    overlap = overlaps(world, data)
    chops = np.diff((data["chops"] == CHOPS).astype(int), axis=1) == 1
    wanted = np.array([food in recipe.split("-") for food in ("tomato", "lettuce", "onion")])
    played = np.arange(HORIZON) < length[rows, None]
    lost = np.stack([state["collisions"][rows] for state in states], 1)
    return {
        "layout": np.array(world.kitchen.drawing),
        "start": np.array([[1, 2], [1, 4]]),
        "recipe": wanted,
        "task": np.array(recipe),
        "horizon": np.array(HORIZON),
        "chops_needed": np.array(CHOPS),
        "sight_radius": np.array(2),
        "reward_terms": np.array([-0.001, 0.2, 1.0, -0.1]),
        "rule_swap_allowed": np.array(True),
        "rule_collision_penalty": np.array(0.0),
        "rule_restore": np.array("cover"),
        "rule_rechop_pays": np.array(True),
        "rule_shared_reward": np.array(True),
        "length": length[rows].astype(np.int16),
        "behaviour": np.array(["macro"] * EPISODES),
        "noise": np.ones(EPISODES, np.float32),
        "filtered": np.zeros(EPISODES, bool),
        "actions": np.where(played[..., None], moves[rows], NOTHING).astype(np.int8),
        "agent": np.stack(np.divmod(data["agent_cells"], SIDE), -1).astype(np.int8),
        "held": data["held"].astype(np.int8),
        "item": cells.astype(np.int8),
        "chops": np.where(world.kitchen.has[:3], data["chops"], NOTHING).astype(np.int8),
        "in_plate": data["in_plate"].astype(np.int8),
        "board_item": on_boards(world, data),
        "surface": surfaces(world, data),
        "reward": reward[rows],
        "done": (terminated | truncated)[rows],
        "n_chopped": (chops & wanted).sum(-1).astype(np.int8),
        "n_wrong": np.diff(wrong[rows], axis=1).astype(np.int8),
        "n_correct": terminated[rows].astype(np.int8),
        "move_lost": lost_moves(moves[rows], data, np.diff(lost, axis=1), world),
        "swap": swap,
        "overlap": overlap,
        "first_swap": first(swap & played),
        "first_overlap": first(overlap[:, :-1] & played),
    }


def first(flags):
    return np.where(flags.any(1), flags.argmax(1), -1).astype(np.int16)


def overlaps(world, data):
    cells = np.where(world.kitchen.has, data["thing_cells"], -1 - np.arange(5))
    is_loose = np.ones(cells.shape, bool)
    is_loose[..., :3] = data["in_plate"] < 0
    same = (cells[..., :, None] == cells[..., None, :]) & is_loose[..., :, None] & is_loose[..., None, :]
    return same.sum((-1, -2)) > is_loose.sum(-1)


def lost_moves(moves, data, count, world):
    """[E, T, 2] bool: floor was wanted, and the agent is where it was."""
    cells, floor = data["agent_cells"], world.kitchen.is_floor
    wanted = floor[world.kitchen.neighbours[moves, cells[:, :-1]]] & (moves != 4)
    lost = wanted & (cells[:, 1:] == cells[:, :-1])
    assert (lost.sum(-1) == count).all()
    return lost


def on_boards(world, data):
    boards = world.kitchen.boards
    return np.where(boards == NOTHING, NOTHING, data["lying"][..., boards]).astype(np.int8)


def surfaces(world, data):
    shown = [Replay.surface(_Kitchen(world), {"lying": lying}) for lying in np.moveaxis(data["lying"], 1, 0)]
    return np.stack(shown, 1).astype(np.uint8)


class _Kitchen:
    def __init__(self, world):
        self.fixtures = world.kitchen.fixtures


def main():
    """Write all recordings."""
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        data = recording(*case)
        np.savez_compressed(RECORDINGS / f"{name}.npz", **data)
        print(name, data["n_correct"].sum(), data["n_wrong"].sum(), data["overlap"].any(1).sum(), data["swap"].sum())


if __name__ == "__main__":
    main()
