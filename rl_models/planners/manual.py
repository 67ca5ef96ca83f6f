"""The game's manual from papers about it: relevant paragraphs, what they tell, one summary (SAMA, section 3.1).

Q_rel decides which paragraphs are read, one "yes" suffices; Q_game is asked of each of those. The questions are ours.
This file must not know the game.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from rl_models.chat.client import RejectedReplyError
from rl_models.planners import offline_reading
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.domain import Domain
from rl_models.planners.replies import AskFacts, AskRelevance, AskSummary, LinesReply, RelevanceReply

RELEVANCE_QUESTIONS = (
    "Would somebody who plays this game play better for having read the paragraph?",
    "Does the paragraph say how the game works, or how it is played well?",
)
"""Q_rel."""
GAME_QUESTIONS = (
    "What does the paragraph say that helps a player? One fact a line.",
    "Which objects must a player use or avoid, and how? One object a line.",
    "What are the aims of the game, and what does each of them need? One aim a line.",
    "Which actions are there, and what does each of them need? One action a line.",
)
"""Q_game."""
RELEVANCE = Stage("relevance", RelevanceReply, max_tokens=50)
FACTS = Stage("facts", LinesReply)
SUMMARY = Stage("summary", LinesReply, max_tokens=2_000)
_MOST_FACTS = 300


def write_manual(caller: Caller, game: str, paragraphs: Sequence[str], domain: Domain) -> str:
    """A manual from paragraphs about a game.

    Args:
        caller: carries the calls.
        game: its name.
        paragraphs: plain text (`latex.read_paragraphs`).
        domain: its words, by which rules read what no model does.

    Raises:
        ValueError: no paragraph is relevant.
    """
    relevant = relevant_paragraphs(caller, game, paragraphs, domain)
    if not relevant:
        raise ValueError(f"none of {len(paragraphs)} paragraphs tells how {game} is played: hand in other papers")
    facts = tuple(dict.fromkeys(_facts(caller, game, relevant, domain)))[:_MOST_FACTS]
    listed = "\n".join(f"- {fact}" for fact in facts)
    by_rule = tuple(offline_reading.summary(facts, domain.agents))
    call = Call({"game": game, "facts": listed}, AskSummary(facts), _at_least_one, lambda: by_rule)
    (answer,) = caller.call(SUMMARY, [call])
    return "\n".join(answer.value)


def relevant_paragraphs(caller: Caller, game: str, paragraphs: Sequence[str], domain: Domain) -> list[str]:
    """Paragraphs for which at least one question of Q_rel is answered with yes."""
    calls: list[Call[RelevanceReply, bool]] = [
        Call(
            {"game": game, "question": question, "paragraph": paragraph},
            AskRelevance(paragraph),
            lambda reply: reply.relevant,
            functools.partial(offline_reading.is_relevant, paragraph, domain.objects),
        )
        for paragraph in paragraphs
        for question in RELEVANCE_QUESTIONS
    ]
    answers = [answer.value for answer in caller.call(RELEVANCE, calls)]
    each = len(RELEVANCE_QUESTIONS)
    return [paragraph for n, paragraph in enumerate(paragraphs) if any(answers[n * each : (n + 1) * each])]


def _facts(caller: Caller, game: str, paragraphs: Sequence[str], domain: Domain) -> list[str]:
    calls: list[Call[LinesReply, tuple[str, ...]]] = [
        Call(
            {"game": game, "question": question, "paragraph": paragraph},
            AskFacts(paragraph, number),
            lambda reply: tuple(reply.lines),
            functools.partial(_facts_by_rule, paragraph, number, domain),
        )
        for paragraph in paragraphs
        for number, question in enumerate(GAME_QUESTIONS)
    ]
    return [" ".join(line.split()) for answer in caller.call(FACTS, calls) for line in answer.value]


def _facts_by_rule(paragraph: str, question: int, domain: Domain) -> tuple[str, ...]:
    return tuple(offline_reading.facts(paragraph, question, domain))


def _at_least_one(reply: LinesReply) -> tuple[str, ...]:
    if not reply.lines:
        raise RejectedReplyError("the manual is empty")
    return tuple(" ".join(line.split()) for line in reply.lines)
