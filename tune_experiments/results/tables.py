"""The paper's table from `results.jsonl` alone: methods as rows, metrics as columns, the paper's numbers below ours.

The caption says what the intervals are over.
"""

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import rich.box
import rich.console
import rich.table
from rich.text import Text

from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.results.intervals import BOOTSTRAP, STUDENT_EPISODES, WILSON, Interval, interval_over_seeds
from tune_experiments.results.rows import Result
from tune_experiments.results.trial_log import percent

TABLE_FILE = "table.md"

_PAPER = ", paper"
_RULES = {
    WILSON: "shares by Wilson",
    STUDENT_EPISODES: "means by Student's t",
    "normal over episodes": "means by 1.96 sd / sqrt n",  # in results of earlier versions
    BOOTSTRAP: "what is no mean by a bootstrap over episodes",
}
RANGES = (
    " Where seeds give no interval, because they are equal or it would leave the range of the metric, a cell is `mean "
    "(lowest to highest)`, or `each` and one number where all seeds have the same; `concord export` gives every seed."
)
"""How a caption explains cells with a range of seeds."""
_GAP = 2

# method -> metric -> the number that the paper prints; every cell is optional.
PaperNumbers = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class PaperTable:
    """A finished table.

    Attributes:
        title: Its heading.
        metrics: The columns.
        rows: (label, one number a metric or None); the paper's rows have labels that end in ", paper".
        caption: What the intervals are over, and how long the methods trained.
        missing: Metric -> text of a cell without a number; empty by default.
        results: Label of each row of ours -> its rows of results.jsonl, of which the caption tells.
    """

    title: str
    metrics: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Interval | None, ...]], ...]
    caption: str
    missing: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, Sequence[Result]] = field(default_factory=dict, repr=False)

    def texts(self) -> list[tuple[str, list[str]]]:
        """Label of each row, and the text of its cell for each metric; the paper's rows have no words in cells."""
        found = []
        for label, cells in self.rows:
            words = {} if label.endswith(_PAPER) else self.missing
            pairs = zip(self.metrics, cells, strict=True)
            found.append((label, [words.get(metric, "") if cell is None else cell.text() for metric, cell in pairs]))
        return found

    def with_rows(self, labels: Collection[str]) -> "PaperTable":
        """The table of some rows, whose caption tells of these alone."""
        kept = {label: lines for label, lines in self.results.items() if label in labels}
        caption = self.caption.replace(_caption(self.results), _caption(kept)) if kept else self.caption
        rows = tuple(row for row in self.rows if row[0] in labels)
        return replace(self, rows=rows, caption=caption, results=kept)

    def without_paper(self) -> "PaperTable":
        """The table without the paper's rows, which its caption then says."""
        kept = tuple(row for row in self.rows if not row[0].endswith(_PAPER))
        note = " The paper's numbers are of another task, and left out." * (len(kept) < len(self.rows))
        return replace(self, rows=kept, caption=f"{self.caption}{note}")

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [
            f"### {self.title}",
            "",
            f"| method | {' | '.join(self.metrics)} |",
            f"|---|{'---:|' * len(self.metrics)}",
        ]
        lines += [f"| {label} | {' | '.join(cells)} |" for label, cells in self.texts()]
        return "\n".join([*lines, "", self.caption, ""])

    def for_terminal(self, width: int) -> rich.console.Group:
        """The table for a terminal of `width` columns; print it with `crop=False`.

        No name and no cell is ever split. Metrics that do not fit side by side follow in further blocks, and a terminal
        too narrow for one method's name and one metric gets longer lines.
        """
        spaced: list[rich.table.Table | str] = [piece for block in self._blocks(width) for piece in (block, "")]
        title, caption = (_filled(text, width) for text in (self.title, self.caption.replace("**", "")))
        captions: list[Text | str] = [Text(caption, "dim"), ""] if caption else []
        return rich.console.Group(Text(title, "italic"), *spaced, *captions)

    def _blocks(self, width: int) -> list[rich.table.Table]:
        """The fewest tables that fit."""
        cells = [texts for _, texts in self.texts()]
        widths = [_width(column) + _GAP for column in zip(self.metrics, *cells, strict=True)]
        room = width - max(widths)
        folded = [label.replace(" · ", "\n· ").replace(_PAPER, ",\npaper") for label, _ in self.rows]
        labels = [label if len(label) <= room else lines for (label, _), lines in zip(self.rows, folded, strict=True)]
        label_width = _width(["method", *labels])
        tables = []
        for chosen in _fitting(widths, width - label_width):
            table = rich.table.Table(
                box=rich.box.SIMPLE_HEAD,
                show_edge=False,
                pad_edge=False,
                padding=(0, 1, 0, 0),
                width=label_width + sum(widths[i] for i in chosen),
            )
            table.add_column("method", no_wrap=True)
            for i in chosen:
                table.add_column(self.metrics[i], justify="right", no_wrap=True)
            for (name, _), label, row in zip(self.rows, labels, cells, strict=True):
                is_paper, numbers = name.endswith(_PAPER), [row[i] for i in chosen]
                if any(numbers) or not is_paper:
                    table.add_row(Text(label), *map(Text, numbers), style="dim" if is_paper else None)
            tables.append(table)
        return tables


def make_table(
    results: Sequence[Result],
    title: str,
    metrics: Sequence[str] | None = None,
    paper: PaperNumbers | None = None,
    missing: Mapping[str, str] | None = None,
    names_world: bool = False,
) -> PaperTable:
    """Build one table; UserError if there are no lines.

    Args:
        results: Rows of results.jsonl that belong to the table.
        title: Title of the table.
        metrics: The columns, in order; by default all metrics that are there.
        paper: The paper's numbers.
        missing: Metric -> text of a cell without a number.
        names_world: Whether the caption names the environment if all rows have the same; otherwise labels name it.
    """
    if not results:
        raise UserError(f"no results belong to the table {title!r}; run the experiment first")
    metrics = list(dict.fromkeys(line.metric for line in results)) if metrics is None else metrics
    by_row = _by_row(results)
    rows: list[tuple[str, tuple[Interval | None, ...]]] = []
    for label, lines in by_row.items():
        of_metric = _by_metric(lines)
        rows.append((label, tuple(_number(of_metric.get(metric, ())) for metric in metrics)))
        printed = (paper or {}).get(lines[0].method, {})
        if any(metric in printed for metric in metrics):
            cells = tuple(Interval(printed[metric], None, None) if metric in printed else None for metric in metrics)
            rows.append((f"{label}{_PAPER}", cells))
    worlds = {result.world for result in results}
    where = f"Measured in {worlds.pop()}. " if names_world and len(worlds) == 1 else ""
    caption = where + _caption(by_row)
    return PaperTable(title, tuple(metrics), tuple(rows), caption, missing or {}, by_row)


def with_note(tables: Sequence[PaperTable], note: str) -> list[PaperTable]:
    """The tables, with a sentence at the end of each caption; unchanged if it is empty."""
    return [replace(table, caption=f"{table.caption} {note}") for table in tables] if note else list(tables)


def describe_range(numbers: Collection[int]) -> str:
    """The smallest and the largest number, "2,000 to 3,000", or the one if they are equal."""
    return " to ".join(f"{number:,}" for number in dict.fromkeys((min(numbers), max(numbers))))


def write_tables(path: Path, tables: Sequence[PaperTable]) -> None:
    """Write `table.md`."""
    write_atomically(path, "\n".join(table.markdown() for table in tables))


def _by_row(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Lines by row, baselines last; world, condition and split join the label only where they tell rows apart."""
    worlds, splits = {result.world for result in results}, {result.split for result in results}
    rows: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda line: line.seed is None):
        place = result.place if len(worlds) > 1 else result.condition
        parts = [result.method, place, result.split * (len(splits) > 1)]
        rows.setdefault(" · ".join(filter(None, parts)), []).append(result)
    return rows


def _by_metric(lines: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for line in lines:
        found.setdefault(line.metric, []).append(line)
    return found


def _number(lines: Sequence[Result]) -> Interval | None:
    of_seeds = [line for line in lines if line.seed is not None] or lines[:1]
    return interval_over_seeds([line.number for line in of_seeds], of_seeds[0].bounds) if of_seeds else None


def _caption(rows: Mapping[str, Sequence[Result]]) -> str:
    named = {line.interval for lines in rows.values() for line in lines}
    rules = ", ".join(words for kind, words in _RULES.items() if kind in named) or "the file names no rule"
    kinds: dict[str, list[str]] = {}
    for label, lines in rows.items():
        kinds.setdefault(_kind(lines, rules), []).append(label)
    cells = (_number(own) for lines in rows.values() for own in _by_metric(lines).values())
    ranges = RANGES * any(cell is not None and bool(cell.seeds) for cell in cells)
    training = _training([line for lines in rows.values() for line in lines])
    return f"Intervals of 95 %: {_describe_groups(kinds)}.{ranges}{training}"


def _describe_groups(rows_by_kind: Mapping[str, Sequence[str]]) -> str:
    """Descriptions of rows in one sentence; the most common one comes first, without names of rows."""
    usual = max(rows_by_kind, key=lambda description: len(rows_by_kind[description]))
    named = {
        description: ", ".join(f"`{row}`" if "," in row else row for row in rows)
        for description, rows in rows_by_kind.items()
        if description != usual
    }
    return "; ".join([usual, *(f"of {rows}: {description}" for description, rows in named.items())])


def _training(lines: Sequence[Result]) -> str:
    """How long the tested weights were trained, and the CPU-seconds that it took, if they are known."""
    steps = [line.env_steps for line in lines if line.env_steps is not None and line.split != "train"]
    if not steps:
        return ""
    sentence = f" Tested after {describe_range(steps)} env steps of training."
    sentence += _skipped(lines)
    seconds: dict[str, dict[int | None, float]] = {}
    for line in lines:
        if line.env_steps is not None and line.cpu_seconds is not None:
            of_method = seconds.setdefault(line.method, {})
            of_method[line.seed] = max(line.cpu_seconds, of_method.get(line.seed, 0.0))
    if not seconds:
        return sentence
    methods: dict[str, list[str]] = {}
    for method, spent in seconds.items():
        methods.setdefault(f"{round(sum(spent.values()) / len(spent)):,}", []).append(method)
    is_of_each = len(seconds) == len(methods) > 1
    means = (
        "; ".join(f"{names[0]} {mean}" for mean, names in methods.items()) if is_of_each else _describe_groups(methods)
    )
    return f"{sentence} CPU-seconds of a trial until then: {means}."


def _skipped(lines: Sequence[Result]) -> str:
    """Which methods have skipped updates, and which share in the seed with the most; empty if none has."""
    most: dict[str, float] = {}
    for line in lines:
        if line.skipped_updates:
            most[line.method] = max(line.skipped_updates, most.get(line.method, 0.0))
    shares = ", ".join(f"{percent(share)} of {method}" for method, share in most.items())
    return f" **Skipped updates** (a gradient was not finite; the seed with the most): {shares}." if most else ""


def _kind(lines: Sequence[Result], rules: str) -> str:
    """Kind of the intervals of a row: what they are over, and by which rule; `rules` are those over episodes."""
    of_metric = _by_metric(lines)
    seeds = {metric: len({line.seed for line in own if line.seed is not None}) for metric, own in of_metric.items()}
    episodes = {metric: max(line.n_episodes or 0 for line in own) for metric, own in of_metric.items()}
    played = f"{_counted(episodes)} {'episode' if max(episodes.values()) == 1 else 'episodes'}"
    if max(seeds.values()) > 1:
        return f"Student's t over {_counted(seeds)} seeds" + (f", {played} a seed" if any(episodes.values()) else "")
    if all((cell := _number(own)) is None or cell.low is None for own in of_metric.values()):
        return "one seed, none"
    return f"over {played}{' of one seed' * any(seeds.values())} ({rules})"


def _counted(numbers: Mapping[str, int]) -> str:
    """The largest number, with the metrics that have a smaller one: "8 (loss: 5)"."""
    most = max(numbers.values())
    fewer = ", ".join(f"{metric}: {number:,}" for metric, number in numbers.items() if 0 < number < most)
    return f"{most:,}{f' ({fewer})' * bool(fewer)}"


def _filled(text: str, width: int) -> str:
    return "\n".join(textwrap.fill(one, width, break_on_hyphens=False) for one in text.split("\n"))


def _width(texts: Iterable[str]) -> int:
    return max(len(line) for text in texts for line in text.split("\n"))


def _fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    groups: list[list[int]] = []
    left = 0
    for i, width in enumerate(widths):
        if not groups or width > left:
            groups.append([])
            left = room
        groups[-1].append(i)
        left -= width
    return groups
