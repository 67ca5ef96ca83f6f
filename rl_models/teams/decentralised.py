"""Decentralised execution: one agent of a team, run apart from the others (A Cordial Sync, section 4).

An agent has the team's weights, its own observation, its own memory, the messages that it receives, and the seed of a
random stream that all agents share. With these it computes its own marginal policies. All agents receive the same
replies, so all compute the same mixture weights, and the shared uniform number draws the same component for all. No
agent needs to know another agent's action. The layers are those of the team, with an agent axis of length 1.

A network can be separated if it has `agent_step`. A policy can be separated if each agent's part of it depends on that
agent's features and on all agents' messages only. A step is a dialogue with any number of rounds: a generator that
yields the agent's message and is sent all messages.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from torch import Tensor

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.layers.communication import Dialogue, Result
from rl_models.policy import Features, State, TeamNetwork, TeamPolicy


@runtime_checkable
class SeparableNetwork(TeamNetwork, Protocol):
    """A network whose agents can run apart from each other."""

    observation_keys: tuple[str, ...]
    """Observation keys that an agent reads."""

    def agent_step(
        self, agent: int, obs: dict[str, Tensor], state: State, is_first: Tensor, needs_messages: bool
    ) -> Dialogue[Features]:
        """Features [B, 1, 1, F] of one agent at one step, with the messages [B, 1, N, ...] of all agents.

        Observations are name -> [B, 1, 1, ...], the state name -> [B, 1, ...]. With `needs_messages` messages are
        exchanged even if no features depend on them.
        """


@runtime_checkable
class SeparableHead(Protocol):
    """A policy head whose output for one agent is the same with that agent's features (and all messages) alone.

    `reads_messages` says whether it needs all agents' messages beside the features.
    """

    reads_messages: bool

    def __call__(self, features: Features) -> MixtureOfMarginals:
        """Features [B, T, N, F] of some of the agents -> the part of these agents in the joint policy."""


class AgentPolicy:
    """The policy of one agent of a team in B worlds, with its own memory.

    Attributes:
        agent: index of the agent, from 0 to N - 1.
        num_agents: N.
        observation_keys: observation keys that the agent reads.
    """

    def __init__(self, policy: TeamPolicy, agent: int) -> None:
        """Use the weights of a team for one of its agents."""
        network, head = policy.network, policy.policy_head
        if not isinstance(head, SeparableHead) or not isinstance(network, SeparableNetwork):
            raise TypeError(
                f"a team of {type(network).__name__} and {type(head).__name__} cannot be run decentralised: only a "
                "network with agent_step (TBONE's) and a marginal or SYNC head of one choice per agent can; play it "
                "in one process"
            )
        self.agent, self.num_agents = agent, policy.num_agents
        self.observation_keys = network.observation_keys
        self._network, self._head = network, head
        self._state: State | None = None

    def forward(self, obs: dict[str, Tensor], is_first: Tensor) -> Dialogue[MixtureOfMarginals]:
        """The team's mixture weights [B, 1, M] and this agent's marginals [B, 1, 1, M, A], as one mixture.

        Observations of the agent are name -> [B, ...]; `is_first` [B] bool, an episode begins at this step.
        """
        if self._state is None:
            team = self._network.initial_state(len(is_first))
            self._state = {name: value[:, [self.agent]] for name, value in team.items()}
        obs = {key: obs[key][:, None, None] for key in self.observation_keys}
        step = self._network.agent_step(self.agent, obs, self._state, is_first[:, None], self._head.reads_messages)
        features = yield from step
        self._state = features.state
        return self._head(features)

    def act(self, obs: dict[str, Tensor], is_first: Tensor, uniforms: Tensor) -> Dialogue[Tensor]:
        """Draw the component, which is the same for all agents, and then this agent's action, [B] int64.

        `obs` is the agent's, name -> [B, ...], `is_first` [B] bool, and `uniforms` [B, 1 + N] in [0, 1) are the shared
        stream at this step: one draw of the component, then one draw an agent.
        """
        own_policy = yield from self.forward(obs, is_first)
        actions, _ = own_policy.sample(uniforms[:, None, [0, 1 + self.agent]])
        return actions[:, 0, 0]


def run_dialogue(dialogue: Dialogue[Result], exchange: Callable[[Tensor], Tensor]) -> Result:
    """Run a dialogue to its end and return its result.

    `exchange` sends the agent's message [B, 1, ...] and returns the messages of all agents, [B, N, ...].
    """
    try:
        message = next(dialogue)
        while True:
            message = dialogue.send(exchange(message))
    except StopIteration as end:
        result: Result = end.value
        return result


def message_sizes(policy: TeamPolicy, obs: dict[str, Tensor], is_first: Tensor) -> list[int]:
    """Size in bytes of each message that an agent sends in one step.

    The first agent, whose observation, name -> [B, ...], and `is_first` [B] bool are given, gets its own messages in
    place of the others', which have the same size.
    """
    sizes: list[int] = []

    def echo(message: Tensor) -> Tensor:
        sizes.append(message.nbytes)
        return message.expand(-1, policy.num_agents, *message.shape[2:])

    run_dialogue(AgentPolicy(policy, 0).forward(obs, is_first), echo)
    return sizes
