"""Write the small recordings of MESSENGER that every checkout replays: `python -m tests.golden.record_messenger`.

They are ours, in the schema of those of the authors' engines: the worlds themselves play, so they hold the rules still
rather than prove them. Write them anew only when a rule changes on purpose, and say so in the world's history.
"""

from pathlib import Path

import numpy as np

from rl_envs.messenger.games import games_by_rule
from rl_envs.messenger.symbols import FIRST_ENTITY, STEPS, SYMBOLS
from rl_envs.messenger.team_rules import RELEASED
from rl_envs.messenger.world import STEP_LIMITS, Messenger
from tests.golden.messenger_play import NUM_ACTIONS, first_episodes, setting
from tests.golden.messenger_replay import events, touched

RECORDINGS = Path(__file__).parent / "recordings" / "messenger"
SPLITS = {"train_mc": "train_multi_comb", "train_sc": "train_single_comb", "val": "val", "test": "test"}
POLICIES, EPISODES_EACH, RANDOM_SHARE = 6, 3, 0.1
ROUTES = {1: ((), (1, 2), (2, 2), (0, 0), (1, 0), (1, 1)), 2: ((), (1, 3), (3, 3), (1, 0), (0, 3), (1, 1))}
"""By number of agents and policy: where it goes first, and once it has the message; policy 0 is random."""
ROLES = {
    3: ("enemy", "message", "goal"),
    5: ("enemy", "message", "goal", "decoy_message", "decoy_goal"),
    2: ("enemy", "message1", "message2", "goal1", "goal2"),
}
STATISTICS = ("single_stage1", "single_stage2", "two_agent_stage1_limit4", "two_agent_stage2_limit32")
EPISODES_COUNTED = 2_000


def actions(world, policy, random):
    """By route, each agent to an object of its own where there are two; now and then at random."""
    wishes = random.integers(NUM_ACTIONS, size=(world.num_worlds, world.num_agents))
    state, agents = world.state, world.num_agents
    for row in range(world.num_worlds):
        if policy[row] == 0:
            continue
        for agent in range(agents):
            goal = ROUTES[agents][policy[row]][int(state["has_message"][row, agent])]
            goal += agent * (agents == 2 and goal > 0)
            apart = state["entity_places"][row, goal] - state["avatar_places"][row, agent]
            if random.random() > RANDOM_SHARE:
                wishes[row, agent] = np.argmin([abs(apart - 2 * np.array(step)).sum() for step in STEPS])
    return wishes


def play(world, limit):
    """First episodes of all worlds: what each step found and left, by world."""
    random, policy = np.random.default_rng(0), np.arange(world.num_worlds) % POLICIES
    world.auto_resets = False
    steps, ended = [[] for _ in range(world.num_worlds)], np.zeros(world.num_worlds, bool)
    for _ in range(limit):
        before = {name: value.copy() for name, value in world.state.items()}
        chosen = actions(world, policy, random)
        _, reward, over, _, _ = world.step(chosen)
        after = {name: value.copy() for name, value in world.state.items()}
        written = record(world, before, after) | {"action": chosen, "reward": reward[:, 0], "done": over}
        for row in np.flatnonzero(~ended):
            steps[row].append({name: value[row] for name, value in written.items()})
        ended |= over
    return policy, steps


def record(world, before, after):
    """One step of all worlds in the schema."""
    common = {name: places(world, after[f"{kind}_places"]) for name, kind in AFTER.items()}
    common |= {"has_message": after["has_message"]}
    if world.num_agents == 2:
        latch = {"latch": after["reached"].reshape(world.num_worlds, -1)} if world._stage == 3 else {}
        return common | {"touch": touched(after)} | latch
    alive = {"npc_alive": after["entity_here"], "avatar_alive": after["avatar_alive"]}
    more = {"touch": touched(after)} if world._stage == 1 else {"events": events(before, after)[:, None]}
    return common | alive | more


AFTER = {"npc_after": "entity", "avatar_after": "avatar"}


def places(world, half_cells):
    """(x, y) in the recordings' units: half cells where entities move by them."""
    return half_cells[..., ::-1] // units(world)


def units(world):
    return 1 if world.num_agents == 1 and world._stage > 1 else 2


def recording(stage, num_agents):
    """Arrays of the schema."""
    limit = STEP_LIMITS[num_agents][stage - 1]
    parts = [episodes(stage, num_agents, number, limit) for number in range(len(SPLITS))]
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    lengths = arrays.pop("lengths")
    entities = arrays["ep_npc0"].shape[1]
    names = {"avatar": "no_message", "avatar with message": "with_message", "nothing": "", "reserved": ""}
    return arrays | {
        "ep_start": np.cumsum([0, *lengths]).astype(np.int32),
        "splits": np.array(list(SPLITS)),
        "symbols": np.array([names.get(symbol, symbol) for symbol in SYMBOLS]),
        "npc_roles": np.array(ROLES[2 if num_agents == 2 else entities]),
        "limit": np.int16(limit),
        "units_per_cell": np.int8(2 if num_agents == 1 and stage > 1 else 1),
    }


def episodes(stage, num_agents, split, limit):
    """Episodes of one split."""
    world = Messenger(
        POLICIES * EPISODES_EACH,
        stage=stage,
        num_agents=num_agents,
        split=list(SPLITS)[split],
        released=list(RELEASED) if num_agents == 2 else (),
        max_episode_steps=limit + 1,
    )
    world.reset(split)
    start = {name: value.copy() for name, value in world.state.items()}
    policy, steps = play(world, limit)
    of_one = num_agents == 1
    arrays = {name: np.stack([step[name] for rows in steps for step in rows]) for name in steps[0][0]}
    arrays |= {
        "ep_npc0": places(world, start["entity_places"]),
        "ep_avatar0": places(world, start["avatar_places"]),
        "ep_with_message0": start["has_message"],
    }
    for name in ("action", "avatar_after", "has_message", "avatar_alive", "touch", "events", "ep_avatar0"):
        if of_one and name in arrays:
            arrays[name] = arrays[name][:, 0]
    if of_one:
        arrays |= {"ep_with_message0": start["has_message"][:, 0], "ep_types": start["entity_movements"]}
    types = {"reward": np.float32, "touch": np.uint8, "events": np.uint8}
    arrays = {
        name: value.astype(types.get(name, bool if value.dtype == bool else np.int8)) for name, value in arrays.items()
    }
    games = [FIRST_ENTITY + games_by_rule()[SPLITS[name]] for name in SPLITS]
    assert {tuple(game) for game in start["described"].tolist()} <= {tuple(game) for game in games[split].tolist()}
    return arrays | {
        "ep_split": np.full(world.num_worlds, split, np.int8),
        "ep_game": start["described"].astype(np.int8),
        "ep_policy": policy.astype(np.int8),
        "lengths": np.array([len(rows) for rows in steps]),
    }


def statistics(name):
    """Ends and lengths of random play, and what the entities did."""
    make, limit = setting(name)
    last, lengths, out_of_time = first_episodes(make(EPISODES_COUNTED), limit, seed=1)
    found = {
        "n": len(last),
        "win": (last == 1).sum(),
        "loss": (last < 0).sum(),
        "timeout": out_of_time.sum(),
        "mean_len": lengths.mean(),
        "len_se": lengths.std() / len(lengths) ** 0.5,
    } | ({"half": (last == 0.5).sum()} if name.startswith("two") else {})
    return {f"{name}_{key}": np.array(value) for key, value in found.items()}


def main():
    """Write all recordings."""
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    for num_agents, name in ((1, "single"), (2, "two_agent")):
        for stage in (1, 2, 3):
            np.savez_compressed(RECORDINGS / f"{name}_stage{stage}.npz", **recording(stage, num_agents))
        counted = [statistics(setting) for setting in STATISTICS if setting.startswith(name)]
        merged = {key: value for one in counted for key, value in one.items()}
        np.savez_compressed(RECORDINGS / f"stats_{name}.npz", **merged)


if __name__ == "__main__":
    main()
