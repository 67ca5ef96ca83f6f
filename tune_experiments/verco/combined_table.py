"""One table over several kitchens, from the results of their runs; the last step of `make verco`.

    python -m tune_experiments.verco.combined_table FOLDER     # of one run folder a kitchen

As in the paper's figures the numbers are medians over seeds with the band from 25 to 75 %. A second table has dishes
served by order, for kitchens with several.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.files import write_atomically
from tune_experiments.core.terminal import Terminal
from tune_experiments.results import rows as result_file
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import TABLE_FILE
from tune_experiments.run.run_folder import describe_models, read_sessions
from tune_experiments.verco.evaluation import OF_ORDER
from tune_experiments.verco.tables import as_row

METRICS = ("return", "success", "episode_length")
_NOTE = "Median over seeds, in brackets its band from 25 to 75 %; a number alone is of one seed or an untrained method."


def combined(results: Sequence[Result], models: Sequence[str] = ()) -> str:
    """Both tables in Markdown: methods as rows, (kitchen, metric) as columns; below them the pretrained models."""
    lines = [as_row(line) for line in results]
    tables = [_table(lines, lambda metric: metric in METRICS)]
    if any(OF_ORDER in line.metric for line in lines):
        tables.append(_table(lines, lambda metric: metric.startswith(f"success{OF_ORDER}")))
    return "\n".join([*tables, " ".join([_NOTE, *(f"Pretrained model: {model}." for model in models)]), ""])


def read_kitchens(folder: Path) -> list[Result]:
    """The results of all runs in a folder, the oldest first.

    Baselines without a seed are those of the first run that has them. A UserError if there are no runs, or two have
    results of one method, kitchen and seed, which would count twice.
    """
    paths = sorted(folder.glob("*/results.jsonl"), key=lambda path: path.stat().st_mtime)
    if not paths:
        raise UserError(f"no run in {folder} has results; name the folder that holds one run folder a kitchen")
    lines, run_of = [], dict[object, Path]()
    for path in paths:
        for line in result_file.read(path):
            key = (line.method, line.world, line.split, line.metric, line.condition, line.seed)
            if (first := run_of.setdefault(key, path.parent)) != path.parent:
                if line.seed is None:
                    continue
                raise UserError(
                    f"{first} and {path.parent} both have results of {line.method} in {line.world}, seed {line.seed}: "
                    "move one of them out of the folder"
                )
            lines.append(line)
    return lines


def _table(lines: Sequence[Result], is_wanted: Callable[[str], bool]) -> str:
    found: dict[str, dict[tuple[str, str], list[float]]] = {}
    for line in lines:
        if is_wanted(line.metric):
            found.setdefault(line.method, {}).setdefault((line.world, line.metric), []).append(line.value)
    columns = sorted({column for cells in found.values() for column in cells}, key=_place(lines))
    heads = [f"{task}: {metric.replace('_', ' ')}" for task, metric in columns]
    others = {line.method for line in lines if line.seed is None}
    rows = [
        f"| {method} | " + " | ".join(_cell(cells.get(column, [])) for column in columns) + " |"
        for method, cells in sorted(found.items(), key=lambda item: item[0] in others)
    ]
    return "\n".join([f"| method | {' | '.join(heads)} |", f"|---|{'---:|' * len(columns)}", *rows, ""])


def _place(lines: Sequence[Result]) -> Callable[[tuple[str, str]], tuple[int, int]]:
    """Kitchens in the order of their runs, metrics in that of `METRICS` or of appearance."""
    tasks = list(dict.fromkeys(line.world for line in lines))
    metrics = list(dict.fromkeys((*METRICS, *(line.metric for line in lines))))
    return lambda column: (tasks.index(column[0]), metrics.index(column[1]))


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    if len(values) == 1:
        return f"{median:.3f}"
    return f"{median:.3f} [{low:.3f}, {high:.3f}]"


@exits_with_one_sentence
def main() -> None:
    """Print the tables of a folder and write them there."""
    if len(sys.argv) != 2:
        raise UserError("write python -m tune_experiments.verco.combined_table FOLDER")
    folder, console = Path(sys.argv[1]), Terminal()
    results = read_kitchens(folder)
    sessions = [one for run in sorted(folder.iterdir()) for one in read_sessions(run, may_be_missing=True)]
    text, path = combined(results, describe_models(sessions)), folder / TABLE_FILE
    if path.exists() and _NOTE not in path.read_text(errors="replace"):
        raise UserError(f"{path} exists and is not a combined table: move it")
    console.print(text)
    write_atomically(path, text)
    console.print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
