"""One agent's part of a team, run apart from the others (decentralised execution; A Cordial Sync, section 4.2).

An agent knows the team's weights, its own observation, its own memory, the messages that it hears, and the seed of a
random stream that all share. From these it computes its own marginal policies and, since everybody hears the same
replies, the same mixture weights as everybody; the shared uniform then draws the same component everywhere, and no
agent needs to know what another one did. The layers are the team's own, with an agent axis of length 1.

A network can be taken apart if it offers `agent_step`; a policy can if each agent's share of it follows from that
agent's features and all agents' messages. A step is a dialogue of any number of rounds: a generator that yields what
the agent says and is sent what all said. This file must not know how messages travel: no process, no pipe, no world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from torch import Tensor

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.heads.joint_policy_head import MarginalHead, SyncHead
from rl_models.layers.communication import Dialogue, Outcome
from rl_models.policy import Features, State, TeamNetwork, TeamPolicy


@runtime_checkable
class SeparableNetwork(TeamNetwork, Protocol):
    """A network whose agents can run apart from one another."""

    observation_keys: tuple[str, ...]
    """What an agent needs of its observation."""

    def agent_step(
        self, agent: int, obs: dict[str, Tensor], state: State, is_first: Tensor, needs_messages: bool
    ) -> Dialogue[Features]:
        """Features of one agent: shapes as in a call of the network with T = 1 and N = 1, but all agents' messages."""


class AgentMind:
    """One agent of a team in B worlds, with its own memory.

    Attributes:
        agent: which of the N it is.
        num_agents: N.
        observation_keys: what it needs of its observation.
    """

    def __init__(self, policy: TeamPolicy, agent: int) -> None:
        """Take one agent's part of a team; the weights stay the team's.

        Raises:
            TypeError: the team cannot be taken apart.
        """
        network, head = policy.network, policy.policy_head
        if not isinstance(network, SeparableNetwork) or not isinstance(head, MarginalHead | SyncHead):
            raise TypeError(
                f"a team of {type(network).__name__} and {type(head).__name__} cannot be run decentralised, because "
                "its agents have no parts of their own (a central policy never has); train sync or marginal agents "
                "that see for themselves"
            )
        self.agent, self.num_agents = agent, policy.num_agents
        self.observation_keys = network.observation_keys
        self._network, self._head = network, head
        self._state: State | None = None

    def think(self, obs: dict[str, Tensor], is_first: Tensor) -> Dialogue[MixtureOfMarginals]:
        """This agent's share of the joint policy.

        Args:
            obs: its own, name -> [B, ...].
            is_first: [B] bool, an episode begins at this step.

        Returns:
            the team's mixture weights [B, 1, M] and its own marginals [B, 1, 1, M, A].
        """
        if self._state is None:
            team = self._network.initial_state(len(is_first))
            self._state = {name: value[:, [self.agent]] for name, value in team.items()}
        seen = {key: obs[key][:, None, None] for key in self.observation_keys}
        mixes = isinstance(self._head, SyncHead)
        features = yield from self._network.agent_step(self.agent, seen, self._state, is_first[:, None], mixes)
        self._state = features.state
        share: MixtureOfMarginals = self._head(features)
        return share

    def act(self, obs: dict[str, Tensor], is_first: Tensor, uniforms: Tensor) -> Dialogue[Tensor]:
        """Draw the component that everybody draws, and then its own action.

        Args:
            obs: its own, name -> [B, ...].
            is_first: [B] bool, an episode begins at this step.
            uniforms: [B, 1 + N] in [0, 1), the shared stream at this moment: the component's, then one an agent.

        Returns:
            [B] int64, its own actions.
        """
        share = yield from self.think(obs, is_first)
        actions, _ = share.sample(uniforms[:, None, [0, 1 + self.agent]])
        return actions[:, 0, 0]


def converse(dialogue: Dialogue[Outcome], exchange: Callable[[Tensor], Tensor]) -> Outcome:
    """Hold a dialogue to its end; `exchange` takes what the agent says and returns what all said."""
    try:
        said = next(dialogue)
        while True:
            said = dialogue.send(exchange(said))
    except StopIteration as end:
        result: Outcome = end.value
        return result


def bytes_said(policy: TeamPolicy, obs: dict[str, Tensor], is_first: Tensor) -> list[int]:
    """Size of each message that an agent says in one step, found by letting the first agent hear itself.

    Args:
        policy: a team that can be taken apart (else TypeError, as for `AgentMind`).
        obs: the first agent's, name -> [B, ...].
        is_first: [B] bool.
    """
    sizes: list[int] = []

    def echo(said: Tensor) -> Tensor:
        sizes.append(said.nbytes)
        return said.expand(-1, policy.num_agents, *said.shape[2:])

    converse(AgentMind(policy, 0).think(obs, is_first), echo)
    return sizes
