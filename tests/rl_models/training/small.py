"""Small teams and worlds, and fragments of them, for the tests of training."""

import numpy as np
import torch

from rl_envs.furnmove.actions import NUM_ACTIONS
from rl_envs.furnmove.observation import VIEW, num_channels
from rl_envs.registry import make
from rl_models.batch import forward, to_batch
from rl_models.losses.cordial import CoordinationLoss, CoordinationSet
from rl_models.networks.network_config import TboneConfig, VectorConfig
from rl_models.schedule import Progress, Schedule
from rl_models.teams.tbone_team import central_team, tbone_team
from rl_models.teams.vector_team import vector_team
from rl_models.training.collector import Collector
from tests.toy_worlds import Errands

NETWORK = TboneConfig(cell_features=4, channels=(4, 4, 8, 8), agent_features=3, hidden_size=16, message_features=4)
HORIZON, LENGTH = 7, 9
CENTRAL = "central"
ROUNDING = ("log_prob", "agent_log_prob", "values", "final_values", "last_values", "state/")
"""What differs by rounding where worlds are played in other batches."""


def rooms(num_worlds, first_world=0, agents=2, **arguments):
    """FurnMove in small rooms; episodes end every 7 steps at the latest, inside every fragment."""
    arguments = {"max_episode_steps": HORIZON, "room_size": "laptop", "rooms": "valid"} | arguments
    return make("furnmove-v0", num_worlds, first_world=first_world, num_agents=agents, **arguments)


def team(components=3, agents=2, seed=0):
    """A TBONE team with that many components, or a central one for `CENTRAL`."""
    sizes = agents, (num_channels(agents), VIEW, VIEW), NUM_ACTIONS
    if components == CENTRAL:
        return central_team(NETWORK, *sizes, seed)
    return tbone_team(NETWORK, *sizes, components, seed)


def cordial(world, beta=0.5):
    """CORDIAL with the coordination sets of a FurnMove world."""
    actions = torch.from_numpy(world.tables["coordinated_actions"])
    groups = torch.from_numpy((world.tables["coordinated_modality"] > 0).astype(int)).expand(actions.shape[:2])
    return CoordinationLoss(CoordinationSet(actions, groups), Schedule.constant(beta))


def begun(world, policy, length, needs_values=True, seed=3):
    """A collector at the beginning of a game."""
    one = Collector(world, policy, length, needs_values)
    one.reset(seed)
    return one


def collector(num_worlds=6, first_world=0, agents=2, components=3, length=LENGTH, seed=3, needs_values=True):
    return begun(rooms(num_worlds, first_world, agents), team(components, agents), length, needs_values, seed)


def cooks(num_worlds=6, length=12):
    """A collector of two cooks that see numbers and carry on with macro actions, each for as long as it takes."""
    world = make("salad-v0", num_worlds)
    scale = world.tables["vector_scale"].tolist()
    return begun(world, vector_team(VectorConfig(hidden_sizes=(8,)), 2, scale, len(world.macros), 0, 0), length)


class Walks(Errands):
    """The toy world with one action: macro actions, agents that leave the game, and composed text."""

    action_spec = 3

    def _advance(self, actions, recorded):
        return super()._advance({"go": actions, "say": actions + self.state["cell"] % 2}, recorded)


def second_fragment(one):
    """What a collector plays next but one, or later: it begins inside episodes, and some end inside it."""
    one.collect()
    later = (one.collect() for _ in range(9))
    fragment = next(fragment for fragment in later if not fragment.is_first[:, 0].all())
    assert fragment.is_first[:, 1:-1].any()
    return fragment


def arrays_of(fragment):
    """Everything in a fragment that has a row a world, under flat names."""
    flat = {f"obs/{key}": value for key, value in fragment.obs.items()} | fragment.steps | fragment.ends
    return flat | {"is_first": fragment.is_first, "versions": fragment.versions}


def assert_equal_fragments(one, other, close=()):
    """Equal bit for bit, but for the names in `close`, which may differ by rounding."""
    ours, theirs = arrays_of(one), arrays_of(other)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if name.startswith(tuple(close)) if close else False:
            np.testing.assert_allclose(value, theirs[name], atol=1e-5, rtol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def ratio_error(objective, policy, fragment):
    """Largest |ratio - 1| before any step was taken."""
    batch = objective.prepare(to_batch(fragment))
    return float(objective.loss(forward(policy, batch), batch, Progress())[1]["policy/ratio_error"])
