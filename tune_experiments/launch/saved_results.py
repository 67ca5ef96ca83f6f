"""Results that are saved in the repository, and tables in documents that are made from them.

    python -m tune_experiments table RUN --save docs/results/NAME.jsonl.gz
    python -m tune_experiments table PART.jsonl.gz PART.jsonl.gz --save docs/results/NAME.jsonl.gz
    python -m tune_experiments table --document docs/results/*.md [--check]

The first line of a saved file says where its rows come from (`SavedRun`). All other lines are those of results.jsonl.
In a document such a table stands between `<!-- table: NAME -->` and `<!-- end -->`, so that its numbers are always
those of the saved file beside the document.
"""

import gzip
import hashlib
import json
import re
import shlex
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, write_atomically
from tune_experiments.experiment.base_experiment import BaseExperiment, Config
from tune_experiments.experiment.finding import find_experiment, known_experiments
from tune_experiments.results.main_comparison import BEFORE, UNANNOUNCED, MainComparison, with_verdicts
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import RANGES, PaperTable, with_note
from tune_experiments.run.manifest import without_run_folder
from tune_experiments.run.run_folder import (
    changed_flags,
    describe_models,
    has_provenance,
    with_announcement_times,
    with_model_notes,
)

T = TypeVar("T")
SUFFIX = ".jsonl.gz"
MAX_BYTES = 50_000
_BLOCK = re.compile(r"(<!-- table: ([\w.-]+)((?:; \w+(?: [\w.-]+)+)*) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_BEGIN = "<!-- table:"
_TITLE = re.compile(r"^### (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class SavedRun:
    """What is known of a run without its folder: the contents of a saved file.

    A commit that ends with `+` had local changes, `untested` trials have no results, `settings` is a hash of the
    configuration without its methods, and `is_other_task` says that the paper's numbers are of another task.
    """

    experiment: str
    commits: tuple[str, ...]
    commands: tuple[str, ...]
    seeds: tuple[int, ...]
    comparisons: tuple[MainComparison, ...]
    models: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    settings: str = ""
    is_other_task: bool = False
    results: tuple[Result, ...] = ()

    def tables(self, experiment: BaseExperiment | None = None) -> list[PaperTable]:
        """The tables of the experiment, by default found by its name, with verdicts and notes in their captions.

        Tables of another task than the paper's do not show its numbers.
        """
        experiment = experiment or find_experiment(self.experiment)
        # Under the present caption, whatever it was in earlier sessions.
        tables = experiment.tables([replace(line, table=experiment.caption) for line in self.results])
        if self.is_other_task:
            tables = [table.without_paper() for table in tables]
        tables = with_verdicts(with_model_notes(tables, self.models), self.comparisons, self.results)
        tables = with_note(tables, f"Continued with other flags: {'; '.join(self.changed)}." * bool(self.changed))
        return with_note(tables, f"Not tested, and so left out: {', '.join(self.untested)}." * bool(self.untested))

    def markdown(self, chosen: Mapping[str, Sequence[str]] | None = None) -> str:
        """The tables, and their origin.

        `chosen` has numbers of `tables` (from 1), names of `columns` and methods (`rows`) to show, and then a caption
        does not repeat earlier ones; UserError for a choice that is not in the tables.
        """
        tables = self.tables() if chosen is None else _choose(self.tables(), chosen)
        return "\n".join([*(table.markdown() for table in tables), self.source(), ""])

    def source(self) -> str:
        """Seeds, commits and commands of the run."""
        first = f"Seeds {' '.join(map(str, self.seeds))}, commit {', '.join(self.commits)}:"
        return "\n".join([first, "", *(f"    {command}" for command in self.commands)])


def make_record(
    experiment: BaseExperiment[Config],
    config: Config,
    results: Sequence[Result],
    sessions: Sequence[Mapping[str, Any]],
    untested: tuple[str, ...] = (),
) -> SavedRun:
    """What is known of a run from its results and sessions; trials named in `untested` have no results."""
    known = [session for session in sessions if has_provenance(session)]
    gits = (session["git"] or {"commit": None, "dirty": False} for session in known)
    commands = (shlex.split(without_run_folder(session["command"])) for session in known)
    return SavedRun(
        experiment.entry_point,
        tuple(dict.fromkeys(f"{(git['commit'] or 'unknown')[:9]}{'+' * git['dirty']}" for git in gits)),
        tuple(dict.fromkeys(shlex.join(["python", *words]) for _, *words in commands)),
        tuple(sorted({line.seed for line in results if line.seed is not None})),
        tuple(with_announcement_times(experiment.main_comparisons(config), sessions)),
        describe_models(sessions),
        changed_flags(sessions),
        untested,
        _digest(config),
        experiment.is_other_task(config),
        tuple(results),
    )


def write_saved(saved: SavedRun, path: Path) -> None:
    """Write a saved file; UserError for a custom experiment, a wrong name, another file of it, or too many bytes."""
    check_save_path(path)
    if path.exists() and (there := read_saved(path).experiment) != saved.experiment:
        raise UserError(f"{path} has results of {there}: name another file with --save")
    if saved.experiment not in known_experiments():
        raise UserError(f"{saved.experiment} is from outside Concord; only tables of its own scripts are saved")
    head = asdict(replace(saved, results=()))
    head = {name: value for name, value in head.items() if value or name in ("commands", "seeds", "comparisons")}
    text = "".join(json.dumps(row) + "\n" for row in (head, *map(asdict, saved.results)))
    packed = gzip.compress(text.encode(), mtime=0)
    if len(packed) > MAX_BYTES:
        raise UserError(
            f"the results of this run take {len(packed):,} bytes and a saved file at most {MAX_BYTES:,}: "
            f"save the table of fewer methods or seeds"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, packed)


def join_saved(paths: Sequence[Path]) -> SavedRun:
    """One run from saved files of one configuration with different seeds or methods, such as those of several machines.

    Raises UserError where the configurations differ, or a trial or another result of a baseline is in two files.
    """
    runs = [read_saved(path) for path in paths]
    if len(runs) == 1:
        return runs[0]
    for path, run in zip(paths, runs, strict=True):
        if not run.settings or (run.experiment, run.settings) != (runs[0].experiment, runs[0].settings):
            raise UserError(
                f"{paths[0]} and {path} cannot be joined: give files that this version has saved, of runs "
                "that differ by --seeds or --methods alone"
            )
    lines = _union(run.results for run in runs)  # a baseline without seed once
    trials = [
        trial for run in runs for trial in {(one.method, one.seed) for one in run.results if one.seed is not None}
    ]
    if len(set(trials)) < len(trials) or len({(one.trial, one.metric) for one in lines}) < len(lines):
        raise UserError(
            f"{', '.join(map(str, paths))} cannot be joined, because two have results of one method and seed, or "
            "differ in a baseline: leave one out"
        )
    tested = {f"{method} seed {seed}" for method, seed in trials}
    return SavedRun(
        runs[0].experiment,
        _union(run.commits for run in runs),
        _union(run.commands for run in runs),
        tuple(sorted({seed for run in runs for seed in run.seeds})),
        _comparisons_of_all(runs),
        _union(run.models for run in runs),
        _union(run.changed for run in runs),
        tuple(trial for trial in _union(run.untested for run in runs) if trial not in tested),
        runs[0].settings,
        runs[0].is_other_task,
        lines,
    )


def _digest(config: Config) -> str:
    settings = config_to_json(config)
    settings.pop("methods", None)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def _union(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for part in parts for one in part))


def _comparisons_of_all(runs: Sequence[SavedRun]) -> tuple[MainComparison, ...]:
    """Each comparison once; it counts as named before the run only where each file says so."""
    times = defaultdict[MainComparison, list[str]](list)
    for one in (one for run in runs for one in run.comparisons):
        times[replace(one, named="")].append(one.named)
    return tuple(
        replace(
            one, named=BEFORE if named == [BEFORE] * len(runs) else next((n for n in named if n != BEFORE), UNANNOUNCED)
        )
        for one, named in times.items()
    )


def check_save_path(path: Path) -> None:
    """Check the name of a saved file, before its run is read.

    Raises UserError for a wrong name, a folder that cannot be written, or a file that is not from `write_saved`.
    """
    check_folder(path.parent, "--save")
    if not path.name.endswith(SUFFIX):
        raise UserError(f"--save must end in {SUFFIX}, not {path.name!r}")
    if path.exists():
        try:
            read_saved(path)
        except UserError as error:
            raise UserError(f"{path} already exists and is not a saved file: name another file with --save") from error


def read_saved(path: Path) -> SavedRun:
    """Read a file of `write_saved`; UserError if it is missing or damaged."""
    try:
        head, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        first, rest = json.loads(head), [json.loads(line) for line in lines]
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; write it with python -m tune_experiments table RUN --save") from None
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise UserError(f"{path} is not a saved file ({error}); write it again with table RUN --save") from error
    found = config_from_json(SavedRun, first, f"{path} line 1", has_all=False)
    if found.experiment not in known_experiments():
        raise UserError(f"{path} is of the experiment {found.experiment!r}, which does not exist; correct its name")
    results = tuple(
        config_from_json(Result, row, f"{path} line {n}", has_all=False) for n, row in enumerate(rest, start=2)
    )
    return SavedRun(**vars(found) | {"results": results})


def update_document(document: Path, only_check: bool) -> str:
    """Rewrite the marked tables of a document, or only compare them, where a stale one is an error; a message.

    Raises UserError for that, for a missing document, and as `render_document` does.
    """
    if not document.is_file():
        raise UserError(f"{document} does not exist; name a document with --document")
    text = render_document(document)
    is_stale = text != document.read_text(encoding="utf-8")
    if is_stale and only_check:
        raise UserError(f"a table in {document} is stale; run table --document {document}")
    if is_stale:
        write_atomically(document, text)
    return f"{document}: tables {'written' if is_stale else 'are up to date'}"


def render_document(document: Path) -> str:
    """The text of a document with every marked table made again.

    A marker may choose tables, columns and rows: `<!-- table: NAME; tables 1 3; columns METRIC ...; rows METHOD ...
    -->`. A table's title becomes a caption; docs/results.md explains ranges over seeds. Raises UserError for a marker
    without its end, or without its saved file.
    """
    text = document.read_text(encoding="utf-8")
    if text.count(_BEGIN) != len(_BLOCK.findall(text)):
        raise UserError(f"{document} has a marker `{_BEGIN} NAME -->` without `<!-- end -->`; add it")

    def made(block: re.Match[str]) -> str:
        choices = (choice.split() for choice in block[3].split(";")[1:])
        chosen = {kind: names for kind, *names in choices}
        tables = read_saved(document.parent / f"{block[2]}{SUFFIX}").markdown(chosen).replace(RANGES, "")
        return "\n".join([block[1], _TITLE.sub(r"**\1**", tables), block[5]])

    return _BLOCK.sub(made, text)


def _choose(tables: Sequence[PaperTable], chosen: Mapping[str, Sequence[str]]) -> list[PaperTable]:
    numbers = chosen.get("tables", [str(number) for number in range(1, len(tables) + 1)])
    picked = [tables[int(number) - 1] for number in numbers if number.isdigit() and 0 < int(number) <= len(tables)]
    known = {
        "tables": numbers if len(picked) == len(numbers) else [],
        "columns": [_as_word(metric) for table in picked for metric in table.metrics],
        "rows": [name for table in picked for label, _ in table.rows for name in _names(label)],
    }
    for kind, names in chosen.items():
        if unknown := set(names) - set(known.get(kind, [])):
            raise UserError(f"a marker chooses {kind} {' '.join(sorted(unknown))}, which its saved file does not have")
    return _without_repetitions([_choose_cells(table, chosen.get("columns"), chosen.get("rows")) for table in picked])


def _without_repetitions(tables: Sequence[PaperTable]) -> list[PaperTable]:
    """The tables; captions leave out sentences of earlier tables, except verdicts."""
    seen: set[str] = set()
    shortened = []
    for table in tables:
        caption, gap, verdict = table.caption.partition("\n\n")
        sentences = re.split(r"(?<=\.) (?=[A-Z`])", caption)
        new = " ".join(sentence for sentence in sentences if sentence not in seen)
        seen.update(sentences)
        shortened.append(replace(table, caption=f"{new}{gap if new else ''}{verdict}"))
    return shortened


def _choose_cells(table: PaperTable, columns: Sequence[str] | None, rows: Sequence[str] | None) -> PaperTable:
    places = [place for place, metric in enumerate(table.metrics) if columns is None or _as_word(metric) in columns]
    if rows is not None:
        table = table.with_rows({label for label, _ in table.rows if _names(label) & set(rows)})
    return replace(
        table,
        metrics=tuple(table.metrics[place] for place in places),
        rows=tuple((label, tuple(cells[place] for place in places)) for label, cells in table.rows),
    )


def _names(label: str) -> set[str]:
    """Method of a row, and its whole label."""
    return {_as_word(label.removesuffix(", paper")), _as_word(label.removesuffix(", paper").split(" · ")[0])}


def _as_word(name: str) -> str:
    """A name in a marker: `sama, weak planner` is `sama_weak_planner`."""
    return re.sub(r"[^\w.]+", "_", name)
