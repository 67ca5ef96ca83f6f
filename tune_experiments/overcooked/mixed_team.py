"""A team put together from others: agent i does what team i would have it do. For cross-play of trained teams.

It is made for teams whose agents act apart and remember nothing. This file must not know a world.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.policy import State, TeamOutput, TeamPolicy


class MixedTeam(TeamPolicy):
    """N agents, each from a team of its own that thinks it plays with its own kind."""

    def __init__(self, teams: Sequence[TeamPolicy]) -> None:
        """Take one team for each agent, in the order of the agents.

        Raises:
            ValueError: another number of teams than they have agents, or one with a memory.
        """
        first = teams[0]
        super().__init__(first.network, first.policy_head, first.value_head)
        if {team.num_agents for team in teams} != {len(teams)}:
            raise ValueError(f"each of {len(teams)} agents needs a team of {len(teams)} that it comes from")
        if any(team.initial_state(1) for team in teams):
            raise ValueError("only teams without a memory can be mixed")
        self.teams = nn.ModuleList(teams)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> TeamOutput:
        """Row i of team i's policy and values; arguments and shapes as `TeamPolicy.forward` has them.

        Raises:
            ValueError: a team whose agents do not act apart.
        """
        outputs = [team(obs, state, is_first) for team in self.teams]
        own = [_marginals(output)[..., agent, :, :] for agent, output in enumerate(outputs)]
        weights = own[0].new_zeros(*own[0].shape[:2], 1)
        values = torch.stack([output.values[..., agent] for agent, output in enumerate(outputs)], -1)
        return TeamOutput(MixtureOfMarginals(weights, torch.stack(own, -3)), values, {}, {})


def _marginals(output: TeamOutput) -> Tensor:
    """Log-probabilities of each agent's own actions, [B, T, N, 1, A] float32."""
    policy = output.policy
    if not isinstance(policy, MixtureOfMarginals) or policy.log_weights.shape[-1] > 1:
        raise ValueError("only teams whose agents act apart can be mixed")
    return policy.log_marginals
