"""The game's manual from papers about it: relevant paragraphs, what they tell, one summary (SAMA, section 3.1).

Q_rel selects paragraphs by at least one "yes"; Q_game is asked about each of those. The questions are ours.

The paragraphs come from the paper's LaTeX: no comments, no commands, no figures, bounded.
"""

import functools
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from rl_models.chat.client import RejectedReplyError
from rl_models.errors import InputError
from rl_models.planners import offline_reading
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.domain import Domain
from rl_models.planners.replies import LinesReply, RelevanceReply

MAX_FILE_BYTES = 4_000_000
MAX_PARAGRAPH = 2_000
MAX_PARAGRAPHS = 400
_MIN_WORDS = 6
_COMMENT = re.compile(r"(?<!\\)%.*")
_LEFT_OUT = re.compile(
    r"\\begin\{(figure|table|tabular|equation|align|algorithm|thebibliography)\*?\}.*?\\end\{\1\*?\}", re.DOTALL
)
_POINTERS = re.compile(
    r"~?\\(?:cite[a-z]*|ref|eqref|autoref|label|footnote|includegraphics)\*?(?:\[[^\]]*\])*\{[^{}]*\}"
)
_HEADING = re.compile(r"\\(?:sub)*section\*?\{[^{}]*\}|\\paragraph\*?\{([^{}]*)\}")
_WITH_TEXT = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?")
_ESCAPED = re.compile(r"\\([%&_#$])")


def read_paragraphs(path: Path) -> list[str]:
    """Paragraphs of a LaTeX file as plain text; raises InputError where it cannot be read or is too large."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(f"{path} is larger than {MAX_FILE_BYTES} bytes: hand in the paper's text alone")
    return paragraphs(raw.decode("utf-8", "replace"))


def paragraphs(latex: str) -> list[str]:
    """Paragraphs of a LaTeX text, those of a few words left out."""
    _, begun, body = latex.partition("\\begin{document}")
    text = body.partition("\\end{document}")[0] if begun else latex
    text = _LEFT_OUT.sub("\n\n", "\n".join(_COMMENT.sub("", line) for line in text.splitlines()))
    text = _HEADING.sub(lambda found: f"\n\n{found[1] or ''} ", _POINTERS.sub("", text))
    found = (" ".join(_plain(part).split()) for part in re.split(r"\n\s*\n", text))
    long = [
        _first(MAX_PARAGRAPH, part, "characters of a paragraph") for part in found if len(part.split()) >= _MIN_WORDS
    ]
    return _first(MAX_PARAGRAPHS, long, "paragraphs")


T = TypeVar("T", str, list[str])


def _first(limit: int, found: T, what: str) -> T:
    """At most the first `limit` of what was found, with a warning about the others."""
    if len(found) > limit:
        warnings.warn(
            f"only the first {limit} of {len(found)} {what} become part of the manual: hand in shorter texts about the "
            "game",
            stacklevel=2,
        )
    return found[:limit]


def _plain(text: str) -> str:
    # Commands may stand within commands; a few layers are enough for prose.
    for _ in range(4):
        text = _WITH_TEXT.sub(r"\1", text)
    text = _ESCAPED.sub(r"\1", _COMMAND.sub(" ", text))
    return text.translate(str.maketrans("{}~$\\", "     "))


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
_MAX_FACTS = 300


def write_manual(caller: Caller, game: str, paragraphs: Sequence[str], domain: Domain) -> str:
    """A manual from paragraphs of plain text about a game; raises ValueError where none is relevant."""
    relevant = relevant_paragraphs(caller, game, paragraphs, domain)
    if not relevant:
        raise ValueError(f"none of {len(paragraphs)} paragraphs tells how {game} is played: hand in other papers")
    facts = tuple(_first(_MAX_FACTS, list(dict.fromkeys(_facts(caller, game, relevant, domain))), "facts"))
    listed = "\n".join(f"- {fact}" for fact in facts)
    by_rule = offline_reading.summary(facts, domain.agents)
    values = {"game": game, "facts": listed}
    call = Call(values, lambda: LinesReply(lines=by_rule), _at_least_one, lambda: tuple(by_rule))
    (answer,) = caller.call(SUMMARY, [call])
    return "\n".join(answer.value)


def relevant_paragraphs(caller: Caller, game: str, paragraphs: Sequence[str], domain: Domain) -> list[str]:
    """Paragraphs for which at least one question of Q_rel is answered with yes."""
    calls: list[Call[RelevanceReply, bool]] = [
        Call(
            {"game": game, "question": question, "paragraph": paragraph},
            functools.partial(_relevance_by_rule, paragraph, domain),
            lambda reply: reply.relevant,
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
            functools.partial(_facts_by_rule, paragraph, number, domain),
            lambda reply: tuple(reply.lines),
        )
        for paragraph in paragraphs
        for number, question in enumerate(GAME_QUESTIONS)
    ]
    return [" ".join(line.split()) for answer in caller.call(FACTS, calls) for line in answer.value]


def _relevance_by_rule(paragraph: str, domain: Domain) -> RelevanceReply:
    return RelevanceReply(relevant=offline_reading.is_relevant(paragraph, domain.objects))


def _facts_by_rule(paragraph: str, question: int, domain: Domain) -> LinesReply:
    return LinesReply(lines=offline_reading.facts(paragraph, question, domain))


def _at_least_one(reply: LinesReply) -> tuple[str, ...]:
    if not reply.lines:
        raise RejectedReplyError("the manual is empty")
    return tuple(" ".join(line.split()) for line in reply.lines)
