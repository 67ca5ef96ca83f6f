"""Random play in any world: uniform legal actions."""

import numpy as np

from rl_envs.core.spec import Actions, Arrays, NumbersSpec
from rl_envs.core.world import World


def random_legal_actions(world: World, obs: Arrays, draws: np.random.Generator) -> Actions:
    """A uniform legal action of each agent, [B, N] or a dict of such arrays, as `World.step` takes them.

    In `obs`, the current observations [B, N, ...], `legal` is the concatenated mask of all parts of an action.
    """
    spec = world.action_spec if isinstance(world.action_spec, dict) else {"": world.action_spec}
    actions, first, legal = {}, 0, obs.get("legal")
    for name, part in spec.items():
        if isinstance(part, NumbersSpec):
            drawn = part.low + (part.high - part.low) * draws.random((world.num_worlds, *part.low.shape))
            actions[name] = np.clip(drawn.astype(np.float32), part.low, part.high)
            continue
        chances = draws.random((world.num_worlds, world.num_agents, part))
        mask = True if legal is None else legal[..., first : first + part]
        actions[name] = np.where(mask, chances, -1.0).argmax(-1)
        first += part
    return actions if isinstance(world.action_spec, dict) else actions[""]
