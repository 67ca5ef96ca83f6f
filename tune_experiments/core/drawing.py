"""Drawing of figures, videos and pages: a failure is reported in one sentence and never ends a run.

All drawing code is called by `attempt` (a file) or `attempt_part` (a part of a file).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from rl_models.errors import first_line
from tune_experiments.core.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Missing:
    """A figure, video or page, or a part of one, that could not be made, and the cause in one line."""

    what: str
    why: str


Drawn: TypeAlias = Path | Missing


def attempt(what: str, make: Callable[[], Path | Iterable[Drawn]]) -> Iterator[Drawn]:
    """Yield the files that `make` writes; after a failure, a `Missing`."""
    try:
        made = make()
        yield from [made] if isinstance(made, Path) else made
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # any error of a custom environment, matplotlib or the disk
        yield Missing(what, short_reason(error))


def attempt_part(missing: dict[str, str], what: str, make: Callable[[], T], otherwise: T) -> T:
    """A part of a drawing; if it fails, `otherwise`, and the cause in `missing` unless nothing can be rendered."""
    try:
        return make()
    except NotImplementedError:
        return otherwise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing.setdefault(what, short_reason(error))
        return otherwise


def with_older(drawn: Iterable[Drawn], *places: Path) -> list[Drawn]:
    """What was drawn; if something is missing, also a `Missing` for each file or content of a folder from before."""
    found = list(drawn)
    if all(isinstance(one, Path) for one in found):
        return found
    written = {one.with_suffix("") for one in found if isinstance(one, Path)}  # a figure has several suffixes
    there = [file for place in places for file in (sorted(place.iterdir()) if place.is_dir() else [place])]
    older = dict.fromkeys(file.with_suffix("") for file in there if file.exists())
    why = "what is there is older than this report"
    return found + [Missing(f"new {one.parent.name}/{one.name}", why) for one in older if one not in written]


def short_reason(error: BaseException) -> str:
    """Cause of an error in one line, with its type unless it is a sentence for users."""
    message = first_line(error)
    is_sentence = isinstance(error, UserError | ValueError | NotImplementedError) or message == type(error).__name__
    return message if is_sentence else f"{type(error).__name__}: {message}"


def describe_drawings(drawn: Sequence[Drawn], place: Callable[[Path], object] = str) -> list[str]:
    """A line for each file, and one for each cause of missing ones."""
    by_cause: dict[str, list[str]] = {}
    for one in drawn:
        if isinstance(one, Missing):
            by_cause.setdefault(one.why, []).append(one.what)
    return [
        *(f"wrote {place(one)}" for one in drawn if isinstance(one, Path)),
        *(f"no {', '.join(dict.fromkeys(whats))}: {why}" for why, whats in by_cause.items()),
    ]
