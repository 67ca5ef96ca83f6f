"""Soups and reward per episode, one table a kitchen: methods, or the conditions of an ablation.

The caption names the planner, the count of soups, and the number of rewards that fell back on built-in ones.
"""

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rl_envs.core.metrics import COUNT, PROPORTION
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.overcooked.overcooked_experiment import published_note
from tune_experiments.results.plots.figures import (
    FAINT,
    INK,
    LineStyle,
    default_styles,
    explain_below,
    new_panels,
    save,
)
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.results.trial_log import find_logs, read_metrics
from tune_experiments.sama.overcooked.config import split_method
from tune_experiments.sama.overcooked.world import FALLEN_BACK, PREPARED_BY_RULE
from tune_experiments.sama.planned_experiment import BY_RULE, MODEL_COSTS, QUESTIONS, planner_note

STEPS_NEEDED = "env_steps_to_80_percent"
RULES_SCRIPTED, SAMPLED_SOUPS = "rules_scripted", "sampled_soups"
RANDOM_TESTS = ("random commands", "random possible commands")
"""Conditions with only random commands, without queries of a model."""
COLUMNS = (
    "soups",
    SAMPLED_SOUPS,
    "reward",
    "standing_soups",
    "rounds",
    "reached_rounds",
    "idle_rounds",
    "wasted_steps",
    STEPS_NEEDED,
    *MODEL_COSTS,
)
ERRING = ("weak planner", "weaker planner")
"""Conditions of the ablations with noisy rules, for any planner of the run."""
_BY_RULE = (RULES_SCRIPTED, *RANDOM_TESTS, *ERRING)
"""Methods and conditions with the offline planner, for any planner of the run."""
_VALID_SOUPS, NEARLY = "valid/soups", 0.8
_SHARES = (BY_RULE, PREPARED_BY_RULE)
RANGES = dict.fromkeys((*COLUMNS, QUESTIONS, *FALLEN_BACK), COUNT) | dict.fromkeys(_SHARES, PROPORTION)
_ASIDE = (*FALLEN_BACK, QUESTIONS, *_SHARES)
"""Metrics that a caption names, and no column."""
COUNTING = (
    "`soups` and `reward` count all env steps of an episode, those of undone rounds too; `standing_soups` is the "
    "paper's count, which leaves undone rounds out."
)
SAMPLED = f" `{SAMPLED_SOUPS}` are those of other episodes, with sampled actions."
PLANNED_BY_RULES = (
    "Planner: rules, written by hand (tuned scores, exhaustive search over structured state); they use no "
    "prompts, manual or few-shot examples."
)


def training_results(method: str, rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Env steps that a trial needed, and the shares of rewards and of training data that are not a model's.

    Sub-goals and training data are the largest mean of a row of the log; queries are the mean over rows.
    """
    steps, best = steps_to_nearly_best(rows) or (0.0, 0.0)
    found = {STEPS_NEEDED: steps} if best > 0 else {}
    summaries: tuple[Callable[[list[float]], float], ...] = (max, statistics.fmean, max)
    for name, summarise in zip((*FALLEN_BACK, PREPARED_BY_RULE), summaries, strict=True):
        if values := [row[f"episode/{name}"] for row in rows if f"episode/{name}" in row]:
            found[name] = summarise(values)
    return {split_method(method)[1]: found} if found else {}


def steps_to_nearly_best(rows: Sequence[Mapping[str, float]]) -> tuple[float, float] | None:
    """Env steps until validation first served 80 % of its maximum, and this maximum in soups an episode.

    All env steps if it never served, and None without validation.
    """
    curve = [(row["env_steps"], row[_VALID_SOUPS]) for row in rows if _VALID_SOUPS in row]
    if not curve:
        return None
    best = max(soups for _, soups in curve)
    return (min(steps for steps, soups in curve if soups >= NEARLY * best) if best > 0 else curve[-1][0]), best


def tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table for each tested kitchen."""
    kitchens = dict.fromkeys(line.world for line in results)
    return [_table(results, kitchen, caption) for kitchen in kitchens]


def _table(results: Sequence[Result], kitchen: str, caption: str) -> PaperTable:
    title = f"{caption}: {kitchen}"
    mine = [line for line in results if line.world == kitchen]
    lines = [dataclasses.replace(line, method=_label(line), condition="") for line in mine]
    table = make_table([line for line in lines if line.metric not in _ASIDE], title, COLUMNS)
    note = published_note(lines, kitchen)
    planner = planner_note(lines, PLANNED_BY_RULES, _BY_RULE, "an episode")
    sampled = SAMPLED * any(line.metric == SAMPLED_SOUPS for line in lines)
    parts = table.caption, planner, f"{COUNTING}{sampled}{note}{_prepared(lines)}{_fallen_back(lines)}"
    caption = " ".join(filter(None, parts))
    return dataclasses.replace(table, caption=caption)


def _prepared(lines: Sequence[Result]) -> str:
    """A sentence on training data that a language model has prepared."""
    shares = [100 * line.value for line in lines if line.metric == PREPARED_BY_RULE]
    if not shares:
        return ""
    return f" Rules answered {min(shares):.1f} to {max(shares):.1f} % of the questions that prepared training."


def _fallen_back(lines: Sequence[Result]) -> str:
    """A sentence for each method and seed with written rewards."""
    subgoals, queries = (
        {(line.method, line.seed): line.value for line in lines if line.metric == name} for name in FALLEN_BACK
    )
    return "".join(
        f" Rewards of {method}, seed {seed}: built-in ones replaced the model's in {subgoals[method, seed]:g} "
        f"sub-goals, {100 * share:.1f} % of the queries in training."
        for (method, seed), share in queries.items()
        if (method, seed) in subgoals
    )


def _label(line: Result) -> str:
    """The method, with the condition or stage of its test."""
    row = line.method.removesuffix(f"-{line.world}")
    _, stage = line.condition_and_stage
    return f"{row} {line.condition}" if stage else ", ".join(filter(None, (row, line.condition)))


_REMARK = (
    "one point per seed: the most soups that validation serves, and the env steps until it first serves "
    f"{NEARLY:.0%} of them; hollow: it serves none within the budget"
)


def draw_sample_efficiency(out: Path, trials: Mapping[str, Mapping[int, Path]]) -> Iterator[Drawn]:
    """The figure `plots/sample_efficiency.png`; none before the first validation with soups."""

    def draw() -> Iterator[Path]:
        kitchens: dict[str, dict[str, Sequence[tuple[float, float]]]] = {}
        for method, logs in find_logs(trials).items():
            row, kitchen = split_method(method)
            if points := [point for log in logs if (point := steps_to_nearly_best(read_metrics(log)))]:
                kitchens.setdefault(kitchen, {})[row] = points
        if kitchens:
            yield _draw(kitchens, out / "plots/sample_efficiency.png")

    yield from attempt("sample efficiency", draw)


def _draw(kitchens: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], path: Path) -> Path:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import EngFormatter

    styles = default_styles(list(dict.fromkeys(row for rows in kitchens.values() for row in rows)))
    figure, panels = new_panels(len(kitchens), 3.6, 2.5)
    figure.set_figheight(figure.get_figheight() + 0.6)  # of the legend and the remark
    for panel, (kitchen, rows) in zip(panels, kitchens.items(), strict=True):
        for row, points in rows.items():
            for env_steps, soups in points:
                panel.plot(env_steps, soups, linestyle="", **_marker(styles[row], soups > 0))
        panel.set_title(kitchen, loc="left", fontsize=10, color=INK)
        panel.margins(0.08)
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=-0.4)
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
        panel.set_xlabel(f"env steps until {NEARLY:.0%}", fontsize=9)
        panel.set_ylabel("most soups", fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(color=FAINT, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    handles = [Line2D([], [], linestyle="", label=row, **_marker(style, True)) for row, style in styles.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=9)
    explain_below(figure, _REMARK)
    return save(figure, path)


def _marker(style: LineStyle, serves: bool) -> dict[str, Any]:
    return dataclasses.replace(style, is_filled=serves).points() | {"markersize": 7.0, "alpha": 0.8}
