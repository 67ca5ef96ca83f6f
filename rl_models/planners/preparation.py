"""Preparation before training: objects, sentences, diverse states, sub-goals without duplicates (SAMA, 3.1 to 3.3)."""

import warnings
from collections.abc import Sequence

from rl_models.chat.client import RejectedReplyError
from rl_models.planners.calling import Call, Caller, Stage
from rl_models.planners.code_index import CodeIndex, format_documents
from rl_models.planners.domain import Domain, StateTextError, TrainingDomain
from rl_models.planners.offline_reading import groups, objects
from rl_models.planners.replies import GroupsReply, LinesReply, SentenceReply, StatesReply

OBJECTS = Stage("objects", LinesReply, max_tokens=200)
TRANSLATION = Stage("translation", SentenceReply, max_tokens=300)
STATES = Stage("states", StatesReply, max_tokens=3_000)
GROUPS = Stage("groups", GroupsReply)
_STATES_A_CALL = 8
_MAX_OBJECTS = 30
_NUMBERS_OF_A_SEED = 1_000_000
"""Calls per seed; numbers of calls must differ between seeds, or their teams share states."""


def extract_objects(caller: Caller, domain: Domain, manual: str) -> tuple[str, ...]:
    """The objects of a manual that can be acted on.

    A model may name others than the domain, as long as the manual names them.
    """

    def read(reply: LinesReply) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(" ".join(line.lower().split()) for line in reply.lines))
        strange = [thing for thing in found if not thing or thing not in manual.lower()]
        if strange or not 0 < len(found) <= _MAX_OBJECTS:
            raise RejectedReplyError(f"each object must be named in the manual, and at most {_MAX_OBJECTS} of them")
        return found

    def rule() -> LinesReply:
        return LinesReply(lines=objects(manual, domain.objects))

    call = Call({"manual": manual}, rule, read, lambda: domain.objects)
    return caller.call(OBJECTS, [call])[0].value


def translate_states(caller: Caller, domain: Domain, manual: str, index: CodeIndex, states: Sequence[str]) -> list[str]:
    """A sentence for each state text; `index` holds the world's source."""

    def call(state: str) -> Call[SentenceReply, str]:
        return Call(
            {"manual": manual, "code": format_documents(index.search(state)), "state": state},
            rule=lambda: SentenceReply(sentence=domain.situation(state)),
            check=lambda reply: " ".join(reply.sentence.split()),
            fallback=lambda: domain.situation(state),
        )

    return [answer.value for answer in caller.call(TRANSLATION, [call(state) for state in states])]


def generate_states(
    caller: Caller, domain: TrainingDomain, manual: str, examples: Sequence[str], count: int, seed: int = 0
) -> list[str]:
    """Diverse legal states beside the examples, D_state: `count` are wanted; a warning says how many are missing.

    Of the examples, states met in play, the first few are shown; `seed` is that of backends by rule.
    """
    first = seed * _NUMBERS_OF_A_SEED
    calls = [
        _states_call(domain, manual, examples, min(_STATES_A_CALL, count - start), first + start)
        for start in range(0, count, _STATES_A_CALL)
    ]
    answers = caller.call(STATES, calls)
    found = list(dict.fromkeys((*examples, *(state for answer in answers for state in answer.value))))
    new = len(found) - len(set(examples))
    if new < count:
        warnings.warn(
            f"the planner gave {new} new states of {count}, so training begins in fewer different ones", stacklevel=2
        )
    return found


def _states_call(
    domain: TrainingDomain, manual: str, examples: Sequence[str], count: int, number: int
) -> Call[StatesReply, tuple[str, ...]]:
    def read(reply: StatesReply) -> tuple[str, ...]:
        legal, reasons = _legal(domain, reply.states)
        if not legal or len(legal) < len(reply.states) / 2:
            raise RejectedReplyError(f"most states are not legal, the first because {(*reasons, 'there is none')[0]}")
        return legal

    examples_text = "\n\n".join(examples[:3])
    # The number of the portion is told, or equal questions would share one answer.
    values = {"manual": manual, "examples": examples_text, "count": str(count), "portion": str(number)}
    return Call(
        values,
        rule=lambda: StatesReply(states=domain.diverse_states(count, number)),
        check=read,
        fallback=lambda: tuple(domain.diverse_states(count, number)),
    )


def _legal(domain: TrainingDomain, states: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Valid states in the environment's form, and the reasons why others are invalid."""
    legal, reasons = list[str](), list[str]()
    for state in states:
        try:
            legal.append(domain.check(state))
        except StateTextError as error:
            reasons.append(str(error))
    return tuple(legal), tuple(reasons)


def deduplicate_subgoals(caller: Caller, domain: Domain, texts: Sequence[str]) -> list[str]:
    """D'_subgoal, in the given order: one sub-goal for each meaning, the first."""
    different = tuple(dict.fromkeys(texts))
    if len(different) < 2:
        return list(different)
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(different, start=1))

    def read(reply: GroupsReply) -> list[list[int]]:
        if sorted(number for group in reply.groups for number in group) != list(range(1, len(different) + 1)):
            raise RejectedReplyError(f"each of the numbers 1 to {len(different)} must stand in exactly one group")
        return reply.groups

    def rule() -> GroupsReply:
        return GroupsReply(groups=groups(different, domain.agents))

    call = Call({"subgoals": listed}, rule, read, lambda: groups(different, domain.agents))
    kept = sorted(min(group) for group in caller.call(GROUPS, [call])[0].value)
    return [different[number - 1] for number in kept]
