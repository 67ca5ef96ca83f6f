"""Items of a queue, read from a TOML file such as `benchmarks/gpu_queue_small.toml`: training runs and plain commands.

    [[items]]
    name = "rates"
    command = "python -m benchmarks --only gpu --out {folder}/bench.jsonl"

A script of another package is package.module:NAME. `flags` holds more flags of a script. `methods` and `seeds`, lists,
stand for one item NAME_METHOD_SEED for each pair, seed by seed.
"""

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
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.training_config import StagedExperimentConfig

__all__ = ["CommandItem", "Gate", "Item", "ScriptItem", "Verdict", "read_queue"]

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
_Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
Verdict: TypeAlias = tuple[bool, int, str]
"""Whether the gate is passed, the env steps at which it was judged, and a phrase with the number."""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Gate:
    """Condition for going on, judged by the first row at `env_steps` or later that has the metric."""

    metric: str
    at_least: float
    env_steps: PositiveInt

    def verdict(self, rows: Sequence[Mapping[str, float]]) -> Verdict | None:
        """The verdict by the rows of a trial's log; None if no row decides yet."""
        for row in rows:
            if row["env_steps"] >= self.env_steps and self.metric in row:
                value, env_steps = row[self.metric], int(row["env_steps"])
                words, sign = ("passed", ">=") if value >= self.at_least else ("not passed", "<")
                phrase = f"gate {words}: {self.metric} {value:.4g} {sign} {self.at_least:g} at {env_steps} env steps"
                return value >= self.at_least, env_steps, phrase
        return None


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
    needs_gpu: ClassVar[bool] = False

    def words(self, folder: Path, seconds: float, device: DeviceChoice) -> list[str]:
        """The command that trains for `seconds` in a run folder."""
        own = self._own_flags(folder, seconds, device)
        return [sys.executable, "-m", "tune_experiments", self.script, *own, *shlex.split(self.flags)]

    def _own_flags(self, folder: Path, seconds: float, device: DeviceChoice) -> list[str]:
        """Flags set by the other keys and by the queue; a script with stages has its lengths in `flags`."""
        words = ["--preset", self.preset, "--methods", self.method, "--seeds", str(self.seed), "--local"]
        if not issubclass(find_experiment(self.script).config_class, StagedExperimentConfig):
            words += ["--budget-env-steps", str(self.budget_env_steps)]
        return [*words, "--out", str(folder), "--slice-seconds", f"{seconds:.1f}", "--device", device]

    def check(self) -> None:
        """Raise a UserError if the script would refuse the item."""
        try:
            experiment, own = find_experiment(self.script), self._own_flags(Path("run"), 1.0, "auto")
            flags = [*own, *shlex.split(self.flags)]
            given = parse(experiment.presets, flags, experiment.caption, experiment.seeds)
            # The last of two equal flags counts.
            if given != parse(experiment.presets, [*flags, *own], experiment.caption, experiment.seeds):
                reserved = ", ".join(word for word in own if word.startswith("--"))
                raise UserError(f"flags must leave {reserved} to the queue and its other keys: take them out")
            plan, shown = experiment.plan(given[0], self.method, self.seed, None), experiment.columns.values()
            # A supervised stage may come before the one that --budget-env-steps is about.
            if self.budget_env_steps not in (plan.budget_env_steps, plan.stages[-1].plan.budget_env_steps):
                raise UserError(f"its flags train {plan.budget_env_steps} env steps, not {self.budget_env_steps}")
            if (gate := self.gate) is not None and gate.metric not in shown:
                raise UserError(f"gate.metric must be one of {', '.join(shown)}, not {gate.metric!r}")
            if gate is not None and gate.env_steps > self.budget_env_steps:
                raise UserError(f"gate.env_steps {gate.env_steps} is more than budget_env_steps: lower it")
        except (UserError, InputError, ValueError) as error:
            raise UserError(f"item {self.name}: {error}") from error


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class CommandItem:
    """Plain command, which one call must finish; `{folder}` stands for the item's folder."""

    name: _Name
    command: Annotated[str, StringConstraints(min_length=1)]
    needs_gpu: bool = False  # whether it is left for a call with a GPU
    gate: ClassVar[None] = None
    budget_env_steps: ClassVar[int] = 1

    def words(self, folder: Path, seconds: float, device: DeviceChoice) -> list[str]:
        """The command, which may begin with variables; `python` becomes this interpreter, and `cpu` hides all GPUs."""
        words = [word.replace("{folder}", str(folder)) for word in shlex.split(self.command)]
        hiding = ["CUDA_VISIBLE_DEVICES="] if device == "cpu" else []
        return ["env", *hiding, *(sys.executable if word == "python" else word for word in words)]

    def check(self) -> None:
        """Accept every command: its faults are seen when it runs."""


Item: TypeAlias = ScriptItem | CommandItem


def read_queue(path: Path) -> list[Item]:
    """Items of a queue file, in order.

    Raises UserError for a missing file, one that is not TOML, a wrong or missing key, or a name that occurs twice.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"--queue {path} cannot be read ({error.strerror}): name a file") from error
    except ValueError as error:  # of TOML, or of UTF-8
        raise UserError(f"--queue {path} is not TOML ({error}): correct it there") from error
    tables = document.get("items")
    if set(document) != {"items"} or not isinstance(tables, list) or not tables:
        raise UserError(f"--queue {path} must have [[items]] and nothing else, not {', '.join(document) or 'nothing'}")
    numbered = [(one, f"{path}: item {number}") for number, table in enumerate(tables, 1) for one in _single(table)]
    items = [_item(table, where) for table, where in numbered]
    names = [item.name for item in items]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{path} has two items with name {twice[0]!r}: rename one")
    return items


def _single(table: Any) -> list[Any]:
    """A table for each seed and method of one with lists of both, and without their singular; others as they are."""
    if not isinstance(table, dict) or not all(
        isinstance(table.get(f"{key}s"), list) and table[f"{key}s"] and key not in table for key in ("method", "seed")
    ):
        return [table]
    rest = {key: value for key, value in table.items() if key not in ("methods", "seeds")}
    found = [rest | {"method": method, "seed": seed} for seed in table["seeds"] for method in table["methods"]]
    return [one | {"name": f"{one['name']}_{one['method']}_{one['seed']}"} if "name" in one else one for one in found]


def _item(table: Any, where: str) -> Item:
    if not isinstance(table, dict):
        raise UserError(f"{where} must be a table [[items]], not {table!r}")
    kind: Any = CommandItem if "command" in table else ScriptItem
    where = f"{where} ({table['name']})" if "name" in table else where
    try:
        item: Item = TypeAdapter(kind).validate_python(table)
        shlex.split(item.command if isinstance(item, CommandItem) else item.flags)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        keys = ", ".join(field.name for field in fields(kind)) + ", or lists methods and seeds" * (kind is ScriptItem)
        raise UserError(f"{where}: {'; '.join(faults)}; the keys are {keys}") from error
    except ValueError as error:
        raise UserError(f"{where}: flags or command cannot be split ({error}): correct the quotes") from error
    return item
