"""A team's policy: one network, one head for the joint policy and one head for the values.

Acting calls `forward` with T = 1, training calls it with whole fragments, and there is no other path from observations
to a policy. So acting and training compute the same.
"""

import contextlib
import functools
import operator
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from rl_models.configuration import Precision
from rl_models.distributions.joint_policy import JointPolicy

Value = TypeVar("Value")
State: TypeAlias = dict[str, Tensor]
"""Recurrent state, name -> [B, ...], or [B, N, ...] if each agent has its own; empty for networks without memory."""
UNVALUED = "unvalued"
"""Extra: [B, T, N] bool, agents in the game that the network skipped, because they continue a macro action.
The values of these agents are undefined. A network that computes all agents leaves this extra out."""

VALUED = "valued"
"""Observation key: [B, T, N] bool, agents whose value a loss reads at a step, also where they continue a macro action.
Objectives set it (`ActorCritic.prepare`), worlds do not."""


def all_deciding(obs: Mapping[str, Value]) -> dict[str, Value]:
    """Observations, name -> [B, ...], in which all agents decide: for values and messages of all."""
    return {key: value for key, value in obs.items() if key != "decides"}


def deciding_agents(obs: Mapping[str, Value]) -> Value | None:
    """Agents that decide and are in the game: observations, name -> [B, ...], to [B, ..., N] bool; None if all are."""
    masks = [obs[key] for key in ("decides", "alive") if key in obs]
    return functools.reduce(operator.and_, masks) if masks else None


@dataclass(frozen=True)
class Features:
    """Output of a network over T steps; the input of heads.

    Attributes:
        features: [B, T, N, F] float32; [B, T, 1, F] where one network acts for all agents.
        state: recurrent state after the last step, name -> [B, ...].
        messages: [B, T, N, message features] float32, the last message of each agent; None if agents send none.
        extras: attention maps, masks and inputs of extra losses, name -> [B, T, ...].
        legal: [B, T, N, A] bool, legal actions; None if the world does not say which actions are legal.
    """

    features: Tensor
    state: State
    messages: Tensor | None = None
    extras: dict[str, Tensor] = field(default_factory=dict)
    legal: Tensor | None = None


def legal_actions(obs: Mapping[str, Tensor]) -> Tensor | None:
    """Legal actions, [B, T, N, A] bool, `legal` of the observations [B, T, N, ...]; None if they do not say it."""
    return obs["legal"].bool() if "legal" in obs else None


def agents_alive(obs: Mapping[str, Tensor]) -> Tensor | None:
    """Agents in the game, [B, T, N] bool, `alive` of the observations [B, T, N]; None if they cannot leave it."""
    return obs["alive"].bool() if "alive" in obs else None


def present_only(values: Tensor, obs: Mapping[str, Tensor]) -> Tensor:
    """Values [B, T, N, F] with zeros for the agents that have left the game, by `alive` [B, T, N] of the observations.

    Without `alive` the values [B, T, N, F] are returned as they are.
    """
    alive = agents_alive(obs)
    return values if alive is None else values.masked_fill(~alive[..., None], 0.0)


@dataclass(frozen=True)
class TeamOutput:
    """Output of a team's forward pass over T steps.

    Attributes:
        policy: joint policy with batch shape [B, T].
        values: [B, T, N] float32, each agent's value of the present state.
        state: recurrent state after the last step, name -> [B, ...].
        extras: as in `Features`, name -> [B, T, ...].
    """

    policy: JointPolicy
    values: Tensor
    state: State
    extras: dict[str, Tensor]


class TeamNetwork(Protocol):
    """Interface of a team's network; `num_agents` is N."""

    num_agents: int

    def initial_state(self, batch: int) -> State:
        """Recurrent state before the first step of an episode, name -> [B, ...]."""

    def __call__(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """Features [B, T, N, F] of T consecutive steps.

        `obs` is name -> [B, T, N, ...], `state` name -> [B, ...] before the first step; `is_first` [B, T] bool says
        where an episode begins.
        """


class Stateless(nn.Module):
    """Base of networks without memory."""

    def initial_state(self, batch: int) -> State:
        """The empty state."""
        return {}


class FeatureNetwork(TeamNetwork, Protocol):
    """A network with a known width F (`features`), on which heads can be built."""

    features: int


class PolicyHead(Protocol):
    """Turns features into a joint policy over `num_actions` A.

    Attributes:
        num_actions: A.
        components: M of its mixture of products of marginals; None for a policy over joint actions.
    """

    num_actions: int
    components: int | None

    def __call__(self, features: Features) -> JointPolicy:
        """Features [B, T, N, F] -> joint policy with batch shape [B, T]."""


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from a seed, such as initial weights, without changing PyTorch's global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


FIXED_WEIGHTS: ContextVar[object | None] = ContextVar("fixed_weights", default=None)
"""Another object for each `fixed_weights`; None outside."""


@contextlib.contextmanager
def fixed_weights() -> Iterator[None]:
    """Declare that no weights change in this thread, as a context or as a decorator of a function that acts."""
    before = FIXED_WEIGHTS.set(object())
    try:
        yield
    finally:
        FIXED_WEIGHTS.reset(before)


class TeamPolicy(nn.Module):
    """Network, policy head and value head of a team of N agents.

    `precision` is the number type of the network's matrix products; heads, distributions and losses are float32.
    """

    precision: Precision = "float32"

    def __init__(self, network: TeamNetwork, policy_head: nn.Module, value_head: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.policy_head = policy_head
        self.value_head = value_head
        self.num_agents = network.num_agents

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load weights as `nn.Module` does, also NumPy arrays."""
        weights = {name: torch.as_tensor(value) for name, value in state_dict.items()}
        return super().load_state_dict(weights, strict, assign)

    def initial_state(self, batch: int) -> State:
        """Recurrent state before an episode, name -> [B, ...], or [B, N, ...] if each agent has its own."""
        return self.network.initial_state(batch)

    def forward(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> TeamOutput:
        """Joint policy with batch shape [B, T] and values [B, T, N] of T consecutive steps (`TeamNetwork`)."""
        features = (
            self.network(obs, state, is_first) if self.precision == "float32" else self._half(obs, state, is_first)
        )
        return TeamOutput(self.policy_head(features), self.value_head(features), features.state, features.extras)

    def _half(self, obs: dict[str, Tensor], state: State, is_first: Tensor) -> Features:
        """The network's features, computed in bfloat16 where that is safe and returned as float32."""
        with torch.autocast(is_first.device.type, torch.bfloat16, cache_enabled=torch.is_grad_enabled()):
            found = self.network(obs, state, is_first)
        return Features(
            found.features.float(),
            {name: value.to(state[name].dtype) if name in state else value for name, value in found.state.items()},
            None if found.messages is None else found.messages.float(),
            {name: value.float() if value.dtype == torch.bfloat16 else value for name, value in found.extras.items()},
            found.legal,
        )
