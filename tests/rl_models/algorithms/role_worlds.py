"""Two small games for methods of roles, sub-tasks and sub-goals, and teams that learn them in seconds.

`Kinds`: four agents, two of each of two kinds, drawn anew for each episode of six steps. An agent sees its kind, the
step and three numbers of noise; the team is paid 1 in a step at which every agent does 2 * kind + (step mod 2).
`Corridor`: two agents walk on a line; 1 is paid once, when both stand on its last cell.
"""

import numpy as np

from rl_envs.core.spec import ArraySpec
from rl_envs.core.world import World
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.qmix import Qmix
from rl_models.algorithms.role_objectives import role_objective
from rl_models.networks.qmix_encoders import VectorEncoder
from rl_models.networks.role_team_config import MaserConfig, RoleConfig, RoleTeamConfig, SubtaskConfig
from rl_models.schedule import Schedule
from rl_models.teams.role_team import role_team
from rl_models.training.evaluation import Evaluation
from rl_models.training.loop import Learner
from tests.rl_models.algorithms.vector_state import VectorState
from tests.rl_models.training.small import begun

METHODS = ("qmix", "roma", "ldsa", "maser")
SMALL = RoleTeamConfig(
    hidden_size=16,
    mixing_hidden_size=8,
    ldsa_hypernetwork_hidden_size=8,
    roma=RoleConfig(hidden_size=8),
    ldsa=SubtaskConfig(vector_size=8),
    maser=MaserConfig(representation_hidden_size=16),
)


class Kinds(World):
    """B teams of four agents of two kinds."""

    agents = tuple(f"agent_{i}" for i in range(4))
    action_spec = 4
    max_episode_steps = 6

    def __init__(self, num_worlds=1, first_world=0):
        self.observation_spec = {"seen": ArraySpec((11,), "float32", 0, 1, "kind, step and noise")}
        super().__init__(num_worlds, first_world)

    def _blank_state(self, num_worlds):
        return super()._blank_state(num_worlds) | {"kind": np.zeros((num_worlds, 4), np.int64)}

    def _begin(self, rows):
        self.state["kind"][rows] = self.chance.uniforms(4, rows, first_draw=20).argsort(1) % 2

    def _advance(self, actions, recorded):
        step = self.state["episode_length"][:, None]
        paid = (actions == 2 * self.state["kind"] + step % 2).all(1).astype(float)
        is_over = self.state["episode_length"] + 1 >= self.max_episode_steps
        return np.repeat(paid[:, None], 4, 1), is_over, np.zeros_like(is_over)

    def _observe(self, rows):
        kind = np.eye(2)[self.state["kind"][rows]]
        step = np.eye(6)[np.minimum(self.state["episode_length"][rows], 5)][:, None].repeat(4, 1)
        noise = self.chance.uniforms(12, rows).reshape(-1, 4, 3)
        return {"seen": np.concatenate([kind, step, noise], -1).astype(np.float32)}


class Corridor(World):
    """B corridors."""

    agents = ("agent_0", "agent_1")
    action_spec = 3

    def __init__(self, num_worlds=1, first_world=0, *, cells=5, max_episode_steps=12):
        self.cells, self.max_episode_steps = cells, max_episode_steps
        self.observation_spec = {"seen": ArraySpec((2 * cells,), "float32", 0, 1, "own cell and the other's")}
        super().__init__(num_worlds, first_world)

    def _blank_state(self, num_worlds):
        return super()._blank_state(num_worlds) | {"cell": np.zeros((num_worlds, 2), np.int64)}

    def _begin(self, rows):
        self.state["cell"][rows] = 0

    def _advance(self, actions, recorded):
        self.state["cell"] = (self.state["cell"] + actions - 1).clip(0, self.cells - 1)
        is_there = (self.state["cell"] == self.cells - 1).all(1)
        is_over = is_there | (self.state["episode_length"] + 1 >= self.max_episode_steps)
        return np.repeat(is_there[:, None].astype(float), 2, 1), is_over, np.zeros_like(is_over)

    def _observe(self, rows):
        cell = np.eye(self.cells)[self.state["cell"][rows]]
        return {"seen": np.concatenate([cell, cell[:, ::-1]], -1).astype(np.float32)}


def team(world, method, config=SMALL, seed=0, key="seen"):
    """A team of one method for a world whose observation is a vector."""
    features = int(np.prod(world.observation_spec[key].shape))
    encoder, state = VectorEncoder(key, features), VectorState(key, features, world.num_agents)
    return role_team(config, method, encoder, state, world.num_agents, world.action_spec, seed)


def played(world, method, length, config=SMALL, seed=0, key="seen"):
    """A collector whose team acts for one method."""
    return begun(world, team(world, method, config, seed, key), length, needs_values=False, seed=seed)


def train(world, method, length, budget, config=SMALL, seed=0, key="seen", epsilon=None, **arguments):
    """A team that has learned for some env steps, and the statistics of its last update."""
    one = played(world, method, length, config, seed, key)
    shared = {"buffer_size": 2048, "batch_size": 32, "gradient_steps": 1, "update_target_every_updates": 25}
    falling = epsilon or Schedule.linear(1.0, 0.05, int(0.4 * budget))
    objective = role_objective(config, method, Qmix(epsilon=falling, **(shared | arguments)))
    settings = OptimiserSettings(learning_rate=Schedule.linear(1e-2, 1e-3, budget), max_grad_norm=10.0)
    learner, statistics = Learner(one.policy, objective, settings, seed=seed), {}
    while learner.progress.env_steps < budget:
        statistics = learner.update([one.collect()])
    return one.policy, statistics


def greedy_return(world, policy):
    """Mean return of an agent, best actions and most probable choices."""
    return Evaluation(world, policy, is_greedy=True, draws_noise=False).run(seed=1)["return"].mean()
