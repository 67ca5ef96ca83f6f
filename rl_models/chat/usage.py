"""What a record of exchanges has cost: requests, tokens of both directions, and money if prices are known.

Counted from the record and not by the process that asked, so a run that was killed and continued has one sum, and a
replay tells what the run that it repeats has cost. This file must not know who answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rl_models.chat.exchange import ChatReply
from rl_models.chat.record import read_record


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices of a million tokens of each direction."""

    prompt: float = 0.0
    """Price of a million tokens that are sent, in any currency; 0 means unknown."""
    completion: float = 0.0
    """Price of a million tokens that are received, in the same currency; 0 means unknown."""


@dataclass(frozen=True)
class Usage:
    """Sums over a record.

    Attributes:
        requests: that left; a repeated sending of the same request after an error counts once.
        failures: those of them that brought no reply.
        prompt_tokens: sent, as the endpoint counts.
        completion_tokens: received.
    """

    requests: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def cost(self, prices: Prices) -> float:
        """In the money of the prices."""
        return (self.prompt_tokens * prices.prompt + self.completion_tokens * prices.completion) / 1e6

    def numbers(self, prices: Prices) -> dict[str, float]:
        """For logs and results, name -> number; the cost only where prices are known."""
        told = {f"chat_{name}": float(value) for name, value in vars(self).items()}
        return told | ({"chat_cost": self.cost(prices)} if prices != Prices() else {})


def usage_of(record: Path) -> Usage:
    """Of all exchanges in a record; nothing where there is none.

    Raises:
        RecordError: the file is no record.
    """
    if not record.is_file():
        return Usage()
    outcomes = [outcome for _, outcome in read_record(record, drops_torn_end=False)]
    replies = [outcome for outcome in outcomes if isinstance(outcome, ChatReply)]
    return Usage(
        len(outcomes),
        len(outcomes) - len(replies),
        sum(reply.prompt_tokens for reply in replies),
        sum(reply.completion_tokens for reply in replies),
    )
