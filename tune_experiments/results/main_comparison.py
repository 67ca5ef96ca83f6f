"""The main comparison of a table, which is printed before the run, and its verdict under the table."""

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tune_experiments.results.intervals import EQUAL, Interval, interval_over_seeds, welch_interval
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable

NOT_SEPARATED = "not separated"
_OTHERS = "Every other ordering here is exploratory."
BEFORE = "before the run"
UNANNOUNCED = "in the script, not announced before the run"
NOT_RECORDED = "at a time that is not recorded"


@dataclass(frozen=True)
class MainComparison:
    """Two methods in one metric, over seeds.

    Attributes:
        method, against: Methods whose mean is expected to be higher, and lower.
        metric: Metric, as in results.jsonl.
        world: Test environment, as in results.jsonl; empty if there is one.
        condition, against_condition: Conditions of the tests of both; empty for the plain test.
        table: Title of the table above the verdict; empty for the first.
        named: When the comparison was named. Only the record of the run's sessions can say `BEFORE`.
    """

    method: str
    against: str
    metric: str
    world: str = ""
    table: str = ""
    condition: str = ""
    against_condition: str = ""
    named: str = NOT_RECORDED

    @property
    def names(self) -> tuple[str, str]:
        """Names of both sides, with their conditions."""
        sides = ((self.method, self.condition), (self.against, self.against_condition))
        first, second = (f"{method} ({condition})" if condition else method for method, condition in sides)
        return first, second

    def announcement(self) -> str:
        """Sentence that is printed before the run."""
        where = f" in {self.world}" if self.world else ""
        return f"main comparison: {self.names[0]} against {self.names[1]} on {self.metric}{where}"

    def verdict(self, results: Sequence[Result]) -> str:
        """Verdict of the comparison, with Welch's or a paired interval: A above B, not separated, or B above A."""
        first = self._lines(results, self.method, self.condition)
        second = self._lines(results, self.against, self.against_condition)
        opening = f"Named {self.named}, {self.announcement()}"
        if not first or not second:
            return "Every ordering here is exploratory."
        if any(len({line.seed for line in side}) < len(side) for side in (first, second)):
            why = "a seed has several environments or splits, and the comparison names none"
            return f"{opening}: **no verdict**: {why}. {_OTHERS}"
        is_paired = self.method == self.against  # two conditions of the same trained teams
        if is_paired:
            first, second = _of_the_same_seeds(first, second), _of_the_same_seeds(second, first)
        if min(len(first), len(second)) < 2:
            counts = f"here they have {len(first)} and {len(second)}"
            return f"{opening}: **no verdict**: each method needs at least 2 seeds; {counts}. {_OTHERS}"
        ours, theirs = ([line.value for line in side] for side in (first, second))
        rule, difference = "Welch", welch_interval(ours, theirs)
        if is_paired:
            rule = "paired t"
            difference = interval_over_seeds([one - other for one, other in zip(ours, theirs, strict=True)])
        seeds = f"{len(first)} and {len(second)} seeds"
        same = "the difference is the same in every seed" if is_paired else "the seeds of each are equal"
        interval = f"gives no interval, because {same} ({seeds})"
        if difference.low is not None and difference.high is not None:
            interval = f"[{difference.low:.3f}, {difference.high:.3f}], {seeds}"
        numbers = f"difference {difference.value:+.3f}, {rule} {interval}"
        return f"{opening}: **{self._ordering(difference, first, second)}**, {numbers}. {_OTHERS}"

    def _lines(self, results: Sequence[Result], method: str, condition: str) -> list[Result]:
        wanted = (method, self.metric, condition)
        mine = [line for line in results if (line.method, line.metric, line.condition) == wanted]
        return [line for line in mine if line.seed is not None and self.world in ("", line.world)]

    def _ordering(self, difference: Interval, first: Sequence[Result], second: Sequence[Result]) -> str:
        a, b = self.names
        if difference.low is not None and difference.high is not None:
            sign = (difference.low > 0) - (difference.high < 0)
        elif self.method == self.against:
            sign = (difference.value > EQUAL) - (difference.value < -EQUAL)
        else:
            sign = _all_apart(first, second) - _all_apart(second, first)
        return {1: f"{a} above {b}", 0: NOT_SEPARATED, -1: f"{b} above {a}"}[sign]


def announcements(comparisons: Sequence[MainComparison], methods: Collection[str]) -> list[str]:
    """Announcements before a run trains `methods`: its comparisons, or the methods that it lacks for any comparison."""
    sides = {one: dict.fromkeys((one.method, one.against)) for one in comparisons}
    found = [one.announcement() for one, both in sides.items() if both.keys() <= set(methods)]
    if found or not comparisons:
        return found
    lacking = dict.fromkeys(row for both in sides.values() for row in both if row not in methods)
    return [f"main comparison: none in this run, which lacks {', '.join(lacking)}"]


def with_verdicts(
    tables: Sequence[PaperTable], comparisons: Sequence[MainComparison], results: Sequence[Result]
) -> list[PaperTable]:
    """The tables, each with the verdict of its main comparison under its caption."""
    found = []
    for number, table in enumerate(tables):
        mine = [one for one in comparisons if one.table == table.title or (not one.table and number == 0)]
        caption = "\n\n".join([table.caption, *(one.verdict(results) for one in mine)])
        found.append(dataclasses.replace(table, caption=caption))
    return found


def _of_the_same_seeds(lines: Sequence[Result], others: Sequence[Result]) -> list[Result]:
    """Lines of seeds that the others have too, in order of the seeds."""
    seeds = {line.seed for line in others}
    return sorted((line for line in lines if line.seed in seeds), key=lambda line: line.seed or 0)


def _all_apart(upper: Sequence[Result], lower: Sequence[Result]) -> bool:
    """Whether each of several seeds lies above each of the others, intervals over episodes included."""
    lowest = min(line.value if line.ci_low is None else line.ci_low for line in upper)
    highest = max(line.value if line.ci_high is None else line.ci_high for line in lower)
    return min(len(upper), len(lower)) > 1 and lowest > highest


def first_trained(pairs: Sequence[tuple[str, str]], methods: Collection[str]) -> tuple[str, str] | None:
    """The first pair of methods that a run trains both of, or None."""
    return next((pair for pair in pairs if set(pair) <= set(methods)), None)
