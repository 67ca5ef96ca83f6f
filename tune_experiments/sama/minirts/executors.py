"""Executors of commands: fixed rules, or a team that RED has trained.

Both play in the same games; draws come from the games' own chance, so that a round that is tried again repeats. This
file must not know who named the sub-goals.
"""

from __future__ import annotations

import numpy as np
import torch

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_CONTINUE, MAX_LISTED, UNIT_FACTORS
from rl_envs.minirts.tick import RUNNING
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import device_of, to_device
from rl_models.training.collector import to_numpy
from tune_experiments.red.decisions import per_unit_actions
from tune_experiments.red.scripted import team_commands
from tune_experiments.sama.minirts.play import Executor
from tune_experiments.sama.minirts.world import PlannedRts

FORMS = {False: "per_unit", True: "collective"}
"""Form of the actions, of rules and of a learned team."""


def scripted(world: PlannedRts) -> Arrays:
    """The 17 phrases by fixed rules (`red/scripted.py`); nothing is learned."""
    tables = np.zeros((world.num_worlds, world.num_agents, MAX_LISTED, len(UNIT_FACTORS)), np.int32)
    tables[..., 0] = C_CONTINUE
    for index in np.flatnonzero(world.games["result"] == RUNNING).tolist():
        tables[index] = team_commands(world.seen, index, world.latest_commands(index))
    return per_unit_actions(tables)


def learned(policy: TeamPolicy) -> Executor:
    """A team without memory that follows commands; actions are sampled."""
    device = device_of(policy)

    @torch.inference_mode()
    def choose(world: PlannedRts) -> Arrays:
        worlds = world.num_worlds
        obs = to_device({name: value[:, None] for name, value in world.observe().items()}, device)
        is_first = torch.zeros(worlds, 1, dtype=torch.bool, device=device)
        output = policy(obs, policy.initial_state(worlds), is_first)
        uniforms: Array = world.chance.policy_uniforms(output.policy.num_uniforms)
        actions = to_numpy(output.policy.sample(torch.from_numpy(uniforms)[:, None].to(device))[0])
        assert isinstance(actions, dict)  # a collective action has factors
        return actions

    return choose
