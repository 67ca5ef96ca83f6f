"""CPU-seconds of training until a team reaches its task's threshold: what a user of a laptop waits for.

Each seed trains with the laptop preset and the changes of its entry in `TASKS`, in this process without Ray. It arrives
at the first of two consecutive validations of 500 episodes or more that reach the threshold; validations do not count.
A seed that never arrives within its budget takes infinitely long. Settings were chosen with seeds 10 to 12; the quoted
number is the median of seeds 0 to 4. With a GPU, where wall seconds count, networks are there, and environments that
can be.

Training takes hours, so each finished seed is written to a file in the folder `--runs` and not trained again with the
same settings. `--seeds 0` trains this seed only; the table has all finished seeds.
"""

import dataclasses
import functools
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness.clock import median, timed
from benchmarks.harness.measurements import Measurement
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import chosen_device, get_device
from rl_models.training.evaluation import Evaluation
from rl_models.training.grouped_collector import make_collector, make_groups
from rl_models.training.loop import Learner
from tune_experiments.cordial_sync import evaluation as furnmove
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import Episodes, TrialPlan
from tune_experiments.messenger import evaluation as messenger
from tune_experiments.overcooked import evaluation as overcooked
from tune_experiments.rtfm import evaluation as rtfm

ONLY_IF_NAMED = True
"""`make bench` leaves this part out."""
SECONDS, STEPS, SEEDS = "CPU-seconds", "env steps", "seeds"
CPU, WALL = "cpu_seconds", "wall_seconds"
QUOTED = (0, 1, 2, 3, 4)
EPISODES = 500
FILE = "time_to_result.jsonl"


@dataclass(frozen=True)
class Task:
    """Target of the benchmark: a training, and the validation metric that it must reach."""

    script: str  # experiment, and below its method; its laptop preset trains
    method: str
    metric: str  # metric of a validation, and below the mean to reach
    threshold: float
    every_env_steps: int  # env steps between validations
    # function of the configuration and the policy that plays 500 episodes or more
    play: Callable[[Any, TeamPolicy], Episodes]
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # changes of the preset, dotted path -> value

    @property
    def config(self) -> Any:
        """The laptop preset with the changes."""
        return with_overrides(find_experiment(self.script).presets["laptop"], dict(self.changes))

    def plan(self, seed: int) -> TrialPlan:
        """Trial plan of a seed."""
        plan: TrialPlan = find_experiment(self.script).plan(self.config, self.method, seed).stages[0].plan
        return plan


def _unseen(config: Any, policy: TeamPolicy) -> Episodes:
    """MESSENGER's test games in stage 1, with validation's random moves."""
    world = messenger.make_world(config, 1, EPISODES, **messenger.COLUMNS["test"])
    return messenger.WithRandomMoves(world, policy).run(messenger.EVALUATION_SEED)


def _validation_games(config: Any, policy: TeamPolicy) -> Episodes:
    """Validation games of RTFM or letters with the right documents."""
    world = rtfm.make_world(config.task, EPISODES, split="valid")
    return rtfm.play(world, policy, Evaluation, seed=rtfm.VALIDATION_SEED)


def _impala(worlds: int, minibatches: int) -> Task:
    """The reader in RTFM's simplest game by IMPALA: an optimiser step for each 24 fragments of 8 env steps."""
    changes = {
        "learner.algorithm": "impala",
        "learner.num_epochs": 1,
        "learner.num_minibatches": minibatches,
        "learner.learning_rate": 5e-3,
        "learner.final_learning_rate_share": 1.0,
        "learner.final_entropy_coef": None,
        "workers.worlds_per_runner": worlds,
        "workers.fragment_length": 8,
        "budget_env_steps": 600_000,
    }
    matching = {f"matching.{path}": value for path, value in changes.items()}
    return Task("rtfm_matching", "matching", "win_rate", 0.8, 9_216, _validation_games, matching)


TASKS = {
    "impala_24_worlds": _impala(24, 1),
    "impala_192_worlds": _impala(192, 8),
    "furnmove_sync": Task(
        "furnmove_methods",
        "sync_13_cordial",
        "success",
        0.65,
        10_000,
        furnmove.validate,
        {"valid_starts_per_room": 100, "budget_env_steps": 320_000}
        | {"network.channels": (16, 32, 32, 64), "sync.learning_rate": 3e-3},
    ),
    "emma_stage_1": Task(
        "messenger_emma",
        "emma_grounding",
        "win_rate",
        0.80,
        10_000,
        _unseen,
        {"learner.learning_rate": 5e-3, "learner.num_epochs": 2},
    ),
    "cramped_room": Task(
        "overcooked_selfplay",
        "selfplay",
        "soups",
        11.0,
        20_000,
        overcooked.validate,
        {"task": "cramped_room", "valid_episodes": EPISODES, "network.channels": (32,), "learner.learning_rate": 2e-3},
    ),
    "letters": Task(
        "rtfm_rock_paper_scissors",
        "matching",
        "win_rate",
        0.65,
        10_000,
        _validation_games,
        {"matching.learner.learning_rate": 2.5e-3, "matching.learner.num_epochs": 4},
    ),
}
_CHOSEN: dict[str, Any] = {"runs": Path("bench_runs"), "seeds": QUOTED, "tasks": tuple(TASKS)}


def choose(runs: Path, seeds: Sequence[int] | None, tasks: Sequence[str] | None) -> None:
    """Set the folder of results and the seeds and tasks to train; a ValueError if a task is unknown."""
    unknown = sorted(set(tasks or ()) - set(TASKS))
    if unknown:
        raise ValueError(f"time_to_result has no task {', '.join(unknown)}: name some of {', '.join(TASKS)}")
    _CHOSEN.update(runs=runs, seeds=QUOTED if seeds is None else tuple(seeds), tasks=tuple(tasks or TASKS))


def measure() -> Iterator[Measurement]:
    """All measurements of this part."""
    torch.set_num_threads(1)
    _CHOSEN["runs"].mkdir(parents=True, exist_ok=True)
    path = _CHOSEN["runs"] / FILE
    for name in _CHOSEN["tasks"]:
        task = TASKS[name]
        for seed in _CHOSEN["seeds"]:
            if seed not in known(path, name, task):
                found = {"task": name, "seed": seed, "settings": _settings(task), **time_to(task, seed)}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
                print(f"{name}, seed {seed}: {found[CPU]} CPU-seconds, {found[WALL]} wall seconds", flush=True)
        yield from _summary(name, known(path, name, task))


def known(path: Path, name: str, task: Task) -> dict[int, dict[str, Any]]:
    """Seed -> its row, of all seeds that have ended with these settings."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["seed"]: row for row in rows if (row["task"], row["settings"]) == (name, _settings(task))}


def time_to(task: Task, seed: int) -> dict[str, Any]:
    """Seconds and env steps of a seed to the first of two consecutive validations at the threshold, or None."""
    plan, play = task.plan(seed), functools.partial(task.play, task.config)
    policy = plan.new_policy()
    worlds = make_groups(plan.make_world, plan.workers.worlds, 0, 1, get_device(policy))
    collector = make_collector(worlds, policy, plan.workers.fragment_length, plan.objective.needs_values)
    learner = Learner(collector.policy, plan.objective, plan.optimiser, seed=plan.seed)
    collector.reset(plan.seed)

    def turn() -> None:
        learner.update([collector.collect()])
        collector.version = learner.progress.updates

    cpu_seconds, wall_seconds, validated_at, first = 0.0, 0.0, 0, None
    while learner.progress.env_steps < plan.budget_env_steps:
        begins = time.perf_counter()
        cpu_seconds += timed(turn)[1]
        collector.pop_episodes()
        env_steps = learner.progress.env_steps
        is_due = env_steps - validated_at >= task.every_env_steps
        if is_due and get_device(policy).type == "cuda":
            torch.cuda.synchronize()  # what the device has left to do counts as training
        wall_seconds += time.perf_counter() - begins
        if not is_due:
            continue
        validated_at, values = env_steps, play(collector.policy)[task.metric]
        if len(values) < EPISODES:
            raise ValueError(f"a validation of {len(values)} episodes is too small: play {EPISODES} or more")
        if values.mean() < task.threshold:
            first = None
        elif first is not None:
            return first
        else:
            spent = {CPU: cpu_seconds, WALL: wall_seconds}
            first = {name: round(seconds, 1) for name, seconds in spent.items()} | {"env_steps": env_steps}
    return {CPU: None, WALL: None, "env_steps": None}


def _summary(name: str, rows: Mapping[int, Mapping[str, Any]]) -> Iterator[Measurement]:
    """Median over the quoted seeds that have ended, then each seed."""
    key, unit = (CPU, SECONDS) if chosen_device().type == "cpu" else (WALL, "wall seconds")
    seconds = {seed: math.inf if row[key] is None else row[key] for seed, row in rows.items()}
    quoted = [seconds[seed] for seed in QUOTED if seed in seconds]
    if quoted:
        yield Measurement(f"time_to_result.{name}.median", median(quoted), unit)
        yield Measurement(f"time_to_result.{name}.quoted", len(quoted), SEEDS)
        yield Measurement(f"time_to_result.{name}.arrived", sum(map(math.isfinite, quoted)), SEEDS)
    for seed, spent in sorted(seconds.items()):
        yield Measurement(f"time_to_result.{name}.seed_{seed}", spent, unit)
        if math.isfinite(spent):
            yield Measurement(f"time_to_result.{name}.seed_{seed}.env_steps", rows[seed]["env_steps"], STEPS)


def _settings(task: Task) -> str:
    """The changes, and a digest of the whole configuration, because a preset may change too."""
    changes = ", ".join(f"{path}={value}" for path, value in sorted(task.changes.items())) or "laptop"
    whole = json.dumps([config_to_json(task.config), task.metric, task.threshold, task.every_env_steps], sort_keys=True)
    place = "" if chosen_device().type == "cpu" else "on a GPU, "
    return f"{place}{changes}, {hashlib.sha256(whole.encode()).hexdigest()[:8]}"
