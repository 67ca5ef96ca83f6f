"""The language model of a run: one endpoint for all its trials, and one record of what was asked.

While a run trains, an actor beside the trials holds cache, budget and rate limit for all of them; a process without
one, as that of a test afterwards, has an endpoint of its own.
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
    """Within it the trials of a run, which Ray trains, have one endpoint together.

    Raises:
        UserError: it cannot be opened in a process of the cluster.
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
    """The run's, where this process is a trial of one; else this process's own.

    Raises:
        ChatSettingsError: it cannot be used as it is set up.
        RecordError: the record cannot be read or written.
    """
    return _shared(model) or own_endpoint(model)


def _shared(model: ModelSettings) -> Transport | None:
    if not _ray_runs():
        return None
    from rl_models.rllib.chat_service import find_chat_service

    return find_chat_service(_name(model))


def _ray_runs() -> bool:
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


@functools.cache
def own_endpoint(model: ModelSettings) -> Transport:
    """One for all planners of a process, which share its budget and its rate."""
    # The record is that of all runs with this folder, and must not use up the budget of this one.
    return open_transport(_chat(model), record_folder(model), Meter(model.chat.budget))


def _chat(model: ModelSettings) -> ChatSettings:
    return dataclasses.replace(model.chat, backend="openai", model=model.name, record=RECORD)


def _name(model: ModelSettings) -> str:
    """Name of the actor, within the run's own namespace."""
    return f"planner {model.name} {record_folder(model)}"
