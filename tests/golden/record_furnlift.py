"""Write the small FurnLift recordings that every checkout replays: `python -m tests.golden.record_furnlift`.

They are ours: the world itself plays in a room drawn here, so they hold the rules still rather than prove them, and are
equal to recordings of the authors' code because the world replays those without a mismatch (GOLDEN_DIR). The losses
come from their definitions written out in NumPy. Write them anew only when a rule changes on purpose.
"""

import json
from pathlib import Path

import numpy as np

from rl_envs.furnlift.actions import ACTION_NAMES, NUM_ACTIONS, PICKUP
from rl_envs.furnlift.expert import Expert
from rl_envs.furnlift.scene import Scenes
from rl_envs.furnlift.world import FurnLift
from rl_envs.furnmove.room import room_from_drawing

RECORDINGS = Path(__file__).parent / "recordings" / "furnlift"
DRAWING = (
    ".............",
    ".............",
    "....oo.......",
    "....oo.......",
    ".............",
    "..........oo.",
    ".............",
    ".............",
    "XX...........",
    "XX.........##",
)
ROOM = room_from_drawing("hall", DRAWING)
EPISODES, LIMIT, SEPARATION = 4, 60, 8
EXPERT_SHARES = (0.9, 0.6, 0.6, 0.0)


def episode(number):
    """Play one episode, in which the expert acts in a share of the steps: the recording's object."""
    random, world = np.random.default_rng(number), one_world()
    world.reset(number)
    tv, closed = world.state["tv"][0].copy(), world.state["closed_cells"][0] & ROOM.agent_cells
    is_open = ROOM.agent_cells & ~closed
    pairs = Scenes([ROOM], SEPARATION).at(0, tv).pairs
    expert, usable = Expert(is_open, pairs, heading_ring=False), np.ones(len(pairs), bool)
    first, steps, info = agents_of(world), [], None
    while info is None:
        before, sees = agents_of(world), world.sees_television()[0]
        far = abs(before[0, :2] - before[1, :2]).sum() >= SEPARATION
        advice = expert.advise(before, usable, bool(far and sees.all()))
        actions = random.integers(NUM_ACTIONS, size=2)
        if random.random() < EXPERT_SHARES[number]:
            actions = np.array(advice.actions)
        _, reward, terminated, truncated, step_info = world.step(actions[None])
        steps.append(step_of(actions, sees, advice, reward[0], far, agents_of(world)))
        if terminated[0] or truncated[0]:
            info = {name: value[0] for name, value in step_info["episode"].items()}
    return {
        "scene": ROOM.name, "seed": number, "tv": tv.tolist(), "blocked_by_tv": np.argwhere(closed).tolist(),
        "agents": first.tolist(), "groups": pairs.tolist(), "max_joint_steps": LIMIT,
        "min_separation_cells": SEPARATION, "steps": steps, "info": info_of(info),
    }  # fmt: skip


def one_world():
    world = FurnLift(1, rooms=[ROOM], max_episode_steps=LIMIT, min_separation_cells=SEPARATION)
    world.auto_resets = False
    return world


def agents_of(world):
    return np.concatenate([world.state["agent_cells"], world.state["agent_headings"][..., None]], axis=-1)[0]


def step_of(actions, sees, advice, reward, far, after):
    targets = None if advice.targets is None else advice.targets.tolist()
    return {
        "a": actions.tolist(), "vis": sees.tolist(), "expert": list(map(int, advice.actions)),
        "expert_target": targets, "expert_options": None if targets is None else [list(o) for o in advice.options],
        "r": reward.round(9).tolist(), "ok": np.isin(reward.round(9), (1.0, -0.01)).tolist(),
        "far": [bool(far)] * 2, "after": after.tolist(),
    }  # fmt: skip


def info_of(metrics):
    return {
        "accuracy": int(metrics["success"]),
        "ep_length": int(2 * metrics["length"]),
        "pickupable_but_not_picked": int(metrics["missed_pickups"]),
        "picked_but_not_pickupable": int(metrics["failed_pickups"]),
        "picked_but_not_pickupable_distance": int(metrics["failed_pickups_distance"]),
        "picked_but_not_pickupable_visibility": int(metrics["failed_pickups_visibility"]),
        "reward": float(metrics["return"].sum()),
        "initial_manhattan_steps": float(metrics["start_distance"]),
        "final_manhattan_distance_from_target": round(float(metrics["final_distance"]), 2),
        "spl_manhattan": float(metrics["md_spl"]),
    }


def rollout(number, kind):
    """A rollout of random network outputs with its losses, all from their definitions."""
    random, steps = np.random.default_rng(number), 5
    outputs = [output(random, kind) for _ in range(steps)]
    bootstrap = random.normal(size=(1 if kind == "central" else 2, 1))
    recorded = [step(random, kind, net) for net in outputs]
    policy_loss = value_loss = entropy = expert = 0.0
    future, gain = bootstrap[:, 0], np.zeros(len(bootstrap))
    for net, now in zip(reversed(outputs), reversed(recorded), strict=True):
        value, reward = np.array(net["value_all"])[:, 0], np.array(now["rewards"])[: len(bootstrap)]
        gain = reward + 0.99 * future - value + 0.99 * gain
        future = value
        policy_loss -= (np.array(now["log_prob_of_action"]) * gain).sum() / steps
        value_loss += 0.25 * (gain**2).sum() / steps
        joint = joint_of(net, kind)
        plain = [joint] if kind == "central" else [joint.sum(1), joint.sum(0)]
        entropy += 0.01 * sum((part * np.log(part)).sum() for part in plain) / steps
        expert -= np.log(joint[tuple(now["expert"])]) / steps
    losses = {"xe_loss": expert, "a3c_policy_loss": policy_loss, "a3c_value_loss": value_loss}
    losses["a3c_entropy_loss"] = entropy
    for net, now in zip(outputs, recorded, strict=True):
        now["net"] = net
    return {
        "kind": kind, "m": 2 if kind == "sync" else None, "take_expert_probability": 0.0, "episode_ended": False,
        "steps": recorded, "bootstrap_value": bootstrap.tolist(), "losses": losses,
    }  # fmt: skip


def output(random, kind):
    shapes = {
        "sync": {"value_all": (2, 1), "coordinated_logits": (2, 10), "randomization_logits": (1, 2)},
        "marginal": {"value_all": (2, 1), "logit_all": (2, 5)},
        "central": {"value_all": (1, 1), "logit_all": (1, 25)},
    }
    return {name: (2 * random.normal(size=shape)).tolist() for name, shape in shapes[kind].items()}


def softmax(logits):
    powers = np.exp(logits - np.max(logits, -1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def parts_of(net, kind):
    """Weights [M] and policies [2, M, 5] of a mixture."""
    if kind == "marginal":
        return np.ones(1), softmax(np.array(net["logit_all"]))[:, None]
    return softmax(np.array(net["randomization_logits"])[0]), softmax(
        np.array(net["coordinated_logits"]).reshape(2, 2, 5)
    )


def joint_of(net, kind):
    if kind == "central":
        return softmax(np.array(net["logit_all"])[0]).reshape(5, 5)
    weights, policies = parts_of(net, kind)
    return np.einsum("j,jx,jy->xy", weights, *policies)


def step(random, kind, net):
    actions, expert, joint = random.integers(5, size=2), random.integers(5, size=2), joint_of(net, kind)
    component, log_prob = None, [np.log(joint[tuple(actions)])]
    if kind != "central":
        weights, policies = parts_of(net, kind)
        component = int(random.integers(len(weights)))
        log_prob = [np.log(weights[component] * policies[agent, component, actions[agent]]) for agent in range(2)]
    product = np.outer(joint.sum(1), joint.sum(0))
    reward = random.choice([-0.01, -0.13, 1.0], size=2)
    return {
        "expert": expert.tolist(), "took_expert": False, "actions": actions.tolist(),
        "rewards": [float(reward.sum())] * 2 if kind == "central" else reward.tolist(),
        "component": component if kind == "sync" else None,
        "dist_to_low_rank": float(abs(joint - product).sum()),
        "invalid_prob_mass": float(joint[PICKUP, :PICKUP].sum() + joint[:PICKUP, PICKUP].sum()),
        "log_prob_of_action": [float(value) for value in log_prob],
    }  # fmt: skip


def coordination():
    types = np.zeros((NUM_ACTIONS, NUM_ACTIONS), int)
    types[PICKUP, :PICKUP] = types[:PICKUP, PICKUP] = -1
    types[PICKUP, PICKUP] = 6
    return {"actions": list(ACTION_NAMES), "coordination_type": types.tolist()}


def write_lines(name, objects):
    lines = [json.dumps(found, separators=(",", ":")) for found in objects]
    (RECORDINGS / name).write_text("\n".join(lines) + "\n")


def main():
    """Write all recordings."""
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    write_lines("episodes_hall.jsonl", [episode(number) for number in range(EPISODES)])
    kinds = enumerate(("sync", "marginal", "central"))
    write_lines("losses_hall.jsonl", [rollout(number, kind) for number, kind in kinds])
    rows = ["".join("." if free else "#" for free in row) for row in ROOM.agent_cells]
    (RECORDINGS / "rooms_hall.json").write_text(json.dumps({ROOM.name: rows}, indent=0) + "\n")
    (RECORDINGS / "coordination_hall.json").write_text(json.dumps(coordination()) + "\n")


if __name__ == "__main__":
    main()
