"""Where FurnMove's worlds meet its minds: sizes, coordination sets, the paper's metrics and its pictures.

Shared by every experiment on A Cordial Sync's gridworld.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rl_envs import World
from rl_envs.furnmove.actions import ACTION_NAMES
from rl_models.distributions.mixture import MixtureOfMarginals, as_mixture
from rl_models.losses.cordial import CoordinationSet, CordialForm
from rl_models.team_policy import TeamOutput, TeamPolicy
from rl_models.training.coordination import CoordinationProbe
from rl_models.training.evaluation import Evaluation
from tune_experiments.common import plots
from tune_experiments.common.experiment import Episodes
from tune_experiments.common.policies import load_policy, newest_checkpoint
from tune_experiments.common.recording import record_episode
from tune_experiments.common.video import write_gif

EVALUATION_SEED = 229
"""Of every evaluation: all methods and seeds meet the same rooms and starts."""
CURVES = {
    "valid/success": "success, validation rooms",
    "valid/invalid_probability": "invalid probability",
    "valid/tvd": "total variation distance",
}
ACTION_CLASSES = {"NAV": range(4), "MWO": range(4, 8), "RO": range(8, 9), "MO": range(9, 13)}
_LARGEST_JOINT = 200


def sizes(world: World) -> dict[str, Any]:
    """What a network must know of a FurnMove world."""
    view = world.observation_spec["view"].shape
    return {"num_agents": world.num_agents, "view": view, "actions": world.action_spec}


def coordination_set(world: World, form: CordialForm = "code") -> CoordinationSet:
    """Coordination sets of a FurnMove world; the code's form of CORDIAL averages navigation apart from the rest."""
    actions = torch.from_numpy(world.tables["coordinated_actions"])
    moves_object = torch.from_numpy((world.tables["coordinated_modality"] > 0).astype(np.int64))
    return CoordinationSet(actions, moves_object.expand(actions.shape[:2]), form)


class FurnitureProbe(CoordinationProbe):
    """The paper's policy metrics, and for two agents the joint policy itself (figures 5 and 13)."""

    def __call__(self, output: TeamOutput, obs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """[B, 1] each, and `_joint_policy` [B, 1, A, A]."""
        metrics = super().__call__(output, obs)
        return metrics | _pictured(as_mixture(output.policy))


def _pictured(policy: MixtureOfMarginals) -> dict[str, torch.Tensor]:
    joint_actions = policy.log_marginals.shape[-1] ** policy.num_agents
    return {"_joint_policy": policy.joint()} if policy.num_agents == 2 and joint_actions < _LARGEST_JOINT else {}


def evaluate(make_world: Callable[[int], World], policy: TeamPolicy, episodes: int) -> Episodes:
    """Play one fixed episode in each of `episodes` worlds and keep the paper's metrics.

    Args:
        make_world: number of worlds -> worlds.
        policy: who plays; actions are sampled, as the paper does.
        episodes: number of worlds.

    Returns:
        metric -> [K]; `return` is the team's sum. `_joint_policy` is the mean joint policy, [A, A].
    """
    world = make_world(episodes)
    played = Evaluation(world, policy, FurnitureProbe(coordination_set(world))).run(EVALUATION_SEED)
    played["return"] = played["return"].sum(-1)
    return {name: value.mean(0) if name[0] == "_" else value for name, value in played.items()}


def draw(out: Path, trials: dict[str, dict[int, Path]]) -> Sequence[Path]:
    """Curves, joint policies and one episode a method; whatever is not there yet is left out."""
    written = []
    metrics = {
        method: [folder / "metrics.jsonl" for folder in seeds.values() if (folder / "metrics.jsonl").exists()]
        for method, seeds in trials.items()
    }
    if any(metrics.values()):
        written.append(plots.learning_curves({m: f for m, f in metrics.items() if f}, out / "plots/curves.png", CURVES))
    policies = {method: joint for method, seeds in trials.items() if (joint := _mean_joint(seeds)) is not None}
    if policies:
        path = out / "plots/joint_policy.png"
        written.append(plots.joint_policy(policies, ACTION_NAMES, ACTION_CLASSES, path))
    for method, seeds in trials.items():
        checkpoint = newest_checkpoint(next(iter(seeds.values())))
        if checkpoint is not None:
            frames = record_episode(load_policy(checkpoint))
            written.append(write_gif(frames, out / f"videos/{method}.gif"))
    return written


def _mean_joint(seeds: dict[int, Path]) -> np.ndarray | None:
    found = [np.load(path)["_joint_policy"] for folder in seeds.values() for path in folder.glob("*_pictures.npz")]
    return np.mean(found, axis=0) if found else None
