"""A trained team as N processes, one per agent, with the same actions as the team (decentralised execution).

The coordinator steps the world, sends each agent its own observation and receives its action. Messages go through pipes
between agents, as the raw bytes of the tensor; it closes its own ends, so that it can neither read nor write one. All
processes sample with the same seed, so no sampled action or component is sent. Every wait has a timeout.
"""

import contextlib
import itertools
import multiprocessing
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_envs.core.chance import Chance
from rl_models.configuration import DeviceChoice
from rl_models.runtime.device import to_device
from rl_models.teams.decentralised import AgentPolicy, run_dialogue
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.play.loading import load_policy

TIMEOUT_SECONDS = 600.0
"""Time limit of one answer, including the start of the process (import of torch, loading of weights).
It only ends processes that hang; one that dies is noticed at once."""
_JOIN_SECONDS = 10.0
"""Time limit for the end of a process whose pipe has already broken."""
_UNIFORMS = "<uniforms>"
_CONNECTION_LOST = 3
"""Exit code of a process that lost its partner or coordinator."""


@dataclass(frozen=True)
class PlayedEpisode:
    """Arguments of the agents' processes, each of which loads the checkpoint.

    `seed` and `world` (its index) fix the random stream that all agents share; several agents may share the GPU
    `device`. Modules in `allow` may be imported if the checkpoint names them; `timeout_seconds` is that of each wait.
    """

    checkpoint: Path
    seed: int
    world: int
    allow: tuple[str, ...] = ()
    device: DeviceChoice = "auto"
    timeout_seconds: float = TIMEOUT_SECONDS


class MessageChannel:
    """An agent's end of the pipes to all others; `traffic` counts `messages` and `bytes` sent, once per receiver."""

    def __init__(self, agent: int, pipes: Mapping[int, Connection], timeout_seconds: float) -> None:
        self.traffic = Counter(messages=0, bytes=0)
        self._agent, self._pipes, self._timeout_seconds = agent, pipes, timeout_seconds

    def exchange(self, message: Tensor) -> Tensor:
        """Send a message to all other agents and receive theirs: [1, 1, ...] -> [1, N, ...] in the order of the agents.

        All send before any receives, which cannot block while messages are smaller than a pipe's buffer.
        """
        mine = message.cpu().numpy()
        for pipe in self._pipes.values():
            pipe.send_bytes(mine.tobytes())
            self.traffic.update(messages=1, bytes=mine.nbytes)
        heard = {self._agent: mine}
        for agent, pipe in self._pipes.items():
            if not pipe.poll(self._timeout_seconds):
                raise TimeoutError
            heard[agent] = np.frombuffer(pipe.recv_bytes(), mine.dtype).reshape(mine.shape)
        return torch.from_numpy(np.concatenate([heard[agent] for agent in sorted(heard)], axis=1)).to(message.device)


@torch.inference_mode()
def run_agent(episode: PlayedEpisode, number: int, coordinator: Connection, others: Mapping[int, Connection]) -> None:
    """Return an action for each observation until None arrives, then the message statistics, or an error's sentence."""
    torch.set_num_threads(1)
    try:
        loaded = load_policy(episode.checkpoint, episode.allow, episode.device)
        agent = AgentPolicy(loaded.policy, number)
        channel = MessageChannel(number, others, episode.timeout_seconds)
        chance = Chance(episode.seed, episode.world, 1)
        no_reset = torch.zeros(1, dtype=torch.bool, device=loaded.device)  # the recurrent state starts empty
        while (seen := coordinator.recv()) is not None:
            drawn = chance.policy_uniforms(1 + agent.num_agents)
            obs = to_device(seen | {_UNIFORMS: drawn}, loaded.device)
            uniforms = obs.pop(_UNIFORMS)
            chance.next_step()
            coordinator.send(int(run_dialogue(agent.act(obs, no_reset, uniforms), channel.exchange)))
        coordinator.send(channel.traffic)
    except (EOFError, OSError):
        sys.exit(_CONNECTION_LOST)
    except Exception as error:
        reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            coordinator.send(f"agent {number} failed: {one_line(reason)}")


class SeparateAgents:
    """The coordinator's view of the agents' processes: one pipe each, for observations and actions."""

    def __init__(self, observation_keys: Sequence[str], timeout_seconds: float) -> None:
        self.processes: list[SpawnProcess] = []
        self.pipes: list[Connection] = []
        self._keys, self.timeout_seconds = observation_keys, timeout_seconds
        self._env_steps = 0

    def act(self, obs: dict[str, np.ndarray]) -> np.ndarray:
        """One step of all agents: observations of one world, name -> [1, N, ...], to actions [1, N] int64.

        Raises UserError where an agent failed, died or does not answer.
        """
        actions = self._ask([{key: obs[key][:, agent] for key in self._keys} for agent in range(len(self.pipes))])
        self._env_steps += 1
        return np.array([actions], np.int64)

    def end_episode(self) -> Counter[str]:
        """End the episode and return the number and bytes of all messages; raises as `act` does."""
        return sum(self._ask([None] * len(self.pipes)), Counter())

    def start(self, episode: PlayedEpisode, others: dict[int, Connection]) -> None:
        """Start the next agent's process. Its ends of the pipes are closed here."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=run_agent, args=(episode, len(self.processes), theirs, others), daemon=True)
        process.start()
        self.processes.append(process)
        self.pipes.append(ours)
        for pipe in (theirs, *others.values()):
            pipe.close()

    def end(self) -> None:
        """Kill all processes and close the pipes."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
        for pipe in self.pipes:
            pipe.close()

    def _ask(self, questions: Sequence[Any]) -> list[Any]:
        """What each agent answers."""
        try:
            for pipe, question in zip(self.pipes, questions, strict=True):
                pipe.send(question)
            return [self._answer(agent) for agent in range(len(self.pipes))]
        except (EOFError, OSError):
            raise self._failure_cause() from None

    def _answer(self, agent: int) -> Any:
        pipe = self.pipes[agent]
        if not pipe.poll(self.timeout_seconds):
            raise UserError(
                f"agent {agent} did not answer within {self.timeout_seconds:g} seconds, at env step "
                f"{self._env_steps + 1}; run the command again when the machine is less busy"
            )
        answer = pipe.recv()
        if isinstance(answer, str):
            raise UserError(answer)
        return answer

    def _failure_cause(self) -> UserError:
        """Cause of a broken pipe: an agent's error if it sent one, else the exit code of the failed process."""
        for pipe in self.pipes:
            with contextlib.suppress(EOFError, OSError):
                while pipe.poll():
                    if isinstance(word := pipe.recv(), str):
                        return UserError(word)
        for agent, process in enumerate(self.processes):
            process.join(_JOIN_SECONDS)
            if process.exitcode not in (None, 0, _CONNECTION_LOST):
                code = process.exitcode
                how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                return UserError(
                    f"the process of agent {agent} {how} at env step {self._env_steps + 1}; run the command again"
                )
        return UserError(f"the agents lost their connections at env step {self._env_steps + 1}; run the command again")


@contextlib.contextmanager
def separate_agents(
    episode: PlayedEpisode, num_agents: int, observation_keys: Sequence[str]
) -> Iterator[SeparateAgents]:
    """N processes that play one episode, each with these keys of its observations; they end with the `with` block."""
    team = SeparateAgents(observation_keys, episode.timeout_seconds)
    pipes: list[dict[int, Connection]] = [{} for _ in range(num_agents)]
    for one, other in itertools.combinations(range(num_agents), 2):
        pipes[one][other], pipes[other][one] = multiprocessing.Pipe()
    try:
        with _interrupts_wait():
            for others in pipes:
                team.start(episode, others)
        yield team
    finally:
        team.end()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Block SIGINT; processes that start meanwhile inherit this, because the coordinator ends them."""
    resource_tracker.ensure_running()  # started here, because the first process would start it and unblock Control-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
