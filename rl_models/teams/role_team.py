"""Ready-made teams of ROMA, LDSA and MASER beside QMIX: one network and one mixer, with each method's additions.

They are the role methods of SAMA's comparison. What they minimise is in `algorithms/role_objectives.py`.
"""

from rl_models.networks.q_network import Encoder, QNetwork, QValues
from rl_models.networks.qmix_policy import MaserPolicy, QmixPolicy, StateMixer
from rl_models.networks.role_q_network import RoleQNetwork
from rl_models.networks.role_team_config import RoleMethod, RoleTeamConfig
from rl_models.networks.subtask_q_network import SubtaskQNetwork
from rl_models.policy import seeded


def role_team(
    config: RoleTeamConfig,
    method: RoleMethod,
    encoder: Encoder,
    state: Encoder,
    num_agents: int,
    num_actions: int,
    seed: int = 0,
) -> QmixPolicy:
    """Build a team with an encoder of observations, and one of the global state, which only learning uses."""
    with seeded(seed):
        network = _network(config, method, encoder, num_agents, num_actions)
        mixer = None
        if config.mixing_hidden_size:
            deep = config.ldsa_hypernetwork_hidden_size if method == "ldsa" else 0
            mixer = StateMixer(state, num_agents, config.mixing_hidden_size, deep)
        if method == "maser":
            is_trained = config.maser.form == "paper"
            return MaserPolicy(network, mixer, config.maser.representation_hidden_size, is_trained)
        return QmixPolicy(network, mixer)


def _network(
    config: RoleTeamConfig, method: RoleMethod, encoder: Encoder, num_agents: int, num_actions: int
) -> QValues:
    if method == "roma":
        return RoleQNetwork(encoder, num_agents, num_actions, config.roma, config.hidden_size)
    if method == "ldsa":
        return SubtaskQNetwork(encoder, num_agents, num_actions, config.ldsa, config.hidden_size)
    return QNetwork(encoder, num_agents, num_actions, config.hidden_size)
