"""Write the small recordings of RTFM that every checkout replays: `python -m tests.golden.record_rtfm`.

They are ours, in the schema of those of the authors' engine: the worlds themselves play, so they hold the rules still
rather than prove them. Write them anew only when a rule changes on purpose, and say so in the world's history.
"""

from pathlib import Path

import numpy as np

from rl_envs.rock_paper_scissors.splits import LETTERS
from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_envs.rtfm.assignments import assignments
from rl_envs.rtfm.grid import WALKS
from rl_envs.rtfm.words import ELEMENTS, NAME_SETS, TEAMS
from rl_envs.rtfm.world import Rtfm
from tests.golden.random_play import SETTINGS, first_episodes

RECORDINGS = Path(__file__).parent / "recordings" / "rtfm"
NAMES = NAME_SETS["paper"]
POLICIES, EPISODES_EACH = 6, 8
SHORT_LIMIT, RANDOM_SHARE = 8, 0.08
ROUTES = ((), (0,), (1,), (0, 1), (1, 0), ())
"""By policy: the items that it fetches in turn before it walks into the target; policy 0 is random."""
STATISTICS = ("simple_dyna_6", "rps_6")
EPISODES_COUNTED = 20_000


class Recorder:
    """Plays the first episode of each world and writes down what happened."""

    def __init__(self, world, right_items):
        self.world, self.right = world, right_items
        self.size = world._grid.size
        self.policy = np.arange(world.num_worlds) % POLICIES
        self.random = np.random.default_rng(0)
        self.steps = [[] for _ in range(world.num_worlds)]

    def play(self):
        world, ended = self.world, np.zeros(self.world.num_worlds, bool)
        while not ended.all():
            before = {name: value.copy() for name, value in world.state.items()}
            legal = world.observe()["legal"][:, 0]
            actions, chance = self.actions(legal), self.chance()
            _, reward, terminated, _, info = world.step(actions[:, None], chance)
            after = {name: value.copy() for name, value in world.state.items()}
            for name, value in info.get("final_state", {}).items():
                after[name][info["done_worlds"]] = value
            won = np.zeros(world.num_worlds, bool)
            won[info["done_worlds"]] = info.get("episode", {}).get("win_rate", np.zeros(0)) == 1
            step = self.written(before, after, chance) | {
                "action": actions, "legal": (legal << np.arange(5)).sum(1), "reward": reward[:, 0],
                "done": terminated, "win": won, "both_met": np.zeros(len(won), bool),
            }  # fmt: skip
            for row in np.flatnonzero(~ended):
                self.steps[row].append({name: value[row] for name, value in step.items()})
            ended |= terminated
        return {name: np.stack([step[name] for steps in self.steps for step in steps]) for name in self.steps[0][0]}

    def actions(self, legal):
        """By route: fetch the items in turn, then walk into the target; now and then at random."""
        state, rows = self.world.state, np.arange(self.world.num_worlds)
        random = np.where(legal, self.random.random(legal.shape), -1).argmax(1)
        goals = state["monster_cells"][:, 0].copy()
        for row, policy in enumerate(self.policy):
            items = [(self.right[row] + item) % state["item_cells"].shape[1] for item in ROUTES[policy]]
            left = [cell for cell in state["item_cells"][row, items] if cell]
            goals[row] = left[0] if left else goals[row]
        targets = self.world._grid.target[state["agent_cells"][:, 0]]
        distance = self.world._grid.distance[targets, goals[:, None]]
        at_random = (self.policy == 0) | (self.random.random(len(rows)) < RANDOM_SHARE)
        return np.where(at_random, random, distance.argmin(1))

    def chance(self):
        if not self.world.recorded_draws:
            return {}
        cells, prey = self.world.state["monster_cells"], self.world.state["agent_cells"]
        planned = self.world._grid.walk(cells, prey, self.random.integers(WALKS, size=cells.shape))
        moves = (self.world._grid.target[cells] == planned[..., None]).argmax(-1)
        return {"monster_moves": moves, "monster_order": self.random.random(cells.shape).argsort(1)}

    def written(self, before, after, chance):
        moves = chance.get("monster_moves", np.full(before["monster_cells"].shape, -1))
        died_unmoved = ~after["monster_alive"] & (after["monster_cells"] == before["monster_cells"])
        carried_out = before["monster_alive"] & (moves >= 0) & ~died_unmoved
        order = chance.get("monster_order", moves)
        dragon = isinstance(self.world, RockPaperScissors)
        agent_acted = ~dragon | (after["agent_cells"] != before["agent_cells"])[:, 0] | after["agent_alive"][:, 0]
        return {
            "agent_before": self.xy(before["agent_cells"][:, 0]), "agent_after": self.xy(after["agent_cells"][:, 0]),
            "agent_alive": after["agent_alive"][:, 0], "mon_move": np.where(carried_out, moves, -1),
            "mon_order": np.where(carried_out, order + (not dragon), -1),
            "agent_order": np.where(agent_acted, int(dragon), -1), "mon_after": self.xy(after["monster_cells"]),
            "mon_alive": after["monster_alive"], "item_left": after["item_cells"] > 0, "held": after["held"][:, 0],
        }  # fmt: skip

    def xy(self, cells):
        return np.stack([cells % self.size, cells // self.size], axis=-1)


def recording(world, extras):
    """Arrays of the schema."""
    world.reset(0)
    world.state["step_limit"][::11] = SHORT_LIMIT
    start = {name: value.copy() for name, value in world.state.items()}
    recorder = Recorder(world, start["beaten_by"][:, 0] - 1)
    steps = recorder.play()
    names = np.array(world.lexicon.names)
    lengths = [len(rows) for rows in recorder.steps]
    held_last = [rows[-1]["held"] for rows in recorder.steps]
    carried = world._carried(np.array(held_last)[:, None], start["item_names"])[:, 0]
    empty = world._carried(np.zeros_like(held_last)[:, None], start["item_names"])[:, 0]
    types = {name: bool for name, value in steps.items() if value.dtype == bool} | {"reward": np.float32}
    return {
        "ep_start": np.cumsum([0, *lengths]).astype(np.int32), "ep_policy": recorder.policy.astype(np.int8),
        "ep_agent0": recorder.xy(start["agent_cells"][:, 0]).astype(np.int8),
        "ep_mon0": recorder.xy(start["monster_cells"]).astype(np.int8),
        "ep_item0": recorder.xy(start["item_cells"]).astype(np.int8),
        "ep_mon_name": names[start["monster_names"]], "ep_item_name": names[start["item_names"]],
        "ep_inv0": inventory(names[empty]), "ep_inv_last": inventory(names[carried]),
        "ep_max_iter": start["step_limit"].astype(np.int16), "ep_right": start["beaten_by"][:, 0].astype(np.int8),
        "grid": np.array([recorder.size] * 2, np.int8),
        **{name: value.astype(types.get(name, np.int8)) for name, value in steps.items()},
        **extras(start),
    }  # fmt: skip


def inventory(names):
    return np.array([{"nothing": ""}.get(name, name.replace(" ;", ";")) for name in names])


def rtfm_extras(group):
    def extras(start):
        known = assignments(group)
        teams, elements = known.ranks(start["assignment"])
        labels = {"ep_mon_team": (known.teams.labels[teams], 9), "ep_mod_elem": (known.elements.labels[elements], 8)}
        padded = {
            name: np.pad(rows, ((0, 0), (0, count - rows.shape[1])), constant_values=-1)
            for name, (rows, count) in labels.items()
        }
        return padded | {
            "ep_goal_team": start["goal_team"].astype(np.int8), "monsters": np.array(NAMES.monsters),
            "modifiers": np.array(NAMES.modifiers), "nouns": np.array(NAMES.nouns), "teams": np.array(TEAMS),
            "elements": np.array(ELEMENTS),
        }  # fmt: skip

    return extras


def rps_extras(start):
    return {"ep_triple": start["triple"].astype(np.int8), "letters": np.array(list(LETTERS))}


def main():
    """Write all recordings."""
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    count = POLICIES * EPISODES_EACH
    worlds = {
        "simple_static_6": (Rtfm(count), rtfm_extras(False)),
        "simple_dyna_8": (Rtfm(count, size=8, dyna=True), rtfm_extras(False)),
        "group_dyna_6": (Rtfm(count, group=True, dyna=True), rtfm_extras(True)),
        "rps_6": (RockPaperScissors(count, size=6), rps_extras),
    }
    for name, (world, extras) in worlds.items():
        np.savez_compressed(RECORDINGS / f"{name}.npz", **recording(world, extras))
    statistics = {}
    for name in STATISTICS:
        for mode in ("legal", "any"):
            wins, lengths = first_episodes(SETTINGS[name](EPISODES_COUNTED), mode, seed=1)
            measured = {"n": len(wins), "wins": wins.sum(), "win_rate": wins.mean(), "mean_len": lengths.mean()}
            errors = {"win_se": wins.std() / len(wins) ** 0.5, "len_se": lengths.std() / len(wins) ** 0.5}
            statistics |= {f"{name}_{mode}_{key}": np.array(value) for key, value in (measured | errors).items()}
    np.savez_compressed(RECORDINGS / "stats.npz", **statistics)


if __name__ == "__main__":
    main()
