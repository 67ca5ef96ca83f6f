"""Rules of the command line and of configurations as JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pytest

from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse


@dataclass(frozen=True)
class Learner:
    learning_rate: float = 1e-3
    """Step of the optimiser."""
    form: Literal["code", "paper"] = "code"
    loss_weights: dict[str, float] = field(default_factory=lambda: {"cordial": 1.0})
    gradient_clip: float | None = None
    widths: tuple[int, ...] = (64, 64)
    betas: tuple[float, float] = (0.9, 0.999)
    shared: bool = True


@dataclass(frozen=True)
class Config:
    learner: Learner = Learner()
    world: str = "furnmove-v0"
    budget_env_steps: int = 1000
    limit: int | float | str | None = None


PRESETS = {"smoke": Config(budget_env_steps=10), "laptop": Config(), "paper": Config(learner=Learner(form="paper"))}


def read(line: str):
    return parse(PRESETS, line.split(), "A test.")


def test_laptop_is_the_default_and_presets_set_defaults_that_flags_override():
    assert read("")[0] == PRESETS["laptop"]
    config, options = read("--world x --preset smoke")
    assert config == replace(PRESETS["smoke"], world="x")
    assert (options.preset, options.out, options.seeds) == ("smoke", None, (0,))


def test_every_field_is_a_flag_by_its_dotted_path_with_dashes_or_underscores():
    config, options = read(
        "--learner.learning-rate 0.5 --learner.loss_weights.cordial 2 --learner.gradient_clip 3 --learner.no-shared "
        "--learner.widths 1 2 3 --learner.betas 0 1 --limit None --out runs/a --seeds 0 1 2"
    )
    assert config.learner == Learner(0.5, "code", {"cordial": 2.0}, 3.0, (1, 2, 3), (0.0, 1.0), False)
    assert (options.out, options.seeds) == (Path("runs/a"), (0, 1, 2))


@pytest.mark.processes
def test_a_reader_who_has_seen_enough_ends_a_command_without_a_traceback():
    script = (
        "import sys\n"
        "from tune_experiments.core.errors import exits_with_one_sentence as wrap\n"
        "from tune_experiments.core.terminal import Terminal\n"
        "sys.exit(wrap(lambda: [Terminal().print('a line of help') for _ in range(10_000)] and None)())"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None and command.stderr is not None
        assert command.stdout.readline() == b"a line of help\n"
        command.stdout.close()
        assert command.stderr.read() == b""
    assert command.returncode == 141


@dataclass(frozen=True)
class Odd:
    clip: float = 1.0
    pair: tuple[float, str] = (1.0, "inf")
    out: Path | None = None
    count: int | None = None


@pytest.mark.parametrize(
    "config",
    [
        *PRESETS.values(),
        *(Config(limit=limit) for limit in (3, 3.0, "3")),
        Config(Learner(1e-17, "paper", {}, math.inf, (), (1.0, 0.1 + 0.2), False)),
        Odd(math.inf),
        Odd(-math.inf, (math.inf, "nan"), Path("a/b")),
        Odd(1e308, count=10**30),
        Odd(5e-324),
    ],
)
def test_a_config_survives_json_exactly_with_its_types(config):
    back = config_from_json(type(config), json.loads(json.dumps(config_to_json(config), allow_nan=False)))
    assert back == config
    assert repr(back) == repr(config), "3 and 3.0, lists and tuples are told apart"


DEEP = json.loads("[" * 400 + "]" * 400)
WRONG = {
    "budget_env_steps": ("many", "1", True, 1.0, DEEP),
    "limit": (["a"], {"a": 1}),
    "learner": (5, None),
    "learner.learning_rate": ("1.5", True, None, 10**400, DEEP, {"a": 1}),
    "learner.form": ("both", 1),
    "learner.gradient_clip": ("no", True),
    "learner.betas": ([], [1], [1.0, 2.0, 3.0], [True, 1.0], ["1", 1.0], [10**400, 1.0], "ab", DEEP),
    "learner.widths": ([1, True], [1, "a"], 1),
    "learner.loss_weights": ({"a": "b"}, [], DEEP),
    "learner.extra": (1,),
}


@pytest.mark.parametrize(("path", "value"), [(path, one) for path, several in WRONG.items() for one in several])
def test_wrong_json_is_one_short_sentence_that_names_the_field(path, value):
    data = config_to_json(Config())
    *groups, name = path.split(".")
    (data[groups[0]] if groups else data)[name] = value
    with pytest.raises(UserError) as raised:
        config_from_json(Config, data, "config.json")
    said = str(raised.value)
    assert said.startswith(f"config.json.{path}") and "\n" not in said and len(said) < 400


def test_a_missing_field_is_named():
    data = config_to_json(Config())
    del data["world"]
    with pytest.raises(UserError, match=r"config\.world"):
        config_from_json(Config, data)
    assert config_from_json(Config, data, has_all=False) == Config()
