"""Files of a search in its folder, beside its trials.

    DIR/search.json     definition of the search, so that the folder continues this search only
    DIR/search.jsonl    one line per method and setting: rank, objective, values, flags of the full run
    DIR/search.md       the same, readable
    DIR/plots/search.png, DIR/hparams/    settings against scores, also for TensorBoard's tab HParams

Rows are ordered by rank.
"""

from __future__ import annotations

import json
import math
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tune_experiments.core.config_json import first_differences
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_atomically, write_json
from tune_experiments.results.plots.figures import FAINT, REMARK, LineStyle, default_styles, new_panels, save
from tune_experiments.results.tensorboard_events import EventFile
from tune_experiments.results.trial_log import DIVERGED
from tune_experiments.search.settings import Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEARCH_FILE, RANKING_FILE, REPORT_FILE = "search.json", "search.jsonl", "search.md"


@dataclass(frozen=True)
class Ranked:
    """A setting whose trials have all finished; with ASHA and PBT, which judge trials, a setting with one seed."""

    setting: Setting
    by_seed: dict[int, float]
    flags: tuple[str, ...]

    @property
    def score(self) -> float:
        """Mean over seeds; a trial that diverged counts as the worst."""
        mean = float(np.mean(list(self.by_seed.values())))
        return mean if math.isfinite(mean) else -math.inf


Ranking = Mapping[str, Sequence[Ranked]]
"""Method -> settings, the best first."""


def claim_for_search(out: Path, search: Mapping[str, Any]) -> None:
    """Record a new search, or check that the folder holds the same one.

    Raises UserError where it is that of a run, or of another search.
    """
    path = out / SEARCH_FILE
    if path.exists():
        before = read_json(path)
        if changed := first_differences(before, json.loads(json.dumps(search)), limit=1):
            raise UserError(
                f"{path} is of another search ({'; '.join(changed)}); "
                f"repeat the old flags to continue it or use another --out folder"
            )
    elif any((out / "trials").iterdir()):
        raise UserError(f"{out} holds a run that is not a search; use another --out folder")
    write_json(path, dict(search))


def check_not_search_folder(out: Path) -> None:
    """Raise UserError where a folder is of a search."""
    if (out / SEARCH_FILE).exists():
        raise UserError(f"{out} holds a search; repeat its --search to continue it or use another --out folder")


def complete_lines(path: Path) -> list[bytes]:
    """Lines of an append-only file; the incomplete last line of a killed process is cut off."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        write_atomically(path, whole)
    return whole.splitlines()


def rank(tried: Sequence[Ranked]) -> list[Ranked]:
    """Sort by score, the best first; of equals the first drawn."""
    return sorted(tried, key=lambda one: (-one.score, one.setting.number))


def has_best(ranked: Sequence[Ranked]) -> bool:
    """Whether a setting has finished, and has not diverged."""
    return bool(ranked) and ranked[0].score > -math.inf


def write_ranking(out: Path, title: str, objective: str, ranking: Ranking, judged: str, script: str | None) -> None:
    """Write search.jsonl and search.md."""
    lines = [
        json.dumps({"method": method, "rank": place, "objective": objective, **_plain(one)}) + "\n"
        for method, ranked in ranking.items()
        for place, one in enumerate(ranked, start=1)
    ]
    write_atomically(out / RANKING_FILE, "".join(lines))
    parts = [f"# Search: {title}", "", f"Ranked by {objective}. {judged} No test environment was played.", ""]
    for method, ranked in ranking.items():
        parts += [f"## {method}", "", *_table(objective, ranked), ""]
        parts += ["```", command(script, ranked[0]), "```", ""] if has_best(ranked) and script else []
    write_atomically(out / REPORT_FILE, "\n".join(parts))


def command(script: str, ranked: Ranked) -> str:
    """Command line of a setting's full run."""
    return shlex.join(["python", *script.split(), *ranked.flags])


def _plain(one: Ranked) -> dict[str, Any]:
    return {
        "setting": one.setting.number,
        "value": one.score if math.isfinite(one.score) else None,
        "by_seed": {seed: value if math.isfinite(value) else None for seed, value in one.by_seed.items()},
        "parameters": one.setting.values,
        "flags": list(one.flags),
    }


def _table(objective: str, ranked: Sequence[Ranked]) -> list[str]:
    """Markdown table; values that a setting does not use are empty."""
    paths = list(dict.fromkeys(path for one in ranked for path in one.setting.values))
    heads = ["rank", "setting", "seeds", objective, *paths]
    lines = [f"| {' | '.join(heads)} |", f"|{'---:|' * len(heads)}"]
    for place, one in enumerate(ranked, start=1):
        seeds = " ".join(map(str, one.by_seed))
        values = [str(one.setting.values.get(path, "")) for path in paths]
        score = f"{one.score:.4f}" if one.score > -math.inf else DIVERGED
        lines.append(f"| {' | '.join((str(place), str(one.setting.number), seeds, score, *values))} |")
    return lines


# ---- settings against scores -----------------------------------------------------------------------------------------

_SPREAD = 20.0
"""Ratio of the largest to the smallest value from which on an axis is logarithmic."""


def draw_scores(plots: Path, ranking: Ranking, objective: str) -> Path:
    """Write `search.png`: a panel for each value that varies, small points for seeds and large ones for settings."""
    paths = list(dict.fromkeys(path for ranked in ranking.values() for one in ranked for path in one.setting.values))
    figure, panels = new_panels(max(1, len(paths)), 3.4, 3.0, sharey=True)
    styles = default_styles(list(ranking))
    for panel, path in zip(panels, paths, strict=False):
        _draw_panel(panel, path, ranking, styles)
    panels[0].set_ylabel(objective)
    named = [(styles[method].points(), method) for method in ranking]
    lines = [panels[0].plot([], [], linestyle="", label=method, **points)[0] for points, method in named]
    figure.legend(handles=lines, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("circled: the configuration that the search started from", fontsize=8, color=REMARK)
    return save(figure, plots / "search.png")


def _draw_panel(panel: Axes, path: str, ranking: Ranking, styles: dict[str, LineStyle]) -> None:
    shown = [
        (styles[method], one) for method, ranked in ranking.items() for one in ranked if path in one.setting.values
    ]
    values = [one.setting.values[path] for _, one in shown]
    is_numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    kinds = list(dict.fromkeys(map(str, values)))
    for style, one in shown:
        x = one.setting.values[path] if is_numeric else kinds.index(str(one.setting.values[path]))
        seeds = [value for value in one.by_seed.values() if math.isfinite(value)]
        panel.plot([x] * len(seeds), seeds, ".", color=style.colour, markersize=3, alpha=0.5)
        if math.isfinite(one.score):
            panel.plot([x], [one.score], linestyle="", **style.points())
            if one.setting.number == 0:
                panel.plot([x], [one.score], "o", markersize=10, markerfacecolor="none", markeredgecolor=style.colour)
    if not is_numeric:
        panel.set_xticks(range(len(kinds)), kinds)
    elif min(values) > 0 and max(values) / min(values) >= _SPREAD:
        panel.set_xscale("log")
    panel.set_xlabel(path)
    panel.grid(color=FAINT)
    panel.spines[["top", "right"]].set_visible(False)


def write_hparams(out: Path, ranking: Ranking, objective: str) -> None:
    """Write `hparams/`, a run for each finished trial; TensorBoard averages the seeds of a setting."""
    folder = out / "hparams"
    shutil.rmtree(folder, ignore_errors=True)
    for method, ranked in ranking.items():
        for one in ranked:
            group = f"{method}-setting{one.setting.number:02}"
            plain = {  # types that the tab supports
                path: value if isinstance(value, bool | int | float | str) else str(value)
                for path, value in one.setting.values.items()
            }
            for seed, value in one.by_seed.items():
                run, now = folder / f"{group}-seed{seed}", time.time()
                run.mkdir(parents=True)
                events = EventFile(run)
                events.add_hparams({"method": method} | plain, group, now)
                events.add_scalars({objective: value}, 0, now)
                events.publish()
                events.close()
