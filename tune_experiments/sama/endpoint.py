"""The language model of a run: one endpoint for all its trials, and one record of all exchanges.

During training an actor holds cache, budget and rate limit for all trials; outside of a run each process has its own
endpoint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Iterator
from pathlib import Path

from rl_models.chat.chat_settings import ChatSettings, open_transport
from rl_models.chat.exchange import Transport
from rl_models.chat.meter import Meter
from tune_experiments.core.errors import UserError
from tune_experiments.sama.planner_config import ModelSettings, PlannerConfig

RECORD = "planner.jsonl"


def record_folder(model: ModelSettings) -> Path:
    """Folder of the recorded exchanges with a language model."""
    return Path(model.folder) if model.folder else Path.home() / ".cache/concord/planner"


@contextlib.contextmanager
def shared_endpoint(config: PlannerConfig) -> Iterator[None]:
    """Context in which all trials of a run that Ray trains share one endpoint.

    Raises:
        UserError: The endpoint cannot be opened on the cluster.
    """
    if config.planner != "openai" or not _ray_runs():  # a run without Ray is one process, with its own endpoint
        yield
        return
    import ray

    from rl_models.rllib.chat_service import start_chat_service

    model = config.model
    chat, folder = _chat(model), record_folder(model)
    service = start_chat_service(chat, folder, model.concurrency, name=_name(model), shares_record=True)
    try:
        service.cost()
    except ray.exceptions.RayActorError as error:
        raise UserError(
            "the cluster cannot open the planner's endpoint: its processes need the package and the key, too"
        ) from error
    try:
        yield
    finally:
        service.stop()


def get_endpoint(model: ModelSettings) -> Transport:
    """The shared endpoint in a trial of a run, else the endpoint of this process."""
    if not _ray_runs():
        return own_endpoint(model)
    from rl_models.rllib.chat_service import find_chat_service

    return find_chat_service(_name(model)) or own_endpoint(model)


def _ray_runs() -> bool:
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


@functools.cache
def own_endpoint(model: ModelSettings) -> Transport:
    """Endpoint of this process; all its planners share one budget and rate limit."""
    # All runs with this folder share the record, but not the budget.
    return open_transport(_chat(model), record_folder(model), Meter(model.chat.budget))


def _chat(model: ModelSettings) -> ChatSettings:
    return dataclasses.replace(model.chat, backend="openai", model=model.name, record=RECORD)


def _name(model: ModelSettings) -> str:
    """Name of the actor, within the run's own namespace."""
    return f"planner {model.name} {record_folder(model)}"
