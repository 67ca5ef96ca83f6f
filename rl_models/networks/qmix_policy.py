"""Policy of QMIX: the agents' Q network, the mixing network of their values, and the target copies of both.

Acting uses the Q network only. While gradients are enabled, the extras hold all inputs of a loss over joint values:
`q/WHO` [B, T, N, A], minus infinity for illegal actions, and with a mixer its weights at each step, `mixing/WHO/NAME`
(`layers/monotonic_mixer.py`). WHO is `online` or `target`. Extras of the online network (roles, sub-tasks) are among
them, and so is `q/alive` [B, T, N] bool where agents can leave the game: the value of an agent that has left is mixed
as 0.

`MaserPolicy` adds a representation of observations that only learning uses (`losses/maser.py`).
"""

import copy
import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor, nn

from rl_models.heads.epsilon_greedy_head import BestValueHead, EpsilonGreedyHead, legal_values
from rl_models.layers.monotonic_mixer import Mixing, MonotonicMixer, sum_of_values
from rl_models.networks.q_network import ENCODED, Encoder, QValues
from rl_models.policy import Features, State, TeamOutput, TeamPolicy

ONLINE, TARGET = "online", "target"
_ALIVE = "q/alive"


class StateMixer(nn.Module):
    """The mixing network of each step, computed from the observations of the team."""

    def __init__(self, encoder: Encoder, num_agents: int, hidden_size: int, hypernetwork_hidden_size: int = 0) -> None:
        """Build the hypernetworks, as those of `MonotonicMixer`, over the encoder of the global state."""
        super().__init__()
        self.encoder = encoder
        self.mixer = MonotonicMixer(encoder.features, num_agents, hidden_size, hypernetwork_hidden_size)

    def forward(self, obs: dict[str, Tensor]) -> Mixing:
        """Observations, name -> [B, T, N, ...], to mixing networks with batch shape [B, T]."""
        mixing: Mixing = self.mixer(self.encoder(obs))
        return mixing


class QmixPolicy(TeamPolicy):
    """Epsilon-greedy agents, the mixer of their values, and target copies of both."""

    network: QValues
    policy_head: EpsilonGreedyHead

    def __init__(self, network: QValues, mixer: StateMixer | None) -> None:
        """Store the networks and copy them to the targets; without a mixer values are summed (VDN)."""
        super().__init__(network, EpsilonGreedyHead(network.features), BestValueHead())
        self.mixer = mixer
        self.target_network = copy.deepcopy(network).requires_grad_(False)
        self.target_mixer = None if mixer is None else copy.deepcopy(mixer).requires_grad_(False)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> TeamOutput:
        """Joint policy, values [B, T, N], and while gradients are enabled the extras of this file's header.

        Observations are [B, T, N, ...], the state before the first step [B, N, ...], and `is_first` is [B, T] bool.
        """
        features = self.network(obs, state, is_first)
        extras = self._joint_values(features, obs, state, is_first) if torch.is_grad_enabled() else {}
        return TeamOutput(self.policy_head(features), self.value_head(features), features.state, extras)

    def copy_to_targets(self) -> None:
        """Copy the weights of network and mixer to their targets."""
        self.target_network.load_state_dict(self.network.state_dict())
        if self.mixer is not None and self.target_mixer is not None:
            self.target_mixer.load_state_dict(self.mixer.state_dict())

    def _joint_values(
        self, features: Features, obs: dict[str, Tensor], state: State, is_first: Tensor
    ) -> dict[str, Tensor]:
        extras = features.extras | _named(ONLINE, features, self.mixer, obs)
        if "alive" in obs:
            extras[_ALIVE] = obs["alive"].bool()
        with torch.no_grad():
            # The target network starts from the acting network's state too, because a fragment holds no other state.
            target = self.target_network(obs, state, is_first)
            return extras | _named(TARGET, target, self.target_mixer, obs)


def make_mixing(extras: dict[str, Tensor], who: str, steps: slice) -> Callable[[Tensor], Tensor]:
    """The function from agents' values [B, T, N] to team values [B, T] at some of the steps; a sum without a mixer.

    `who` is `online` or `target`. The value of an agent that has left the game counts as 0.
    """
    names = [field.name for field in dataclasses.fields(Mixing)]
    mix: Callable[[Tensor], Tensor] = sum_of_values
    if f"mixing/{who}/{names[0]}" in extras:
        mix = Mixing(**{name: extras[f"mixing/{who}/{name}"][:, steps] for name in names})
    if _ALIVE not in extras:
        return mix
    has_left = ~extras[_ALIVE][:, steps]
    return lambda values: mix(values.masked_fill(has_left, 0.0))


def _named(who: str, features: Features, mixer: StateMixer | None, obs: dict[str, Tensor]) -> dict[str, Tensor]:
    mixing = {} if mixer is None else vars(mixer(obs))
    weights = {f"mixing/{who}/{name}": value for name, value in mixing.items()}
    return {f"q/{who}": legal_values(features)} | weights


REPRESENTATION = "maser/representation"
"""Extra while gradients are enabled: f of each observation, [B, T, N, A] float32."""


class MaserPolicy(QmixPolicy):
    """Acts as QMIX does; while gradients are enabled, its extras hold the representation of every observation."""

    def __init__(
        self, network: QValues, mixer: StateMixer | None, hidden_size: int = 128, is_trained: bool = True
    ) -> None:
        """Build the representation, two layers whose output has a number for each action.

        In the released form it is not trained and stays as it was drawn.
        """
        super().__init__(network, mixer)
        self.representation = nn.Sequential(
            nn.Linear(network.encoder.features, hidden_size), nn.ReLU(), nn.Linear(hidden_size, network.features)
        ).requires_grad_(is_trained)

    def _joint_values(
        self, features: Features, obs: dict[str, Tensor], state: State, is_first: Tensor
    ) -> dict[str, Tensor]:
        represented = self.representation(features.extras[ENCODED].detach())
        return super()._joint_values(features, obs, state, is_first) | {REPRESENTATION: represented}
