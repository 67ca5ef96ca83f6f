"""SAMA on MiniRTS: a planner gives two or three agents commands as text against a script (SAMA, figures 6, 13, 15).

    python tune_experiments/sama_minirts.py --seeds 0 1 2                    # the table: 2 and 3 agents, rules plan
    python tune_experiments/sama_minirts.py --methods scripted_2 --tests plain sights --out runs/sights
    python tune_experiments/sama_minirts.py --team runs/red_two --methods learned_2 --out runs/learned
    python tune_experiments/sama_minirts.py --planner openai --model.name NAME --tests plain --test-episodes 10
    python tune_experiments/sama_minirts.py --record asked --out runs/a      # and --replay asked --out runs/b
    python tune_experiments/sama_minirts.py --preset smoke                   # under 2 minutes

Each agent commands a half or a third of the team's objects. The default planner is a set of hand-written rules without
a language model; it gives each agent one of 17 phrases or lets it wait, tests after some decisions which sub-goals are
reached, and reflects at most three times after a failed round, which is then repeated. By default a scripted executor
carries out the phrases (methods `scripted_2`, `scripted_3`); `--team` takes a team of red_minirts.py (`learned_2`,
`learned_3`). Nothing is trained here. All tests of a seed play the same games: the planner with 0 to 3 reflections,
with more information, with errors (with as many retries without a memory as control), with a share of random commands,
with goals by DEPS and Plan4MC, and without a planner RED's oracle and silence.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs import World
from rl_envs.core.metrics import COUNT, PROPORTION, SHARE
from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.meter import Budget
from tune_experiments.core.errors import UserError
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.launch.experiment import main
from tune_experiments.play.episode import MAX_STEPS, Episode
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table
from tune_experiments.sama.minirts.config import ERRING, RtsConfig
from tune_experiments.sama.planned_experiment import BY_RULE, QUESTIONS, PlannedExperiment, planner_note
from tune_experiments.sama.planner_config import MAX_REFLECTIONS, RULES, ModelSettings

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.sama.minirts import trials as rts_trials
else:
    rts_trials = LazyModule("tune_experiments.sama.minirts.trials")

LAPTOP = RtsConfig()
SMOKE = dataclasses.replace(
    LAPTOP,
    tests=("plain", "commanders", "random", "goals"),
    opponents=("simple",),
    round_steps=6,
    max_episode_steps=16,
    test_episodes=2,
)
PAPER = dataclasses.replace(
    LAPTOP,
    planner="openai",
    tests=(*LAPTOP.tests, "prompts", "rewards"),
    model=ModelSettings(chat=ChatSettings(budget=Budget(max_calls=200_000, max_tokens=200_000_000))),
)
"""A language model plans, as in the paper; the budget of calls is for one seed. The paper's agents are RED's: they need
`--team RUN` and the row of its size, such as `--methods learned_2`."""
_WON = ("win_rate", "win_rate_of_standing")
COLUMNS = (*_WON, "decisions", "undone_decisions", "rounds", "reached_rounds")
RANGES = dict.fromkeys((*COLUMNS, QUESTIONS, "ticks"), COUNT) | dict.fromkeys(_WON, SHARE) | {BY_RULE: PROPORTION}
COUNTING = (
    "`win_rate` counts games won within the limit of decisions, those of undone rounds included, and a draw is no win; "
    "`win_rate_of_standing` is the paper's count, which leaves undone rounds out. A lost fight in an undone "
    "round is undone, too. Planners have the team's information (fair sight) unless the method names another."
)
BY_HAND = "Planner: rules, written by hand; they use no prompts, manual or few-shot examples."
EXECUTORS = {
    "scripted": "Executor: a script of fixed rules, written by hand, without training.",
    "learned": "Executor: one team that RED has trained, the same for all seeds, which are those of the games.",
}


def table_title(method: str) -> str:
    """Title of a team's table."""
    executor, _, number = method.partition("_")
    return f"SAMA on MiniRTS: {number} agents, {executor} executor"


def tables(results: Sequence[Result]) -> list[PaperTable]:
    """One table for each tested team."""
    return [_table(results, method) for method in dict.fromkeys(line.method for line in results)]


def _table(results: Sequence[Result], method: str) -> PaperTable:
    title = table_title(method)
    mine = [line for line in results if line.method == method]
    lines = [dataclasses.replace(line, method=line.condition, condition="") for line in mine]
    table = make_table([line for line in lines if line.metric in COLUMNS], title, COLUMNS)
    sentences = [
        table.caption,
        EXECUTORS[method.partition("_")[0]],
        planner_note(lines, BY_HAND, (ERRING,), "a game"),
        COUNTING,
    ]
    return dataclasses.replace(table, caption=" ".join(filter(None, sentences)))


class SamaMinirts(PlannedExperiment[RtsConfig]):
    """Teams with a planner, noisy planners, random commands, RED's oracle and silence."""

    metric_ranges = RANGES
    name = "sama_minirts"
    caption = "SAMA on MiniRTS"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    columns: Mapping[str, str] = {}

    def plan(self, config: RtsConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """No training, only tests."""
        return rts_trials.plan(config, method, seed)

    def evaluate_trial(self, config: RtsConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """Whole games with every planner and commander."""
        return rts_trials.evaluate(config, method, policy, trial_folder)

    def evaluation_seeds(self, config: RtsConfig) -> Sequence[int]:
        """The seed whose test games are those that the tested team was trained on."""
        return [rts_trials.load_policy(config.team).seed - config.test_seed] if config.team else []

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table a team."""
        return tables(results)

    def main_comparisons(self, config: RtsConfig) -> Sequence[MainComparison]:
        """Reflection against as many retries without a memory, for each team, with a noisy planner."""
        if "erring" not in config.tests:
            return ()
        tests = (f"{ERRING}, {MAX_REFLECTIONS} {tries}" for tries in ("reflections", "retries"))
        reflections, retries = (rts_trials.with_sight(config, test) for test in tests)
        return [
            MainComparison(method, method, "win_rate", rts_trials.GAME, table_title(method), reflections, retries)
            for method in config.methods
        ]

    def check(self, config: RtsConfig) -> None:
        """Check the planner and the team."""
        super().check(config)
        rts_trials.check_team(config)

    def deviation_notes(self, config: RtsConfig) -> Sequence[str]:
        """Deviations from the paper."""
        by_rule = "rules, written by hand; the paper has a language model"
        planner = by_rule if config.planner in RULES else f"the language model {config.model.name}"
        scripted = "a script of fixed rules executes commands; the paper has a team that RED has trained"
        return [
            *([f"planner: {planner}"] if set(config.tests) - {"commanders"} else []),
            *([scripted] if not all(map(rts_trials.is_learned, config.methods)) else []),
            "distribution of objects, length of rounds and tests of phrases are ours; the paper does not give them",
            "a game that is lost within a round is over; failed rounds are undone",
            *([f"the planner: {rts_trials.SIGHTS[config.sight]}"] if config.sight != rts_trials.FAIR else []),
        ]

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """A game with the planner, with the commands above the map, [H, W, 3] uint8 a decision."""
        return rts_trials.video(loaded, seed)

    def episodes(
        self, loaded: LoadedPolicy, seed: int = SEED, episodes: int = 1, max_steps: int = MAX_STEPS
    ) -> Sequence[Episode]:
        """Games with the planner, its goals and reflections."""
        return [rts_trials.record(loaded, seed + number, max_steps) for number in range(episodes)]

    def test_world(self, config: RtsConfig, num_worlds: int, method: str = "") -> World:
        """Games of a team, or of the first one, without its planner; a UserError if its executor is scripted."""
        if method and not rts_trials.is_learned(method):
            raise UserError(f"{method} has no policy to play with: use `show` or `render`, which have its planner")
        return rts_trials.make_world(config, method or config.methods[0], num_worlds)


EXPERIMENT = SamaMinirts()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
