"""Which transport a run uses, from settings that fit into a configuration.

This file must not know what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rl_models.chat.endpoint import ChatSettingsError, Endpoint, EndpointSettings
from rl_models.chat.exchange import Transport
from rl_models.chat.meter import Budget, Meter
from rl_models.chat.record import Recorded, Replay
from rl_models.chat.usage import Prices


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """How a run reaches a chat model."""

    backend: Literal["openai", "replay"] = "openai"
    """What answers: `openai`, an endpoint whose exchanges are recorded; `replay`, the record alone."""
    model: str = "gpt-4o-mini"
    """Name by which the endpoint knows the model."""
    record: str = "chat.jsonl"
    """File of all exchanges; a relative path is taken from the run's folder."""
    prices: Prices = field(default_factory=Prices)
    """Prices of tokens, for telling what a run has cost; none by default."""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    """Bounds of a call to the endpoint: time, tries and bytes."""
    budget: Budget = field(default_factory=Budget)
    """Limits of a whole run: calls, tokens and calls in a minute."""


def open_transport(settings: ChatSettings, folder: Path, meter: Meter | None = None) -> Transport:
    """The transport that the settings name.

    Args:
        settings: of the run.
        folder: of the run.
        meter: counts what the endpoint costs; made from the settings if there is none.

    Raises:
        ChatSettingsError: the endpoint cannot be used as it is set up.
        RecordError: the record cannot be read or written.
    """
    record = folder / settings.record
    if settings.backend == "replay":
        return Replay(record)
    if not settings.model:
        raise ChatSettingsError("an endpoint needs the name of a model: set `model`")
    return Recorded(record, Endpoint(settings.endpoint, meter or Meter(settings.budget)))
