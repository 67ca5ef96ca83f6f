"""A team that acts by action values and learns their monotonic mixture: QMIX's networks and their targets in one mind.

Acting needs the agents' Q network alone. While gradients are wanted the output also carries, as extras, all that a loss
over joint values reads: `q/WHO` [B, T, N, A], -inf for what is not legal, and where there is a mixer its weights for
each step, `mixing/WHO/NAME` (`layers/monotonic_mixer.py`), WHO being `online` and `target`.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor, nn

from rl_models.heads.epsilon_greedy_head import BestValueHead, EpsilonGreedyHead, legal_values
from rl_models.layers.monotonic_mixer import Mixing, MonotonicMixer, sum_of_values
from rl_models.networks.q_network import Encoder, QNetwork
from rl_models.policy import Features, State, TeamOutput, TeamPolicy

ONLINE, TARGET = "online", "target"


class StateMixer(nn.Module):
    """From observations of a whole team to the mixing network of each step."""

    def __init__(self, encoder: Encoder, num_agents: int, hidden: int) -> None:
        """Build the hypernetworks.

        Args:
            encoder: of the global state.
            num_agents: N.
            hidden: width of the mixing network.
        """
        super().__init__()
        self.encoder = encoder
        self.mixer = MonotonicMixer(encoder.features, num_agents, hidden)

    def forward(self, obs: dict[str, Tensor]) -> Mixing:
        """Observations [B, T, N, ...] -> mixing networks over [B, T]."""
        mixing: Mixing = self.mixer(self.encoder(obs))
        return mixing


class QmixPolicy(TeamPolicy):
    """Epsilon-greedy agents, the mixer of their values, and copies of both that lag behind."""

    policy_head: EpsilonGreedyHead

    def __init__(self, network: QNetwork, mixer: StateMixer | None, epsilon: float) -> None:
        """Put the parts together; the targets begin as copies.

        Args:
            network: of the agents.
            mixer: of their values; None adds them up (VDN).
            epsilon: of the first steps.
        """
        super().__init__(network, EpsilonGreedyHead(network.features, epsilon), BestValueHead())
        self.mixer = mixer
        self.target_network = copy.deepcopy(network).requires_grad_(False)
        self.target_mixer = None if mixer is None else copy.deepcopy(mixer).requires_grad_(False)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> TeamOutput:
        """See `TeamPolicy.forward`."""
        features = self.network(obs, state, is_first)
        extras = self._joint_values(features, obs, state, is_first) if torch.is_grad_enabled() else {}
        return TeamOutput(self.policy_head(features), self.value_head(features), features.state, extras)

    def copy_to_targets(self) -> None:
        """Bring the targets up to date."""
        for here, there in ((self.network, self.target_network), (self.mixer, self.target_mixer)):
            if isinstance(here, nn.Module) and there is not None:
                there.load_state_dict(here.state_dict())

    def _joint_values(
        self, features: Features, obs: dict[str, Tensor], state: State, is_first: Tensor
    ) -> dict[str, Tensor]:
        extras = _named(ONLINE, features, None if self.mixer is None else self.mixer(obs))
        with torch.no_grad():
            # The memory in front of the fragment is the acting network's: it is all that was kept.
            target = self.target_network(obs, state, is_first)
            mixing = None if self.target_mixer is None else self.target_mixer(obs)
        return extras | _named(TARGET, target, mixing)


def mixing_of(extras: dict[str, Tensor], who: str, steps: slice) -> Callable[[Tensor], Tensor]:
    """How the values of agents [B, T, N] become the team's [B, T] at some of the steps; a sum where nobody mixes."""
    names = [field.name for field in dataclasses.fields(Mixing)]
    if f"mixing/{who}/{names[0]}" not in extras:
        return sum_of_values
    return Mixing(**{name: extras[f"mixing/{who}/{name}"][:, steps] for name in names})


def _named(who: str, features: Features, mixing: Mixing | None) -> dict[str, Tensor]:
    weights = {} if mixing is None else {f"mixing/{who}/{name}": value for name, value in vars(mixing).items()}
    return {f"q/{who}": legal_values(features)} | weights
