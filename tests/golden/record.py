"""Write the small recordings that every checkout replays: `python -m tests.golden.record`.

They are ours: the world itself plays in a room drawn here, so they hold the rules still rather than prove them, and are
equal to recordings of the authors' engine because the world replays those without a mismatch (GOLDEN_DIR). The numbers
of `losses.npz` come from the definitions written out over the whole joint tensor, not from the code that they test.
Write them anew only when a rule changes on purpose, and say so in the world's history.
"""

import json
from pathlib import Path

import numpy as np
import torch

from rl_envs.furnmove.actions import MODALITY, NAVIGATE, NUM_ACTIONS, coordination_matrix, is_coordinated
from rl_envs.furnmove.geometry import HOLD_TEMPLATE
from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.world import FAILURE_PENALTY, STEP_PENALTY, FurnMove

RECORDINGS = Path(__file__).parent / "recordings"
DRAWING = (
    "  .............   ",
    "...............   ",
    "...............   ",
    "....oooo..........",
    "....oooo..........",
    "....oooo......XX..",
    "..............XX..",
    "..................",
    ".........ooo......",
    "..oo.....ooo......",
    "..oo..............",
    "..................",
)
ROOM = room_from_drawing("hall", DRAWING)
LIMIT = 250
SHORT_ENOUGH = 60
TRIES = 48
SOLVED_EPISODES = 6
OBSERVED_EVERY, MATRIX_EVERY = 5, 10


def play(num_agents, solver_share):
    """Step TRIES worlds to their first end: per world what happened, and whether it was solved.

    In `solver_share` of the steps a world takes a joint action that brings the television nearest to the stand, else a
    coordinated one or any one by chance.
    """
    random = np.random.default_rng(num_agents)
    world = FurnMove(TRIES, num_agents=num_agents, rooms=[ROOM], max_episode_steps=LIMIT)
    obs = world.reset(num_agents)
    table = world.tables["coordinated_actions"]
    trial = FurnMove(TRIES, num_agents=num_agents, rooms=[ROOM], max_episode_steps=LIMIT + 1)
    episodes = [{"start": {k: v[row].copy() for k, v in world.state.items()}, "steps": []} for row in range(TRIES)]
    for episode, view in zip(episodes, obs["view"], strict=True):
        episode["views"] = [view]
    ended = np.zeros(TRIES, bool)
    while not ended.all():
        actions = random.integers(NUM_ACTIONS, size=(TRIES, num_agents))
        choices = table[obs["coordination"][:, 0]]
        listed = random.random(TRIES) < 0.75
        actions[listed] = choices[listed, random.integers(choices.shape[1], size=listed.sum())]
        solves = random.random(TRIES) < solver_share
        if solves.any():
            actions[solves] = nearest(world, trial, choices, random)[solves]
        before = {name: value.copy() for name, value in world.state.items()}
        obs, reward, terminated, truncated, info = world.step(actions)
        after, views = {name: value.copy() for name, value in world.state.items()}, obs["view"].copy()
        if info["done_worlds"].size:
            views[info["done_worlds"]] = info["final_obs"]["view"]
            for name, value in info["final_state"].items():
                after[name][info["done_worlds"]] = value
        for row in np.flatnonzero(~ended):
            step = {name: after[name][row].copy() for name in ("agent_cells", "agent_headings", "tv", "stand")}
            step |= {"actions": actions[row], "reward": reward[row], "headings_before": before["agent_headings"][row]}
            step |= {"success": terminated[row], "done": terminated[row] or truncated[row]}
            episodes[row]["steps"].append(step)
            episodes[row]["views"].append(views[row])
        for place, row in enumerate(info["done_worlds"]):
            if not ended[row]:
                episodes[row]["metrics"] = {name: value[place] for name, value in info["episode"].items()}
        ended |= terminated | truncated
    return episodes


def nearest(world, trial, choices, random):
    """[B, N], in each world the coordinated joint action after which the television is nearest to the stand."""
    best, distance = choices[:, 0].astype(int), np.full(TRIES, np.inf)
    names = ("room", "agent_cells", "agent_headings", "tv", "stand")
    for candidate in range(choices.shape[1]):
        trial.restore({name: world.state[name] for name in names})
        actions = choices[:, candidate].astype(int)
        trial.auto_resets = False
        trial.step(actions)
        reached = abs(trial.state["tv"][:, :2] - trial.state["stand"][:, :2]).sum(1) + random.random(TRIES) * 1.5
        better = reached < distance
        best[better], distance[better] = actions[better], reached[better]
    return best


def chosen(num_agents):
    """A few solved episodes of few steps, and one that runs into the limit."""
    solved = [e for e in play(num_agents, 0.6) if e["steps"][-1]["success"] and 4 <= len(e["steps"]) <= SHORT_ENOUGH]
    stopped = [episode for episode in play(num_agents, 0.0) if not episode["steps"][-1]["success"]]
    return [(episode, "greedy") for episode in solved[:SOLVED_EPISODES]] + [(stopped[0], "mix")]


def bits(array):
    return np.packbits(np.asarray(array, np.uint8).reshape(-1))


def trajectories(num_agents):
    """Arrays of the trajectory schema."""
    episodes = chosen(num_agents)
    steps = [step for episode, _ in episodes for step in episode["steps"]]
    lengths = [len(episode["steps"]) for episode, _ in episodes]
    reward = np.stack([step["reward"] for step in steps])
    closer = 2.0 if num_agents > 2 else 1.0
    views, matrices = [], []
    for number, (episode, _) in enumerate(episodes):
        length = len(episode["steps"])
        observed = sorted({*range(0, length, OBSERVED_EVERY), length})
        views += [(number, time, bits(episode["views"][time])) for time in observed]
        headings = {time: episode["steps"][time]["headings_before"] for time in range(0, length, MATRIX_EVERY)}
        matrices += [(number, time, bits(coordination_matrix(row))) for time, row in headings.items()]
    metrics = {name: np.array([e["metrics"][name] for e, _ in episodes]) for name in episodes[0][0]["metrics"]}
    actions = np.stack([step["actions"] for step in steps])
    before = np.stack([step["headings_before"] for step in steps])
    meta = {
        "schema": "furnmove-grid-trajectories/1",
        "room": ROOM.name,
        "n_agents": num_agents,
        "max_joint_steps": LIMIT,
        "obs_shape": list(episodes[0][0]["views"][0].shape),
        "S_shape": [NUM_ACTIONS] * num_agents,
        "step_penalty": STEP_PENALTY,
        "failed_action_penalty": FAILURE_PENALTY,
        "moved_closer_reward": closer,
        "recorded_by": "Concord's own world",
    }
    tv, stand = (np.stack([step[name] for step in steps]) for name in ("tv", "stand"))
    return {
        "meta": np.array(json.dumps(meta)),
        "agent_mask": ROOM.agent_cells,
        "tv_masks": ROOM.tv_cells,
        "hold_template": HOLD_TEMPLATE.astype(np.int8),
        "ep_start": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        "ep_controller": np.array([controller for _, controller in episodes]),
        "ep_success": metrics["success"] == 1,
        "ep_length": metrics["length"].astype(np.int32),
        "ep_initial_manhattan": metrics["start_distance"].astype(np.int32),
        "ep_final_distance_m": metrics["final_distance"],
        "ep_spl_manhattan": metrics["md_spl"],
        **{
            f"init_{name}": np.stack([episode["start"][name] for episode, _ in episodes]).astype(np.int16)
            for name in ("agent_cells", "agent_headings", "tv", "stand")
        },
        "actions": actions.astype(np.int8),
        "agent_cells": np.stack([step["agent_cells"] for step in steps]).astype(np.int16),
        "agent_headings": np.stack([step["agent_headings"] for step in steps]).astype(np.int8),
        "tv": tv.astype(np.int16),
        "reward": reward,
        "action_success": ~np.isclose((reward - STEP_PENALTY) % closer, FAILURE_PENALTY % closer),
        "coordinated": is_coordinated(actions, before),
        "done": np.array([step["done"] for step in steps]),
        "success": np.array([step["success"] for step in steps]),
        "distance": abs(tv[:, :2] - stand[:, :2]).sum(1).astype(np.int16),
        **listed("obs", views),
        **listed("S", matrices),
    }


def listed(kind, rows):
    episode, time, packed = zip(*rows, strict=True)
    return {
        f"{kind}_episode": np.array(episode, np.int16),
        f"{kind}_t": np.array(time, np.int16),
        f"{kind}_bits": np.stack(packed),
    }


def losses():
    """Arrays of the losses schema, for mixtures small enough to write out."""
    random = np.random.default_rng(7)
    cases = {
        f"n{agents}_m{components}": (agents, components) for agents, components in ((2, 1), (2, 3), (3, 1), (3, 2))
    }
    data = {"meta": np.array(json.dumps({"schema": "furnmove-losses/1", "cases": list(cases), "n_actions": 13}))}
    for name, (agents, components) in cases.items():
        batch = 4 if agents == 2 else 2
        headings = random.integers(4, size=(batch, agents))
        given = {
            "mixture_logits": random.normal(size=(batch, components)),
            "policy_logits": 2 * random.normal(size=(batch, agents, components, NUM_ACTIONS)),
        }
        data |= {f"{name}_{key}": value for key, value in given.items()}
        data[f"{name}_headings"] = headings.astype(np.int8)
        data[f"{name}_S_bits"] = np.stack([bits(coordination_matrix(row)) for row in headings])
        for kind, dtype in (("f64", np.float64), ("f32", np.float32)):
            numbers = by_definition(headings, *(value.astype(dtype) for value in given.values()), kind == "f64")
            data |= {f"{name}_{key}_{kind}": value.astype(dtype) for key, value in numbers.items()}
    episodes = np.array([0, 1, 100, 2500, 4949, 4950, 4951, 5000, 20_000])
    return data | {"beta_episode": episodes, "beta": np.maximum(0.01, (5000 - episodes) / 5000)}


def by_definition(headings, mixture_logits, policy_logits, with_gradients):
    """Every quantity of the schema from the whole joint tensor, in double precision."""
    logits = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in (mixture_logits, policy_logits)]
    alpha, pi = logits[0].softmax(-1), logits[1].softmax(-1)
    agents = headings.shape[1]
    letters = "xyz"[:agents]
    joint = torch.einsum(f"bj,{','.join('bj' + x for x in letters)}->b{letters}", alpha, *pi.unbind(1))
    matrices = torch.from_numpy(coordination_matrix(headings)).double()
    navigates = torch.from_numpy(MODALITY == NAVIGATE).double()
    both = matrices * (
        navigates.reshape(-1, *[1] * (agents - 1))
    )  # agent 0 navigates, so all of a coordinated tuple do
    axes = tuple(range(1, agents + 1))
    mean_over = [(joint.log() * part).sum(axes) / part.sum(axes) for part in (both, matrices - both, matrices)]
    code, paper = -(mean_over[0] + mean_over[1]) / 2, -mean_over[2]
    own = [joint.sum([axis for axis in axes if axis != agent + 1]) for agent in range(agents)]
    product = torch.einsum(f"{','.join('b' + x for x in letters)}->b{letters}", *own)
    distance = (joint - product).abs().sum(axes)
    with_component = alpha[:, None, :, None] * pi
    numbers = {
        "cordial_code": code,
        "cordial_paper": paper,
        "cordial_code_rollout": code.mean(),
        "invalid_prob": (joint * (1 - matrices)).sum(axes),
        "l1_to_product": distance,
        "tvd": distance / 2,
        "entropy_joint": -(with_component * with_component.log()).sum((-1, -2)),
        "entropy_marginal": torch.stack([torch.special.entr(part).sum(-1) for part in own], dim=1),
    }
    if agents == 2:
        numbers |= {"joint": joint, "log_joint": joint.log()}
    if with_gradients:
        for form, loss in (("code", code), ("paper", paper)):
            for part, gradient in zip(
                ("mixture", "policy"), torch.autograd.grad(loss.sum(), logits, retain_graph=True), strict=True
            ):
                numbers[f"grad_{form}_{part}_logits"] = gradient
    return {name: value.detach().numpy() for name, value in numbers.items()}


def main():
    """Write all recordings."""
    RECORDINGS.mkdir(exist_ok=True)
    for num_agents in (2, 3):
        np.savez_compressed(RECORDINGS / f"traj_n{num_agents}_{ROOM.name}.npz", **trajectories(num_agents))
    np.savez_compressed(RECORDINGS / "losses.npz", **losses())


if __name__ == "__main__":
    main()
