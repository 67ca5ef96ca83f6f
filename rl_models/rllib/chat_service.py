"""Ray actor for a run's chat model: one cache, one budget and one rate limit for all processes.

Env runners never call it: they get sub-goals and messages with their worlds. Only planning and distillation do.
"""

import dataclasses
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from rl_models.chat.chat_settings import ChatSettings, open_meter, open_transport
from rl_models.chat.exchange import ChatRequest, Outcome
from rl_models.chat.meter import Meter, Usage


class ChatService:
    """Class of the actor: a transport and the meter of its endpoint."""

    def __init__(self, settings: ChatSettings, folder: str, shares_record: bool = False) -> None:
        """Open the transport in the actor's process, which alone holds the key and the record."""
        self._meter = Meter(settings.budget) if shares_record else open_meter(settings, Path(folder))
        self._transport = open_transport(settings, Path(folder), self._meter)

    def complete(self, request: ChatRequest) -> Outcome:
        """See `Transport.complete`."""
        return self._transport.complete(request)

    def usage(self) -> Usage:
        """The usage of the run so far."""
        return self._meter.usage


class RemoteTransport:
    """A `Transport` that sends requests to the actor, from any process of the cluster."""

    def __init__(self, actor: Any) -> None:
        """Take a handle of an actor of `ChatService`."""
        self._actor = actor

    def complete(self, request: ChatRequest) -> Outcome:
        """Send a request and wait for the actor's answer."""
        return ray.get(self._actor.complete.remote(dataclasses.replace(request, context=None)))

    def usage(self) -> Usage:
        """The usage of the run so far."""
        return ray.get(self._actor.usage.remote())

    def stop(self) -> None:
        """End the actor; later requests fail."""
        ray.kill(self._actor)


def start_chat_service(
    settings: ChatSettings,
    folder: Path,
    concurrency: int = 8,
    runtime_env: dict[str, Any] | None = None,
    name: str | None = None,
    shares_record: bool = False,
) -> RemoteTransport:
    """Start the actor of a run, which needs no CPU, on this node, where the run folder is. It ends with this process.

    `runtime_env` is Ray's description of the actor's environment, if it alone holds the key; `name` is for other
    processes of the run. If other runs share the record the budget holds for one session, because the record does not
    separate the runs' costs.
    """
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_concurrency": concurrency, "runtime_env": runtime_env, "name": name}
    actor = ray.remote(ChatService).options(scheduling_strategy=here, **options)
    return RemoteTransport(actor.remote(settings, str(folder), shares_record))


def find_chat_service(name: str) -> RemoteTransport | None:
    """The run's actor of that name; None if Ray or the actor was not started."""
    if not ray.is_initialized():
        return None
    try:
        return RemoteTransport(ray.get_actor(name))
    except ValueError:
        return None
