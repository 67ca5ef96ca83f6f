"""Usage of a chat model, from the record of exchanges: requests, tokens, and the cost if prices are known.

It is counted from the record and not by the process that asked. So a run that was killed and continued has one sum, and
a replay reports the usage of the run that it repeats.
"""

from pathlib import Path

from rl_models.chat.exchange import ChatReply, Outcome
from rl_models.chat.meter import REFUSED, Usage
from rl_models.chat.record import read_record


def read_usage(record: Path) -> Usage:
    """The usage of all exchanges in a record, zero if there is no file; raises RecordError where it is no record."""
    return _sums(_outcomes(record))


def spent_in(record: Path) -> Usage:
    """The usage as a meter counts it: tokens exactly, requests at least, because a request's attempts count once.

    Requests that the budget refused were not sent and cost nothing. Raises RecordError where the file is no record.
    """
    sent = [one for one in _outcomes(record) if isinstance(one, ChatReply) or not one.reason.startswith(REFUSED)]
    return _sums(sent)


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
