"""Settings of a run's chat model, and the transport that they name."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rl_models.chat.endpoint import ChatSettingsError, Endpoint, EndpointSettings
from rl_models.chat.exchange import Transport
from rl_models.chat.meter import Budget, Meter, Prices
from rl_models.chat.record import LastReplies, Recorded, Replay
from rl_models.chat.usage import spent_in
from rl_models.configuration import MAY_CHANGE


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """Settings of a run's chat model."""

    backend: Literal["openai", "replay", "recall"] = "openai"
    """Source of answers: openai, an endpoint whose exchanges are recorded; replay, the record only, in its order;
    recall, the record's last reply to each question."""
    model: str = "gpt-4o-mini"
    """Name of the model at the endpoint."""
    record: str = "chat.jsonl"
    """File of all exchanges; a relative path starts in the run's folder."""
    prices: Prices = field(default_factory=Prices)
    """Prices of tokens, for the cost of a run; unknown by default."""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings, metadata=MAY_CHANGE)
    """Limits of a request to the endpoint: time, attempts and bytes."""
    budget: Budget = field(default_factory=Budget, metadata=MAY_CHANGE)
    """Limits of calls, tokens and calls in a minute: of each trial in Verco, of a session of a run in SAMA."""


def open_transport(settings: ChatSettings, folder: Path, meter: Meter | None = None) -> Transport:
    """Open the transport that the settings name; relative paths start in the run's folder.

    Raises ChatSettingsError where the endpoint cannot be used with these settings, and RecordError where the record
    cannot be read or written.
    """
    record = folder / settings.record
    if settings.backend == "replay":
        return Replay(record)
    if settings.backend == "recall":
        return LastReplies(record)
    if not settings.model:
        raise ChatSettingsError("an endpoint needs the name of a model: set `model`")
    endpoint = Endpoint(settings.endpoint, meter or open_meter(settings, folder))
    return Recorded(record, endpoint, endpoint.address)


def open_meter(settings: ChatSettings, folder: Path) -> Meter:
    """A meter that has counted what the record of earlier sessions holds, so that the budget is that of all sessions.

    Raises RecordError where the file of the record is none.
    """
    return Meter(settings.budget, spent_in(folder / settings.record))
