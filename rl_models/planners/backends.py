"""Which backend a planner uses, from settings that fit into a configuration.

| backend | answers |
|---|---|
| `offline` | the domain's rules, the same each time |
| `noisy` | the rules, wrong on purpose at one of two levels |
| `openai` | an endpoint that speaks the chat protocol; recorded |
| `replay` | the record of an earlier run |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rl_models.chat.chat_settings import ChatSettings, open_transport
from rl_models.chat.client import ChatClient
from rl_models.chat.exchange import Transport
from rl_models.chat.record import Recorded, Replay
from rl_models.planners.calling import Caller
from rl_models.planners.domain import Domain
from rl_models.planners.noisy import NOISES, NoisyBackend
from rl_models.planners.offline import MODEL, OfflineBackend
from rl_models.planners.transcript import Transcript


@dataclass(frozen=True, kw_only=True)
class PlannerSettings:
    """How a run plans."""

    backend: Literal["offline", "noisy", "openai", "replay"] = "offline"
    noise: Literal["weak", "weaker"] = "weak"
    """How often the noisy backend errs: weak, or weaker, which errs more often."""
    model: str = "gpt-4o-mini"
    """Name by which the endpoint knows the model. A replay takes the name in the record, `offline` for instance."""
    seed: int = 0
    concurrency: int = 4
    """Number of questions under way at the same time."""
    max_attempts: int = 3
    """Number of replies that are tried before a rule answers the question."""
    record: str = "planner.jsonl"
    """File of all exchanges, in the run's folder."""
    transcript: str = "planner.md"
    """File of the transcript, in the run's folder; empty: none is written."""
    chat: ChatSettings = field(default_factory=ChatSettings)
    """Settings of the endpoint; its model and record are not read."""


def open_caller(settings: PlannerSettings, domain: Domain, folder: Path, transport: Transport | None = None) -> Caller:
    """A caller for the backend that the settings name.

    Args:
        settings: of the run.
        domain: domain whose rules answer offline.
        folder: of the run, for record and transcript.
        transport: reaches the endpoint or its record (`rllib.chat_service`); opened here if there is none.

    Raises:
        ChatSettingsError: the endpoint cannot be used as it is set up.
        RecordError: the record cannot be read or written.
    """
    if settings.transcript:
        folder.mkdir(parents=True, exist_ok=True)
    found, model = _open(settings, domain, folder) if transport is None else (transport, settings.model)
    is_rule = settings.backend in ("offline", "noisy")
    # Rules answer at once: threads would only take turns.
    client = ChatClient(found, 1 if is_rule else settings.concurrency, settings.max_attempts)
    transcript = Transcript(folder / settings.transcript if settings.transcript else None)
    return Caller(client, model, transcript, settings.seed)


def _open(settings: PlannerSettings, domain: Domain, folder: Path) -> tuple[Transport, str]:
    record = folder / settings.record
    if settings.backend == "replay":
        return Replay(record), settings.model
    if settings.backend == "openai":
        chat = ChatSettings(
            model=settings.model,
            record=settings.record,
            endpoint=settings.chat.endpoint,
            budget=settings.chat.budget,
        )
        return open_transport(chat, folder), settings.model
    if settings.backend == "noisy":
        noisy = NoisyBackend(domain, NOISES[settings.noise], settings.seed)
        return Recorded(record, noisy), noisy.model
    return Recorded(record, OfflineBackend(domain)), MODEL
