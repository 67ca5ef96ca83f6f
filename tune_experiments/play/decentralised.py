"""A trained team as N processes, one per agent, that act as the team does (decentralised execution).

The coordinator steps the world, hands each agent its own observation and takes its action. It makes the pipes between
the agents but closes its own ends of them as soon as the processes have theirs, so that it can neither read nor write a
message. Every wait has a timeout; all processes end with the `with` block.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.configuration import DeviceChoice
from tune_experiments.core.errors import UserError
from tune_experiments.play.agent_process import PARTNER_GONE, MessageStats, Role, run_agent

PATIENCE_SECONDS = 600.0
"""Time limit of one answer, including the start of the process (import of torch, loading of weights).
It is long because it is for a process that hangs; the death of a process is noticed at once."""
_JOIN_SECONDS = 10.0
"""Time limit for the end of a process whose pipe has already broken."""


class SeparateAgents:
    """The coordinator's view of the agents' processes: one pipe each, for observations and actions.

    Attributes:
        processes: process of each agent.
        patience_seconds: timeout in seconds of each wait.
    """

    def __init__(self, observation_keys: Sequence[str], patience_seconds: float) -> None:
        self.processes: list[SpawnProcess] = []
        self.pipes: list[Connection] = []
        self._keys, self.patience_seconds = observation_keys, patience_seconds
        self._env_steps = 0

    def act(self, obs: dict[str, np.ndarray]) -> np.ndarray:
        """One step of all agents: observations of one world, name -> [1, N, ...], to actions [1, N] int64.

        Raises:
            UserError: an agent failed, died or does not answer.
        """
        self._hand_out([{key: obs[key][:, agent] for key in self._keys} for agent in range(len(self.pipes))])
        actions = self._collect()
        self._env_steps += 1
        return np.array([actions], np.int64)

    def end_episode(self) -> MessageStats:
        """End the episode and return the statistics of all messages.

        Raises:
            UserError: as for `act`.
        """
        self._hand_out([None] * len(self.pipes))
        return sum(self._collect(), MessageStats())

    def start(self, role: Role, others: dict[int, Connection]) -> None:
        """Start one agent's process. Its ends of the pipes to the others are closed here, because they are its own."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=run_agent, args=(role, theirs, others), daemon=True)
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

    def _hand_out(self, what: Sequence[Any]) -> None:
        try:
            for pipe, mine in zip(self.pipes, what, strict=True):
                pipe.send(mine)
        except OSError:
            raise self._what_happened() from None

    def _collect(self) -> list[Any]:
        try:
            return [self._answer(agent) for agent in range(len(self.pipes))]
        except (EOFError, OSError):
            raise self._what_happened() from None

    def _answer(self, agent: int) -> Any:
        pipe = self.pipes[agent]
        if not pipe.poll(self.patience_seconds):
            raise UserError(
                f"agent {agent} did not answer within {self.patience_seconds:g} seconds, at env step "
                f"{self._env_steps + 1}; run the command again when the machine is less busy"
            )
        answer = pipe.recv()
        if isinstance(answer, str):
            raise UserError(answer)
        return answer

    def _what_happened(self) -> UserError:
        """Why a pipe broke: an agent's own error if it sent one, else the exit code of the process that failed."""
        for pipe in self.pipes:
            with contextlib.suppress(EOFError, OSError):
                while pipe.poll():
                    if isinstance(word := pipe.recv(), str):
                        return UserError(word)
        for agent, process in enumerate(self.processes):
            process.join(_JOIN_SECONDS)
            if process.exitcode not in (None, 0, PARTNER_GONE):
                code = process.exitcode
                how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                return UserError(
                    f"the process of agent {agent} {how} at env step {self._env_steps + 1}; run the command again"
                )
        return UserError(f"the agents lost their connections at env step {self._env_steps + 1}; run the command again")


@contextlib.contextmanager
def separate_agents(
    checkpoint: Path,
    num_agents: int,
    observation_keys: Sequence[str],
    seed: int,
    world: int,
    patience_seconds: float = PATIENCE_SECONDS,
    allow: tuple[str, ...] = (),
    device: DeviceChoice = "auto",
) -> Iterator[SeparateAgents]:
    """N processes that play one episode and end with the `with` block; the other arguments are those of `Role`."""
    team = SeparateAgents(observation_keys, patience_seconds)
    pipes: list[dict[int, Connection]] = [{} for _ in range(num_agents)]
    for one, other in itertools.combinations(range(num_agents), 2):
        pipes[one][other], pipes[other][one] = multiprocessing.Pipe()
    try:
        with _interrupts_wait():
            for agent in range(num_agents):
                role = Role(checkpoint, agent, seed, world, patience_seconds, allow, device)
                team.start(role, pipes[agent])
        yield team
    finally:
        team.end()


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Block SIGINT; processes that start meanwhile inherit this, because the coordinator ends them."""
    resource_tracker.ensure_running()  # started here, because its start by the first process would unblock Control-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
