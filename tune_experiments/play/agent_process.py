"""One agent of a trained team in a process of its own: the main function of the process, and its messages.

It loads the weights itself, receives only its own observation, and returns only its own action.
Messages go through pipes between agents, as the raw bytes of the tensor. All processes sample with the same seed, so no
sampled action or component is sent.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rl_envs.core.chance import Chance
from rl_models.configuration import DeviceChoice
from rl_models.runtime.device import to_device
from rl_models.teams.decentralised import AgentPolicy, run_dialogue
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.play.loading import load_policy

_UNIFORMS = "uniforms"
PARTNER_GONE = 3
"""Exit code of a process whose partner or coordinator ended or timed out, which itself caused no error."""


@dataclass(frozen=True)
class Role:
    """Arguments of an agent's process for one episode.

    Attributes:
        checkpoint: folder of the checkpoint.
        agent: index of the agent, 0 to N - 1.
        seed, world: seed and index of the world; they fix the random stream that all agents share.
        patience_seconds: timeout in seconds for another agent's message.
        allow: modules outside Concord that may be imported if the checkpoint names them.
        device: device of the agent's networks; several agents may share a GPU.
    """

    checkpoint: Path
    agent: int
    seed: int
    world: int
    patience_seconds: float
    allow: tuple[str, ...] = ()
    device: DeviceChoice = "auto"


@dataclass(frozen=True)
class MessageStats:
    """Number and bytes of an agent's messages, counted once per receiver."""

    messages: int = 0
    bytes: int = 0

    def __add__(self, other: MessageStats) -> MessageStats:
        return MessageStats(self.messages + other.messages, self.bytes + other.bytes)


class MessageChannel:
    """An agent's end of the pipes to all others.

    Attributes:
        traffic: statistics of the messages sent so far.
    """

    def __init__(self, agent: int, pipes: Mapping[int, Connection], patience_seconds: float) -> None:
        self.traffic = MessageStats()
        self._agent, self._pipes, self._patience_seconds = agent, pipes, patience_seconds

    def exchange(self, message: Tensor) -> Tensor:
        """Send a message to all other agents and receive theirs: [1, 1, ...] -> [1, N, ...] in the order of the agents.

        All send before any receives, which cannot block while messages are smaller than a pipe's buffer.
        """
        mine = message.cpu().numpy()
        for pipe in self._pipes.values():
            pipe.send_bytes(mine.tobytes())
            self.traffic += MessageStats(1, mine.nbytes)
        heard = {agent: self._receive(pipe, mine) for agent, pipe in self._pipes.items()} | {self._agent: mine}
        return torch.from_numpy(np.concatenate([heard[agent] for agent in sorted(heard)], axis=1)).to(message.device)

    def _receive(self, pipe: Connection, like: np.ndarray) -> np.ndarray:
        if not pipe.poll(self._patience_seconds):
            raise TimeoutError
        return np.frombuffer(pipe.recv_bytes(), like.dtype).reshape(like.shape)


def run_agent(role: Role, coordinator: Connection, others: Mapping[int, Connection]) -> None:
    """Return an action for each observation until None arrives, then the message statistics.

    Errors are sent as a sentence in place of an action.
    """
    torch.set_num_threads(1)
    try:
        _act_until_the_end(role, coordinator, others)
    except (EOFError, OSError):
        sys.exit(PARTNER_GONE)
    except Exception as error:
        reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            coordinator.send(f"agent {role.agent} failed: {one_line(reason)}")


@torch.inference_mode()
def _act_until_the_end(role: Role, coordinator: Connection, others: Mapping[int, Connection]) -> None:
    loaded = load_policy(role.checkpoint, role.allow, role.device)
    agent = AgentPolicy(loaded.policy, role.agent)
    channel = MessageChannel(role.agent, others, role.patience_seconds)
    chance = Chance(role.seed, role.world, 1)
    no_reset = torch.zeros(1, dtype=torch.bool, device=loaded.device)  # the recurrent state starts empty
    while (seen := coordinator.recv()) is not None:
        drawn = chance.policy_uniforms(1 + agent.num_agents)
        obs = to_device(seen | {_UNIFORMS: drawn}, loaded.device)
        uniforms = obs.pop(_UNIFORMS)
        chance.next_step()
        coordinator.send(int(run_dialogue(agent.act(obs, no_reset, uniforms), channel.exchange)))
    coordinator.send(channel.traffic)
