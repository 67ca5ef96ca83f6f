"""Usage of a chat model, from the record of exchanges: requests, tokens, and the cost if prices are known.

It is counted from the record and not by the process that asked. So a run that was killed and continued has one sum, and
a replay reports the usage of the run that it repeats.
"""

from dataclasses import dataclass
from pathlib import Path

from rl_models.chat.exchange import ChatReply, Outcome
from rl_models.chat.meter import REFUSED, Cost
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
        requests: number of requests; repeated attempts after an error count once.
        failures: number of requests without a reply.
        prompt_tokens: number of tokens sent, as the endpoint counts them.
        completion_tokens: number of tokens received.
    """

    requests: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def cost(self, prices: Prices) -> float:
        """The cost in the currency of the prices."""
        return (self.prompt_tokens * prices.prompt + self.completion_tokens * prices.completion) / 1e6

    def numbers(self, prices: Prices) -> dict[str, float]:
        """Metrics for logs and results, name -> number; the cost only if prices are known."""
        counts = {f"chat_{name}": float(value) for name, value in vars(self).items()}
        return counts | ({"chat_cost": self.cost(prices)} if prices != Prices() else {})


def read_usage(record: Path) -> Usage:
    """The usage of all exchanges in a record, zero if there is no file; raises RecordError where it is no record."""
    return _sums(_outcomes(record))


def spent_in(record: Path) -> Cost:
    """Costs in a record, as a meter counts them: tokens exactly, calls at least, as a request's attempts count once.

    Requests that the budget refused were not sent and cost nothing. Raises RecordError where the file is no record.
    """
    sent = [one for one in _outcomes(record) if isinstance(one, ChatReply) or not one.reason.startswith(REFUSED)]
    sums = _sums(sent)
    return Cost(sums.requests, sums.failures, sums.prompt_tokens, sums.completion_tokens)


def _outcomes(record: Path) -> list[Outcome]:
    return [one for _, one, _ in read_record(record, ignores_incomplete_line=False)] if record.is_file() else []


def _sums(outcomes: list[Outcome]) -> Usage:
    replies = [outcome for outcome in outcomes if isinstance(outcome, ChatReply)]
    return Usage(
        len(outcomes),
        len(outcomes) - len(replies),
        sum(reply.prompt_tokens for reply in replies),
        sum(reply.completion_tokens for reply in replies),
    )
