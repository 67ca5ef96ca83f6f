"""Files of a search in its folder, beside trials that are like any other's but for the test.

    DIR/search.json    what was drawn, so that the folder continues this search and no other
    DIR/search.jsonl   one line a method and setting: rank, objective, values, the flags that make it a full run
    DIR/search.md      the same for people

A setting's score is the mean of its objective over the validations in the last quarter of training, then over seeds:
a single validation would make the choice as noisy as its episodes. This file is free of Ray.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tune_experiments.core.config_json import first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_atomically, write_json
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.search.settings import Setting

__all__ = [
    "Ranked",
    "Settings",
    "are_of_populations",
    "claim_for_search",
    "command",
    "rank",
    "refuse_search_folder",
    "score",
    "write_ranking",
]

SEARCH_FILE, RANKING_FILE, REPORT_FILE = "search.json", "search.jsonl", "search.md"
LATE_SHARE = 0.25
"""Share of training at its end; only validations in it count for the score."""
Settings = Mapping[str, Sequence[Setting]]
"""Method -> what is tried with it."""


@dataclass(frozen=True)
class Ranked:
    """A setting whose trials have all finished.

    Attributes:
        setting: what was tried.
        by_seed: seed -> score of its trial.
        flags: what its full run is started with.
    """

    setting: Setting
    by_seed: dict[int, float]
    flags: tuple[str, ...]

    @property
    def score(self) -> float:
        """Mean over seeds; a trial that diverged counts as the worst."""
        mean = float(np.mean(list(self.by_seed.values())))
        return mean if math.isfinite(mean) else -math.inf


def claim_for_search(out: Path, settings: Settings, seed: int, objective: str, by: str = "random") -> None:
    """Write down what a new search tries, or check that the folder holds the same; a search may become longer.

    Raises:
        UserError: the folder is that of a run, or of another search.
    """
    path = out / SEARCH_FILE
    drawn = {method: {str(one.number): one.values for one in tried} for method, tried in settings.items()}
    document = {"objective": objective, "search_seed": seed, "settings": json.loads(json.dumps(drawn))}
    document |= {} if by == "random" else {"by": by}
    if path.exists():
        before = read_json(path)
        # Rungs and populations depend on how many compete, so such a search cannot become longer.
        try:
            count = min(_length(before), _length(document)) if by in ("random", "grid") else _length(document)
            if by in ("random", "grid"):
                before = before | {"objective": objective}  # these are ranked at the end, so it may be corrected
            changed = first_differences(_shortened(before, count), _shortened(document, count), limit=1)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UserError(f"{path} is of no search ({error!r}); restore it or give --out another folder") from error
        if changed:
            raise UserError(
                f"{out} was started as another search ({'; '.join(changed)}); "
                f"repeat the old flags to continue it or give --out another folder"
            )
        document = max(before, document, key=_length) | {"objective": objective}
    elif any((out / "trials").iterdir()):
        raise UserError(f"{out} holds a run that is not a search; give --out another folder")
    write_json(path, document)


def refuse_search_folder(out: Path) -> None:
    """A run does not go into the folder of a search.

    Raises:
        UserError: it is one.
    """
    if (out / SEARCH_FILE).exists():
        raise UserError(f"{out} holds a search; repeat its --search to continue it or give --out another folder")


def score(trial: Path, objective: str) -> float:
    """Mean of the objective over the last quarter of a finished trial.

    Raises:
        UserError: its log has no such numbers.
    """
    log = read_metrics(trial / METRICS_FILE)
    rows = [row for row in log if objective in row]
    if not rows:
        known = sorted({key for row in log for key in row if key.startswith("valid/")})
        raise UserError(
            f"{trial} has logged no {objective!r} to rank by (but {', '.join(known) or 'nothing of the kind'}); repeat "
            f"the command with --search-objective KEY"
        )
    begin = (1 - LATE_SHARE) * rows[-1]["env_steps"]
    return float(np.mean([row[objective] for row in rows if row["env_steps"] >= begin]))


def rank(tried: Sequence[Ranked]) -> list[Ranked]:
    """The best first; of equals, the one that was drawn first, so that the configuration itself wins a tie."""
    return sorted(tried, key=lambda one: (-one.score, one.setting.number))


def are_of_populations(ranked: Sequence[Ranked]) -> bool:
    """Whether rows are of one seed each and of several seeds in all."""
    return len({tuple(one.by_seed) for one in ranked}) > 1


def write_ranking(
    out: Path,
    title: str,
    objective: str,
    ranking: Mapping[str, Sequence[Ranked]],
    script: str | None,
    remarks: Sequence[str] = (),
) -> None:
    """Write search.jsonl and search.md.

    Args:
        out: the search's folder.
        title: of the experiment.
        objective: what was ranked by.
        ranking: method -> settings, the best first.
        script: what trains a winner anew; None where no single setting does.
        remarks: further lines of search.md.
    """
    lines = [
        json.dumps({"method": method, "rank": place, "objective": objective, **_plain(one)}) + "\n"
        for method, ranked in ranking.items()
        for place, one in enumerate(ranked, start=1)
    ]
    write_atomically(out / RANKING_FILE, "".join(lines))
    write_atomically(out / REPORT_FILE, _report(title, objective, ranking, script) + "\n".join(("", *remarks)))


def command(script: str, ranked: Ranked) -> str:
    """Command line of a setting's full run."""
    return shlex.join(["python", *script.split(), *ranked.flags])


def _length(document: dict[str, Any]) -> int:
    """Settings a method."""
    return min(len(drawn) for drawn in document["settings"].values())


def _shortened(document: dict[str, Any], count: int) -> dict[str, Any]:
    first = {method: dict(list(drawn.items())[:count]) for method, drawn in document["settings"].items()}
    return document | {"settings": first}


def _plain(one: Ranked) -> dict[str, Any]:
    return {
        "setting": one.setting.number,
        "value": one.score if math.isfinite(one.score) else None,
        "by_seed": {seed: value if math.isfinite(value) else None for seed, value in one.by_seed.items()},
        "parameters": one.setting.values,
        "flags": list(one.flags),
    }


def _report(title: str, objective: str, ranking: Mapping[str, Sequence[Ranked]], script: str | None) -> str:
    start = "the configuration that the search started from"
    mean = f"in the last quarter of training and over seeds. Setting 0 is {start}"
    if script is None:
        mean = (
            f"of the last generation. Each seed is a population, in which setting 0 began with {start}; values are "
            "those of the end"
        )
    advice = ", so each command trains its winner anew, with other seeds." if script else "."
    parts = [
        f"# Search: {title}",
        "",
        f"Ranked by {objective}, mean over the validations {mean}. No test world was played. The best of many is "
        f"partly luck{advice}",
        "",
    ]
    for method, ranked in ranking.items():
        parts += [f"## {method}", "", *_table(objective, ranked), ""]
        parts += ["```", command(script, ranked[0]), "```", ""] if ranked and script else []
    return "\n".join(parts)


def _table(objective: str, ranked: Sequence[Ranked]) -> list[str]:
    """Markdown; a value that a setting does not use is left out."""
    paths = list(dict.fromkeys(path for one in ranked for path in one.setting.values))
    has_seeds = are_of_populations(ranked)
    heads = ["rank", "setting", *["seed"] * has_seeds, objective, *paths]
    lines = [f"| {' | '.join(heads)} |", f"|{'---:|' * len(heads)}"]
    for place, one in enumerate(ranked, start=1):
        seeds = map(str, one.by_seed) if has_seeds else ()
        values = [str(one.setting.values.get(path, "")) for path in paths]
        cells = (str(place), str(one.setting.number), *seeds, f"{one.score:.4f}", *values)
        lines.append(f"| {' | '.join(cells)} |")
    return lines
