"""Items of a queue, read from a TOML file: trainings of one method with one seed, and plain commands.

    [[items]]
    name = "txt2pi_seed_0"
    script = "rtfm_txt2pi"                  # of tune_experiments, or package.module:NAME
    preset = "paper"
    method = "txt2pi"
    seed = 0
    flags = "--valid-episodes 400"          # more flags of the script
    budget_env_steps = 100_000_000
    gate = { metric = "valid/win_rate", at_least = 0.42, env_steps = 10_000_000 }

    [[items]]
    name = "rates"
    command = "python -m benchmarks --only gpu --out {folder}/bench.jsonl"

A gate is judged by the first row of the trial's log at so many env steps or more that has the metric.
"""

from __future__ import annotations

import functools
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import ConfigDict, PositiveInt, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from rl_models.errors import InputError
from rl_models.runtime.device import DeviceChoice
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.experiment.training_config import StagedExperimentConfig

__all__ = ["CommandItem", "Gate", "Item", "ScriptItem", "check_item", "gate_verdict", "read_queue"]

_STRICT = ConfigDict(extra="forbid")
_Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$")]
_Text: TypeAlias = Annotated[str, StringConstraints(min_length=1)]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Gate:
    """Condition for going on with a training.

    Attributes:
        metric: key of the trial's log, one of those that the script's live line shows.
        at_least: threshold.
        env_steps: when it is judged.
    """

    metric: str
    at_least: float
    env_steps: PositiveInt


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class ScriptItem:
    """Training of one method with one seed, in slices, without Ray."""

    name: _Name
    script: str
    preset: str
    method: str
    seed: int = 0
    flags: str = ""
    budget_env_steps: PositiveInt
    gate: Gate | None = None

    @functools.cached_property
    def flags_of_script(self) -> list[str]:
        """Flags that tell the script what to train; a script with stages takes their lengths from `flags` alone."""
        words = ["--preset", self.preset, "--methods", self.method, "--seeds", str(self.seed), "--local"]
        if not issubclass(find_experiment(self.script).config_class, StagedExperimentConfig):
            words += ["--budget-env-steps", str(self.budget_env_steps)]
        return words + shlex.split(self.flags)

    def words(self, folder: Path, seconds: float, device: DeviceChoice) -> list[str]:
        """Command of a slice.

        Args:
            folder: of the run.
            seconds: length of the slice.
            device: where networks run.
        """
        limits = ["--out", str(folder), "--slice-seconds", f"{seconds:.1f}", "--device", device]
        return [sys.executable, "-m", "tune_experiments", self.script, *self.flags_of_script, *limits]

    @functools.cached_property
    def plan(self) -> TrialPlan | Curriculum:
        """Plan of the trial.

        Raises:
            UserError: the script does not take the item.
        """
        experiment = find_experiment(self.script)
        config, _ = parse(experiment.presets, self.flags_of_script, experiment.caption, experiment.seeds)
        plan = experiment.plan(config, self.method, self.seed, None)
        if plan.budget_env_steps != self.budget_env_steps:
            raise UserError(f"its flags train {plan.budget_env_steps} env steps, not {self.budget_env_steps}")
        if self.gate is not None and self.gate.metric not in (shown := experiment.columns.values()):
            raise UserError(f"gate.metric must be one of {', '.join(shown)}, not {self.gate.metric!r}")
        if self.gate is not None and self.gate.env_steps > self.budget_env_steps:
            raise UserError(f"gate.env_steps {self.gate.env_steps} is more than budget_env_steps: lower it")
        return plan


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class CommandItem:
    """Plain command, which one call must finish; its folder stands for `{folder}`."""

    name: _Name
    command: _Text
    gate: ClassVar[None] = None
    budget_env_steps: ClassVar[int] = 1
    """A command has one step."""

    def words(self, folder: Path, seconds: float, device: DeviceChoice) -> list[str]:
        """The command, which may begin with variables, with this interpreter in place of `python`."""
        words = [word.replace("{folder}", str(folder)) for word in shlex.split(self.command)]
        return ["env", *(sys.executable if word == "python" else word for word in words)]


Item: TypeAlias = ScriptItem | CommandItem


def read_queue(path: Path) -> list[Item]:
    """Items of a queue, in order; that a script takes its item is not checked yet (`ScriptItem.plan`).

    Raises:
        UserError: no such file, no TOML, an unknown, missing or wrong key, or a name that occurs twice.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--queue {path} cannot be read ({getattr(error, 'strerror', error)}): name a file") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"--queue {path} is not TOML ({error}): correct it there") from error
    tables = document.get("items")
    if set(document) != {"items"} or not isinstance(tables, list) or not tables:
        raise UserError(f"--queue {path} must have [[items]] and nothing else, not {', '.join(document) or 'nothing'}")
    items = [_item(table, f"{path}: item {number}") for number, table in enumerate(tables, 1)]
    names = [item.name for item in items]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{path} has two items with name {twice[0]!r}: rename one")
    return items


def _item(table: Any, where: str) -> Item:
    if not isinstance(table, dict):
        raise UserError(f"{where} must be a table [[items]], not {table!r}")
    kind: Any = CommandItem if "command" in table else ScriptItem
    where = f"{where} ({table['name']})" if "name" in table else where
    try:
        item: Item = TypeAdapter(kind).validate_python(table)
        shlex.split(item.command if isinstance(item, CommandItem) else item.flags)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg'].lower()}" for one in error.errors()]
        keys = ", ".join(field.name for field in fields(kind))
        raise UserError(f"{where}: {'; '.join(faults)}; the keys are {keys}") from error
    except ValueError as error:
        raise UserError(f"{where}: flags or command cannot be split ({error}): correct the quotes") from error
    return item


def check_item(item: Item) -> None:
    """Refuse what the script of an item refuses.

    Raises:
        UserError: why, with the item's name.
    """
    if isinstance(item, ScriptItem):
        try:
            _ = item.plan
        except (UserError, InputError, ValueError) as error:
            raise UserError(f"item {item.name}: {error}") from error


def gate_verdict(gate: Gate | None, rows: Sequence[Mapping[str, float]]) -> tuple[bool, int, str] | None:
    """Whether a gate is passed, at how many env steps, and a phrase with the number; None as long as it is not judged.

    Args:
        gate: of the item.
        rows: of the trial's log.
    """
    found = (row for row in rows if gate and row["env_steps"] >= gate.env_steps and gate.metric in row)
    if gate is None or (row := next(found, None)) is None:
        return None
    value, env_steps = row[gate.metric], int(row["env_steps"])
    is_passed = value >= gate.at_least
    words, sign = ("gate passed", ">=") if is_passed else ("gate not passed", "<")
    return is_passed, env_steps, f"{words}: {gate.metric} {value:.4g} {sign} {gate.at_least:g} at {env_steps} env steps"
