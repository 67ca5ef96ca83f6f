"""QMIX teams for grids of named things (Rashid et al., ICML 2018), and VDN.

QMIX is EnDi's reference without language (section 5.3).

A method of an experiment takes a team of `qmix_grid_team` with the objective and the optimiser of a
`QmixLearnerConfig` (`algorithms/qmix.py`); nothing else differs from the other methods. Teams for vectors are those of
`role_team` with the method `qmix`.
"""

from dataclasses import dataclass, field

from rl_models.networks.q_network import QNetwork
from rl_models.networks.qmix_encoders import GOAL, GridSymbolsConfig, GridSymbolsEncoder, GridSymbolsState
from rl_models.networks.qmix_policy import QmixPolicy, StateMixer
from rl_models.networks.reading import ReadingSizes
from rl_models.policy import seeded


@dataclass(frozen=True)
class QmixTeamConfig:
    """Widths of a QMIX team; the defaults are the paper's."""

    grid: GridSymbolsConfig = field(default_factory=GridSymbolsConfig)
    """Encoder of grids."""
    hidden_size: int = 64
    """Width of each agent's recurrent state."""
    mixing_hidden_size: int = 32
    """Width of the mixing network; 0 for the sum of the agents' values (VDN)."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Observation keys of the texts that a team for grids reads, for `Qmix(texts=...)`."""
        return (GOAL,) if self.grid.sees_goal else ()


def qmix_grid_team(
    config: QmixTeamConfig, sizes: ReadingSizes, grid: tuple[int, int], num_actions: int, seed: int = 0
) -> QmixPolicy:
    """Build a team for grids of (H, W) cells that reads no document."""
    with seeded(seed):
        network = QNetwork(
            GridSymbolsEncoder(config.grid, sizes, max(grid)), sizes.num_agents, num_actions, config.hidden_size
        )
        mixer = None
        if config.mixing_hidden_size:
            state = GridSymbolsState(config.grid, sizes, grid[0] * grid[1])
            mixer = StateMixer(state, sizes.num_agents, config.mixing_hidden_size)
        return QmixPolicy(network, mixer)
