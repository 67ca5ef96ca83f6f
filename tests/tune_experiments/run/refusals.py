"""Commands that must fail with one sentence, and checkpoints of a team that learned nothing."""

import re

import pytest

from rl_models.errors import InputError
from rl_models.training.checkpoint import save_checkpoint
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.furnmove_sync import EXPERIMENT
from tune_experiments.run.run_folder import WRITTEN_BY

SMOKE = EXPERIMENT.presets["smoke"]
DEAD = "127.0.0.1:1"
"""A cluster that is not there: a case that wrongly goes on stops here instead of training."""
_CURES = (
    "must give write name use choose correct lower raise add leave restore delete put repeat see wait end install run "
    "train open read copy fetch set let close make start check continue continues vary needs takes try"
)
_CURE = re.compile(rf"\b({_CURES.replace(' ', '|')})\b|there (are|is)|\bone of\b|did you mean", re.IGNORECASE)


def assert_contract(sentence, *named):
    """One sentence without a traceback, which names each of `named` and says how to fix it."""
    assert sentence and "\n" not in sentence and "Traceback" not in sentence
    assert not re.search(r"[a-z)'\"][.!?] [A-Z]", sentence), f"more than one sentence: {sentence}"
    assert [str(name) for name in named if str(name) not in sentence] == [], sentence
    assert _CURE.search(sentence), f"no cure: {sentence}"


def refusal(call):
    """The sentence with which a call refuses its input."""
    with pytest.raises((UserError, InputError)) as raised:
        call()
    return str(raised.value)


def checked(code, stderr):
    assert code == 2, f"exit code {code}, {stderr}"
    assert stderr.startswith("error: "), stderr
    assert stderr.count("\n") == 1, f"more than one line: {stderr}"
    assert stderr.endswith("\n")
    assert "Traceback" not in stderr
    return stderr.removeprefix("error: ").rstrip()


def save(folder, weights=None, **changes):
    policy = EXPERIMENT.plan(SMOKE, "marginal", 0).build_policy()
    state = {
        "written_by": WRITTEN_BY,
        "experiment": EXPERIMENT.name,
        "config": config_to_json(SMOKE),
        "method": "marginal",
        "seed": 0,
        "progress": {"env_steps": 0, "episodes": 0, "updates": 0},
        "validated_at": 0,
    }
    return save_checkpoint(folder, 0, {"weights": weights or policy.state_dict()}, state | changes)
