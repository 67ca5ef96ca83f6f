"""Soups and reward per episode, one table a kitchen: methods, or the conditions of an ablation.

The caption names the planner, the count of soups, and the number of rewards that fell back on built-in ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from rl_envs.core.metrics import COUNT, PROPORTION
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.overcooked.world import FALLEN_BACK
from tune_experiments.sama.planning_metrics import BY_RULE, MODEL_COSTS, QUESTIONS, planner_note

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
RANGES = dict.fromkeys((*COLUMNS, QUESTIONS, *FALLEN_BACK), COUNT) | {BY_RULE: PROPORTION}
_OF_TESTS = (QUESTIONS, BY_RULE)
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
    """Env steps that a trial needed, and the share of rewards that fell back on built-in ones.

    Sub-goals are the largest mean of a row of the log; queries are the mean over rows.
    """
    from tune_experiments.sama.overcooked.trials import split_method

    found = _steps_needed(rows) | _stood_in(rows)
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


def _steps_needed(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    steps, best = steps_to_nearly_best(rows) or (0.0, 0.0)
    return {STEPS_NEEDED: steps} if best > 0 else {}


def _stood_in(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    episodes = [row for row in rows if f"episode/{FALLEN_BACK[0]}" in row]
    fallen_back = [[row[f"episode/{name}"] for name in FALLEN_BACK] for row in episodes]
    if not fallen_back:
        return {}
    subgoals, queries = zip(*fallen_back, strict=True)
    return dict(zip(FALLEN_BACK, (max(subgoals), sum(queries) / len(queries)), strict=True))


def tables(results: Sequence[Result], caption: str) -> list[PaperTable]:
    """One table for each tested kitchen."""
    kitchens = dict.fromkeys(line.world for line in results)
    return [_table(results, kitchen, caption) for kitchen in kitchens]


def _table(results: Sequence[Result], kitchen: str, caption: str) -> PaperTable:
    from tune_experiments.overcooked.tables import PUBLISHED

    title = f"{caption}: {kitchen}"
    mine = [line for line in results if line.world == kitchen]
    lines = [dataclasses.replace(line, table=title, method=_label(line), condition="") for line in mine]
    aside = (*FALLEN_BACK, *_OF_TESTS)
    table = make_table([line for line in lines if line.metric not in aside], title, COLUMNS)
    known = PUBLISHED.get(kitchen)
    note = f" For comparison: the game's own self-play agents reach about {known} in 7 million env steps." * bool(known)
    planner = planner_note(lines, PLANNED_BY_RULES, _BY_RULE, "an episode")
    sampled = SAMPLED * any(line.metric == SAMPLED_SOUPS for line in lines)
    parts = table.caption, planner, f"{COUNTING}{sampled}{note}{_fallen_back(lines)}"
    caption = " ".join(filter(None, parts))
    return dataclasses.replace(table, caption=caption)


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
