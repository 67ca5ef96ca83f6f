"""CPU-seconds to the same return on simple_spread: Concord beside RLlib, BenchMARL and SB3 with SuperSuit.

    python -m benchmarks.trainers.spread_return tune concord --target R --out DIR       # or rllib, benchmarl, sb3
    python -m benchmarks.trainers.spread_return measure concord --target R --out DIR --seeds 0 1 2
    python -m benchmarks.trainers.spread_return table --out DIR

Every library trains its own PPO with shared weights, with the sizes of `trainers.py`. `tune` trains with each
learning rate of one grid on seeds that `measure` refuses; `measure` takes the one that needed the least. From time to
time all training stops and its clock with it: 500 episodes, the same for all libraries, are played with sampled actions
in the bare environment. A trial ends at the first of two consecutive validations whose mean return (the sum over the
agents) is at least the target, or at the limit, and then it counts as not reached. CPU time is that of this process and
of its ended children, from the first line of training, imports apart.

One line of JSON a trial is added to DIR/trials.jsonl when the trial ends. The same command again leaves out the trials
that are there; a trial that was killed begins again. `trainers.py` says how each library is installed.
"""

import argparse
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from mpe2 import simple_spread_v3

from benchmarks.trainers.spread_speed import cpu_seconds
from benchmarks.trainers.trainers import CYCLES, TRAINERS, Act

EPISODES, AT_ONCE, FIRST_SEED = 500, 50, 50_000
LEARNING_RATES = (3e-4, 1e-3)
TUNING_SEEDS = (100, 101)
ROWS = "trials.jsonl"


class Reached(Exception):
    """Two consecutive validations reached the target."""


@dataclass(frozen=True)
class Trial:
    """One training."""

    library: str  # what was trained, to `target`
    learning_rate: float
    seed: int
    target: float
    limit: int = 0  # env steps at which it gives up, and between validations; 0 in files that lack them
    every: int = 0
    # both of the first of two consecutive validations at the target; None if it was not reached
    cpu_seconds: float | None = None
    env_steps: int | None = None
    curve: tuple[tuple[int, float, float], ...] = ()  # (env steps, CPU-seconds, mean return) of every validation

    @property
    def setting(self) -> tuple[str, float, int, int]:
        """What trials that are compared have in common."""
        return self.library, self.target, self.limit, self.every

    @property
    def key(self) -> tuple[Any, ...]:
        """Key that distinguishes this training from others."""
        return self.setting, self.learning_rate, self.seed


@dataclass
class Watch:
    """Callback after each update: it validates every `every` env steps, with the clock stopped."""

    target: float
    every: int
    curve: list[tuple[int, float, float]] = field(default_factory=list)
    _began: float = field(default_factory=cpu_seconds)
    _paused: float = 0.0

    def __call__(self, env_steps: int, act: Act) -> None:
        """Validate if it is time; raises `Reached` if this validation and the one before reached the target."""
        if env_steps < self.every * (len(self.curve) + 1):
            return
        stopped = cpu_seconds()
        self.curve.append((env_steps, stopped - self._began - self._paused, mean_return(act)))
        self._paused += cpu_seconds() - stopped
        print(json.dumps(self.curve[-1]), flush=True)
        if min(value for *_, value in self.curve[-2:]) >= self.target and len(self.curve) > 1:
            raise Reached


def mean_return(act: Act) -> float:
    """Mean return of episodes that differ between calls only in the sampled actions."""
    envs = [simple_spread_v3.parallel_env(max_cycles=CYCLES) for _ in range(AT_ONCE)]
    total = 0.0
    for first in range(0, EPISODES, AT_ONCE):
        seen = [env.reset(seed=FIRST_SEED + first + row)[0] for row, env in enumerate(envs)]
        for _ in range(CYCLES):
            actions = act(np.array([list(each.values()) for each in seen], np.float32))
            seen = []
            for env, own in zip(envs, actions.tolist(), strict=True):
                observations, rewards, *_ = env.step(dict(zip(env.possible_agents, own, strict=True)))
                seen.append(observations)
                total += sum(rewards.values())
    return total / EPISODES


def run(trial: Trial) -> Trial:
    """Train until the target or the limit."""
    train = TRAINERS[trial.library]()
    watch = Watch(trial.target, trial.every)
    reached = False
    try:
        train(trial.learning_rate, trial.seed, trial.limit, watch)
    except Reached:
        reached = True
    curve = tuple(watch.curve)
    at = curve[-2] if reached else (None, None)
    return replace(trial, cpu_seconds=at[1], env_steps=at[0], curve=curve)


def read_trials(folder: Path) -> list[Trial]:
    """All trials that have ended."""
    path = folder / ROWS
    lines = path.read_text().splitlines() if path.exists() else []
    return [Trial(**json.loads(line)) for line in lines]


def best_learning_rate(trials: Sequence[Trial], library: str, target: float, limit: int, every: int) -> float:
    """The learning rate that reached the target with most seeds, then in the least CPU time; ends if none was tuned."""
    ended = [t for t in trials if t.setting == (library, target, limit, every) and t.seed in TUNING_SEEDS]
    with_all = [seed for seed in TUNING_SEEDS if sum(t.seed == seed for t in ended) == len(LEARNING_RATES)]
    if not with_all:
        flags = f"--target {target} --limit {limit} --every {every}"
        raise SystemExit(f"tune {library} first: {len(ended)} of its tuning trials have ended with {flags}")

    def cost(rate: float) -> tuple[int, float]:
        spent = [t.cpu_seconds for t in ended if t.learning_rate == rate and t.seed in with_all]
        reached = [one for one in spent if one is not None]
        return len(spent) - len(reached), sum(reached)

    return min(LEARNING_RATES, key=cost)


def table(trials: Sequence[Trial]) -> str:
    """Markdown: per library and setting the seeds that were measured; one that did not arrive counts as infinite."""
    lines = ["| library | learning rate | target | limit | every | reached | CPU-seconds, median (seeds) | env steps |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    measured = [trial for trial in trials if trial.seed not in TUNING_SEEDS]
    for setting, rate in dict.fromkeys((t.setting, t.learning_rate) for t in measured):
        own = [t for t in measured if (t.setting, t.learning_rate) == (setting, rate)]
        spent = [math.inf if t.cpu_seconds is None else t.cpu_seconds for t in own]
        steps = [math.inf if t.env_steps is None else t.env_steps for t in own]
        library, target, limit, every = setting
        arrived = f"{sum(map(math.isfinite, spent))} of {len(own)}"
        listed = f"{_rounded(statistics.median(spent))} ({', '.join(map(_rounded, spent))})"
        middle = _rounded(statistics.median(steps))
        lines.append(f"| {library} | {rate} | {target} | {limit:,} | {every:,} | {arrived} | {listed} | {middle} |")
    return "\n".join(lines)


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if math.isfinite(number) else "never"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("tune", "measure", "table"), help="What to do: tune, measure or table.")
    parser.add_argument("library", nargs="?", choices=sorted(TRAINERS), help="Library whose PPO is trained.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the trials that have ended.")
    parser.add_argument("--target", type=float, help="Mean return, the sum over the agents, at which a trial ends.")
    parser.add_argument("--seeds", type=int, nargs="+", help="Seeds; by default 0 1 2 to measure and 100 101 to tune.")
    parser.add_argument("--limit", type=int, default=400_000, help="Number of env steps at which a trial gives up.")
    parser.add_argument("--every", type=int, default=20_000, help="Number of env steps between validations.")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, one trial after the other."""
    parser = _parser()
    flags = parser.parse_args(arguments)
    if flags.what == "table":
        print(table(read_trials(flags.out)))
        return
    if flags.library is None or flags.target is None:
        parser.error("name a library and a --target")
    is_tuning = flags.what == "tune"
    flags.seeds = flags.seeds or (list(TUNING_SEEDS) if is_tuning else [0, 1, 2])
    if any((seed in TUNING_SEEDS) != is_tuning for seed in flags.seeds):
        parser.error(f"the seeds {TUNING_SEEDS} are those of tuning: tune with them, and measure others")
    flags.out.mkdir(parents=True, exist_ok=True)
    for trial in _asked(flags):
        if trial.key not in {ended.key for ended in read_trials(flags.out)}:
            line = json.dumps(asdict(run(trial)))
            with (flags.out / ROWS).open("a") as rows:
                rows.write(line + "\n")
            print(line, flush=True)


def _asked(flags: Any) -> list[Trial]:
    setting = flags.library, flags.target, flags.limit, flags.every
    rates = LEARNING_RATES if flags.what == "tune" else [best_learning_rate(read_trials(flags.out), *setting)]
    return [Trial(flags.library, rate, seed, *setting[1:]) for seed in flags.seeds for rate in rates]


if __name__ == "__main__":
    main()
