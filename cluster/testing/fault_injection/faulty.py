"""FurnMove's smoke run with a fault inside a process.

    python -m cluster.testing.fault_injection.faulty world_raises|world_hangs|nan_gradient FOLDER

Joins the cluster in RAY_ADDRESS and trains one trial in FOLDER, with one remote env runner.
"""

import dataclasses
import functools
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from rl_models.rllib.workers import Workers
from tune_experiments import furnmove_sync
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.run.trial import Trial

METHOD = "sync_13_cordial"
CONFIG = dataclasses.replace(
    furnmove_sync.EXPERIMENT.presets["smoke"],
    budget_env_steps=3_200,
    checkpoint_every_env_steps=640,
    validate_every_env_steps=3_200,
    test_starts_per_room=1,
)
AT_STEP = 60
AT_UPDATE = 47
"""The last of the eight updates of an iteration; the log shows only the last one."""
BUILT_IN_FAULTS = ("world_raises", "world_hangs", "nan_gradient")


class FaultyWorld:
    """A world that fails once: at step `AT_STEP`, if its folder has no mark, it writes the mark and fails."""

    def __init__(self, world: Any, fault: str, folder: Path) -> None:
        self._world, self._fault, self._mark, self._steps = world, fault, folder / "fault_happened", 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def step(self, *arguments: Any, **named: Any) -> Any:
        """Step the world; raise or hang at step `AT_STEP`."""
        self._steps += 1
        if self._steps == AT_STEP and not self._mark.exists():
            self._mark.touch()
            if self._fault == "world_raises":
                raise ArithmeticError("injected fault: this world raises once")
            time.sleep(10_000)
        return self._world.step(*arguments, **named)


class NanOnce:
    """An extra loss whose gradient is not a number in one update."""

    def __call__(self, output: Any, batch: Any, progress: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Zero, except NaN at update `AT_UPDATE`."""
        factor = float("nan") if progress.updates == AT_UPDATE else 0.0
        return output.values.sum() * factor, {}


def make_world(plan: TrialPlan, fault: str, folder: Path, num_worlds: int, first_world: int) -> FaultyWorld:
    """The world of the plan, with the fault inside."""
    return FaultyWorld(plan.make_world(num_worlds=num_worlds, first_world=first_world), fault, folder)


class FaultyFurnmove(furnmove_sync.FurnmoveSync):
    """FurnMove with a fault; its checkpoints are FurnMove's."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self._fault = fault

    @property
    def entry_point(self) -> str:
        """Entry point of the experiment without a fault."""
        return furnmove_sync.EXPERIMENT.entry_point

    def plan(self, config: Any, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan:
        """FurnMove's plan with the fault in it."""
        assert trial_folder is not None
        plan = super().plan(config, method, seed, trial_folder)
        plan = dataclasses.replace(plan, workers=Workers(runners=1, worlds_per_runner=16, fragment_length=10))
        if self._fault == "nan_gradient":
            objective: Any = plan.objective  # a dataclass, as all of ours
            losses = (*objective.extra_losses, NanOnce())
            return dataclasses.replace(plan, objective=dataclasses.replace(objective, extra_losses=losses))
        return dataclasses.replace(plan, make_world=functools.partial(make_world, plan, self._fault, trial_folder))


def main(fault: str, folder: Path) -> None:
    """Train one trial to its end in the folder, and print the env steps of each row."""
    import ray

    def report(row: Mapping[str, Any]) -> None:
        if "env_steps" in row:
            print(int(row["env_steps"]))

    ray.init(log_to_driver=False, logging_level="ERROR")
    Trial(FaultyFurnmove(fault), CONFIG, METHOD, 0, folder, is_tested=False).run(report)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in BUILT_IN_FAULTS:
        sys.exit(f"write python -m cluster.testing.fault_injection.faulty {'|'.join(BUILT_IN_FAULTS)} FOLDER")
    main(sys.argv[1], Path(sys.argv[2]))
