"""The forms that replies must have, each with bounds."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Short: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=600)]
Long: TypeAlias = Annotated[str, Field(max_length=4_000)]
MAX_AGENTS = 8
Phase = Literal["decomposition", "allocation"]


class Reply(BaseModel):
    """Reply of a model in one stage; fields that the class does not name are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RelevanceReply(Reply):
    """Whether a paragraph helps to play."""

    relevant: bool


class LinesReply(Reply):
    """Facts, objects, sentences of a manual or goals, one a line."""

    lines: Annotated[list[Line], Field(max_length=60)]


class SentenceReply(Reply):
    """A state in one sentence."""

    sentence: Line


class StatesReply(Reply):
    """States in the world's own sentences."""

    states: Annotated[list[Annotated[str, Field(max_length=2_000)]], Field(max_length=32)]


class DecompositionReply(Reply):
    """A goal and its sub-goals."""

    thoughts: Long = ""
    goal: Short
    subgoals: Annotated[list[Short], Field(min_length=1, max_length=MAX_AGENTS)]


class AllocationReply(Reply):
    """Number of each agent's sub-goal, from 1."""

    thoughts: Long = ""
    numbers: Annotated[list[Annotated[int, Field(ge=1, le=MAX_AGENTS)]], Field(min_length=1, max_length=MAX_AGENTS)]


class ScoredReply(Reply):
    """The sub-goal of one agent, and the scores of all that it could have been given."""

    subgoal: Short
    scores: dict[str, float] = {}


class Fault(Reply):
    """Phase of planning that made a plan fail, with the reasoning of the judge."""

    thoughts: Long = ""
    phase: Phase


class GroupsReply(Reply):
    """Sub-goals that mean the same, as lists of their numbers, from 1."""

    groups: Annotated[list[Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)]], Field(max_length=200)]


class CodeReply(Reply):
    """A sub-goal as a Python function."""

    code: Annotated[str, Field(min_length=1, max_length=4_000)]
