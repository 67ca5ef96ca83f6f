"""Learning curves of whole libraries with their own default settings: Concord, BenchMARL, Stable-Baselines3.

    export OMP_NUM_THREADS=1
    python -m benchmarks.trainers.default_settings concord mappo --task balance --seed 0 --out DIR
    python -m benchmarks.trainers.default_settings benchmarl ippo --task spread --seed 0 --out DIR
    python -m benchmarks.trainers.default_settings sb3 ippo --task spread --seed 0 --out DIR
    python -m benchmarks.trainers.default_settings table --task spread --target -40 --out DIR

Tasks are simple_spread of mpe2 and balance of vmas with the arguments of BenchMARL's task files: episodes of 100 env
steps, continuous actions (`--discrete`: discrete ones). BenchMARL runs its own `run.py`, with only CSV files as its log
and no evaluation in between. Stable-Baselines3 trains one PPO for all agents over SuperSuit. Concord runs `concord
train`. A return is the mean over the agents of what an agent earned in an episode of training. CPU time is that of
training in all processes, imports apart; of BenchMARL it is spread evenly over its env steps.
Each trial is one file in DIR, and a trial that is there is not run again. docs/tutorials/foreign.md says how each
library is installed.
"""

import argparse
import csv
import importlib
import itertools
import json
import runpy
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.trainers.spread_speed import cpu_seconds

Curve: TypeAlias = list[tuple[int, float, float]]
"""Env steps so far, CPU-seconds so far, return."""
AGENTS = {"spread": 3, "balance": 4}
BENCHMARL = {"spread": "pettingzoo/simple_spread", "balance": "vmas/balance"}
ENVIRONMENTS = {"spread": "mpe2.simple_spread_v3:parallel_env", "balance": "benchmarks.trainers.vmas_env:parallel_env"}
BATCHED = {"balance": "benchmarks.trainers.vmas_world:VmasWorld"}
"""Environments that Concord steps as one batch."""
ARGUMENTS: dict[str, dict[str, Any]] = {
    "spread": {"max_cycles": 100, "N": 3, "local_ratio": 0.5},
    "balance": {"max_steps": 100, "n_agents": 4, "random_package_pos_on_line": True, "package_mass": 5},
}
LAST = 0.1
"""Share of the env steps over whose end returns are averaged in the table."""


def concord(flags: argparse.Namespace) -> Curve:
    """`concord train`."""
    arguments = ARGUMENTS[flags.task] | {"continuous_actions": not flags.discrete}
    folder = flags.out / "concord" / _name(flags)
    settings = {
        "env": BATCHED.get(flags.task, ENVIRONMENTS[flags.task]),
        "env-arguments": json.dumps(arguments),
        "methods": flags.method,
        "seeds": flags.seed,
        "budget-env-steps": flags.env_steps,
        "out": folder,
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    subprocess.run([sys.executable, "-m", "tune_experiments", "train", *words], check=True)
    (path,) = folder.glob("trials/*/metrics.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        (int(row["env_steps"]), row["speed/cpu_seconds"], row["episode/return"] / AGENTS[flags.task])
        for row in rows
        if "episode/return" in row
    ]


def benchmarl(flags: argparse.Namespace) -> Curve:
    """BenchMARL's own script."""
    import benchmarl
    import mpe2
    import torchrl.envs
    import vmas

    assert mpe2 and torchrl and vmas  # imported here, so that their imports do not count
    folder = (flags.out / "benchmarl" / _name(flags)).resolve()
    settings = [f"algorithm={flags.method}", f"task={BENCHMARL[flags.task]}", f"seed={flags.seed}"]
    settings += [f"experiment.max_n_frames={flags.env_steps}", "experiment.loggers=[csv]", "experiment.render=False"]
    settings += ["experiment.evaluation=False", f"experiment.prefer_continuous_actions={not flags.discrete}"]
    script = Path(benchmarl.__file__).parent / "run.py"
    sys.argv = [str(script), *settings, f"hydra.run.dir={folder}"]
    began = cpu_seconds()
    runpy.run_path(str(script), run_name="__main__")
    spent = cpu_seconds() - began
    frames, returns = (
        _column(folder, name) for name in ("counters_total_frames", "collection_reward_episode_reward_mean")
    )
    last = max(frames.values())
    return [(int(frames[row]), spent * frames[row] / last, value) for row, value in returns.items() if row in frames]


def sb3(flags: argparse.Namespace) -> Curve:
    """Stable-Baselines3's PPO with shared weights; a return is the mean of the last 100 episodes of single agents."""
    import supersuit
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import VecMonitor

    if flags.method != "ippo":
        raise SystemExit("default_settings: Stable-Baselines3 has no central critic: choose ippo")
    agents, module = AGENTS[flags.task], ENVIRONMENTS[flags.task].partition(":")[0]
    env = importlib.import_module(module).parallel_env(**ARGUMENTS[flags.task], continuous_actions=not flags.discrete)
    env = supersuit.pettingzoo_env_to_vec_env_v1(env)
    envs = VecMonitor(supersuit.concat_vec_envs_v1(env, 8, num_cpus=0, base_class="stable_baselines3"))
    curve: Curve = []
    began = cpu_seconds()

    class Watch(BaseCallback):
        """Note the returns after each rollout."""

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            returns = [episode["r"] for episode in self.model.ep_info_buffer]
            curve.append((self.num_timesteps // agents, cpu_seconds() - began, statistics.fmean(returns)))

    set_random_seed(flags.seed)  # of weights and actions; SuperSuit's environments cannot be seeded through PPO
    PPO("MlpPolicy", envs, device="cpu").learn(flags.env_steps * agents, callback=Watch())
    return curve


def table(flags: argparse.Namespace) -> str:
    """Markdown: returns at the end and CPU-seconds to the target, per library, method and env steps of a task."""
    from tune_experiments.results.intervals import interval_over_seeds

    lines = [
        f"| library | method | env steps | return of the last {LAST:.0%} | CPU-seconds | to {flags.target:g} |",
        "|---|---|---:|---:|---:|---:|",
    ]
    trials = [json.loads(path.read_text()) for path in sorted(flags.out.glob("*.json"))]
    own = [trial for trial in trials if (trial["task"], trial["discrete"]) == (flags.task, flags.discrete)]
    keys = [(trial["library"], trial["method"], trial["env_steps"]) for trial in own]
    for library, method, env_steps in sorted(set(keys)):
        curves = [trial["curve"] for trial, key in zip(own, keys, strict=True) if key == (library, method, env_steps)]
        ends = [[value for steps, _, value in curve if steps > (1 - LAST) * curve[-1][0]] for curve in curves]
        reached = [seconds for curve in curves if (seconds := _reached(curve, flags.target)) is not None]
        spent = ", ".join(f"{curve[-1][1]:.0f}" for curve in curves)
        to_target = ", ".join(f"{seconds:.0f}" for seconds in reached) + f" ({len(reached)} of {len(curves)})"
        returns = interval_over_seeds([statistics.fmean(end) for end in ends])
        lines.append(f"| {library} | {method} | {env_steps:,} | {returns.text()} | {spent} | {to_target} |")
    return "\n".join(lines)


def _reached(curve: Curve, target: float) -> float | None:
    """CPU-seconds at the first of two consecutive returns that reach a target."""
    pairs = itertools.pairwise(curve)
    return next((one[1] for one, other in pairs if min(one[2], other[2]) >= target), None)


def _column(folder: Path, name: str) -> dict[int, float]:
    """Iteration -> value, of one of BenchMARL's CSV files."""
    (path,) = folder.rglob(f"{name}.csv")
    with path.open() as rows:
        return {int(iteration): float(value) for iteration, value in csv.reader(rows)}


def _name(flags: argparse.Namespace) -> str:
    actions = "discrete" if flags.discrete else "continuous"
    return f"{flags.task}-{actions}-{flags.method}-{flags.env_steps}-seed{flags.seed}"


LIBRARIES = {"concord": concord, "benchmarl": benchmarl, "sb3": sb3}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one trial, or print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library", choices=(*LIBRARIES, "table"), help="Library that is trained, or table.")
    parser.add_argument("method", nargs="?", choices=("ippo", "mappo"), default="ippo", help="Method.")
    parser.add_argument("--task", choices=tuple(AGENTS), default="spread", help="Task.")
    parser.add_argument("--discrete", action="store_true", help="Discrete actions.")
    parser.add_argument("--seed", type=int, default=0, help="Seed.")
    parser.add_argument("--env-steps", type=int, default=300_000, help="Number of env steps of training.")
    parser.add_argument("--target", type=float, default=0.0, help="Return, for the CPU-seconds to it in the table.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the trials.")
    flags = parser.parse_args(arguments)
    flags.out = flags.out.resolve()
    if flags.library == "table":
        print(table(flags))
        return
    path = flags.out / f"{flags.library}-{_name(flags)}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        trial = {name: getattr(flags, name) for name in ("library", "method", "task", "discrete", "seed", "env_steps")}
        path.write_text(json.dumps(trial | {"curve": LIBRARIES[flags.library](flags)}) + "\n")


if __name__ == "__main__":
    main()
