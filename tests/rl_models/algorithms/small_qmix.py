"""Small QMIX teams, worlds and learners, for the tests of networks, training and RLlib."""

from rl_envs import make
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.qmix import Qmix
from rl_models.networks.qmix_encoders import GridSymbolsConfig, VectorEncoder
from rl_models.networks.role_team_config import RoleTeamConfig
from rl_models.schedule import Schedule
from rl_models.teams.qmix_team import QmixTeamConfig, qmix_grid_team
from rl_models.teams.role_team import role_team
from rl_models.training.loop import Learner
from tests.rl_models.algorithms.vector_state import VectorState
from tests.rl_models.networks.small import sizes_of
from tests.rl_models.training.small import begun

SIZE = 5
S1 = {"size": SIZE, "num_agents": 2, "distractor_monster": False, "distractor_item": False, "max_episode_steps": 9}
ROOM = GridSymbolsConfig(word_features=4, cell_features=(6, 6), state_features=12)
CONFIG = QmixTeamConfig(ROOM, hidden_size=8, mixing_hidden_size=5)


def rooms(num_worlds, first_world=0, **arguments):
    """EnDi's first stage in small rooms; episodes end every 9 steps at the latest, inside every fragment."""
    return make("rtfm-v0", num_worlds, first_world=first_world, **(S1 | arguments))


def room_team(config=CONFIG, seed=0, epsilon=0.5, size=SIZE):
    place = rooms(1, size=size)
    team = qmix_grid_team(config, sizes_of(place), (size, size), place.action_spec, seed)
    team.policy_head.epsilon.fill_(epsilon)
    return team


def collector(num_worlds=6, length=12, seed=3, policy=None):
    return begun(rooms(num_worlds), policy or room_team(), length, needs_values=False, seed=seed)


def objective(**arguments):
    defaults = {
        "batch_size": 4,
        "gradient_steps": 2,
        "buffer_size": 15,
        "update_target_every_updates": 3,
        "texts": CONFIG.texts,
    }
    return Qmix(**(defaults | arguments))


def learner(policy, settings=None, **arguments):
    return Learner(policy, objective(**arguments), settings or OptimiserSettings(learning_rate=Schedule.constant(1e-2)))


def two_step_team(mixing_hidden_size=8, seed=0):
    """A team for the two-step game; without a mixer it adds its values up."""
    config = RoleTeamConfig(hidden_size=16, mixing_hidden_size=mixing_hidden_size)
    return role_team(config, "qmix", VectorEncoder("state", 3), VectorState("state", 3, 2), 2, 2, seed)
