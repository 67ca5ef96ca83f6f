"""What the page of the stable API lists is there."""

import dataclasses
import pkgutil
import re
from pathlib import Path

import tune_experiments
from tune_experiments import __main__ as console
from tune_experiments.core.config_path import leaves
from tune_experiments.experiment.command_line import RunOptions
from tune_experiments.furnmove_sync import EXPERIMENT as FURNMOVE
from tune_experiments.verco_salad import EXPERIMENT as VERCO

TEXT = (Path(__file__).parents[1] / "docs" / "stable_api.md").read_text()
SPANS = re.findall(r"`([^`]+)`", TEXT)


def test_every_listed_name_can_be_imported():
    names = [span for span in SPANS if re.fullmatch(r"(rl_envs|rl_models|tune_experiments)(\.\w+)+", span)]
    assert len(names) > 10
    for name in [*names, *(f"tune_experiments.{name}" for name in tune_experiments.__all__)]:
        pkgutil.resolve_name(name)


def test_every_listed_command_is_one():
    listed = {span.removeprefix("concord ") for span in SPANS if span.startswith("concord ")}
    assert listed == set(console.WORDS)


def test_every_listed_flag_is_taken():
    flags = [span for span in SPANS if span.startswith("--")]
    fields = {path.replace("_", "-") for one in (FURNMOVE, VERCO) for path, _ in leaves(one.presets["smoke"])}
    fields |= {field.name.replace("_", "-") for field in dataclasses.fields(RunOptions)} | {"config"}
    for flag in flags:
        name = flag.removeprefix("--").removesuffix("*")
        assert any(one.startswith(name) if name.endswith(".") else one == name for one in fields), flag
