"""Every environment of `odd.py`, a module of small odd environments that is not of this repository, is played.

    PYTHONPATH=FOLDER python -m pytest tests/rl_envs/wrappers/test_cases.py

Each is refused in a sentence that names what is wrong, or its random play earns what the rules say.
"""

import inspect
import logging
import subprocess
import sys

import numpy as np
import pytest

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.random_play import random_legal_actions
from rl_envs.wrappers import from_pettingzoo
from tests.patience import PATIENCE_SECONDS

odd = pytest.importorskip("odd", reason="the module odd.py is not on PYTHONPATH", exc_type=ImportError)
NAMES = [name for name, one in vars(odd).items() if inspect.isfunction(one) and one.__module__ == "odd"]
REFUSED = {
    "nan_obs": ["'a'", "'observation'", "env step 3", "nan"],
    "nan_obs64": ["'a'", "'observation'", "env step 3", "nan"],
    "nan_once": ["'observation'", "env step", "nan"],
    "none_reward": ["'a'", "reward", "env step 1", "None"],
    "short_obs": ["'a'", "'observation'", "reset", "(4,)", "(8,)"],
    "old_reset": ["reset", "infos"],
    "no_seed": ["reset", "seed"],
    "four_tuple": ["step", "4", "truncations"],
    "joins": ["'b'", "env step 3"],
    "raises": ["ValueError: physics diverged", "odd.py, line"],
    "mask_zero_waits": ["mask", "'b'", "reset"],
    "sequence": ["'a'", "Sequence"],
    "oneof": ["'a'", "OneOf"],
}
CHANCE = {name: 5.0 for name in NAMES} | {"many": 300.0, "one_action": 5.0, "leaves": 3.5, "odd_keys": 5.0}


def episodes(make_env, worlds=4, count=160, env_steps=4000):
    """Returns of some episodes of random legal play, sums over the agents."""
    world = from_pettingzoo(make_env, worlds)
    try:
        seen, draws, returns = world.reset(0), np.random.default_rng(0), []
        for _ in range(env_steps):
            seen, *_, info = world.step(random_legal_actions(world, seen, draws))
            if "episode" in info:
                returns += info["episode"]["return"].sum(-1).tolist()
            if len(returns) >= count:
                return returns
        return returns
    finally:
        world.close()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_an_odd_environment_is_refused_in_a_sentence_or_earns_what_chance_earns(name, caplog):
    make_env = getattr(odd, name)
    if name in REFUSED:
        with pytest.raises(CustomEnvError) as error:
            episodes(make_env)
        said = str(error.value)
        assert "\n" not in said
        assert [word for word in REFUSED[name] if word not in said] == []
        return
    with caplog.at_level(logging.WARNING):
        returns = episodes(make_env, count=20 if name in ("huge", "many") else 160, env_steps=1100)
    assert returns
    cut = [record for record in caplog.records if "1000" in record.getMessage()]
    assert len(cut) == (name == "endless"), "an assumed limit that cuts an episode is said once"
    if name != "endless":
        assert abs(np.mean(returns) - CHANCE[name]) < max(1.0, 0.15 * CHANCE[name])


def test_environments_are_closed_also_where_a_copy_cannot_be_built():
    odd.Counted.made = odd.Counted.closed = 0
    from_pettingzoo(odd.counted, 3).close()
    assert odd.Counted.made == odd.Counted.closed > 0
    with pytest.raises(CustomEnvError, match=r"copy .* of 100.*address already in use"):
        from_pettingzoo(odd.limited, 100)


def test_a_picture_that_is_none_is_one_sentence():
    for name in ("render_raises", "render_none"):
        world = from_pettingzoo(lambda name=name: getattr(odd, name)(render_mode="rgb_array"))
        world.reset(0)
        with pytest.raises(CustomEnvError, match="render"):
            world.render()


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize("name", [name for name in REFUSED if name not in ("raises", "nan_once")])
def test_the_script_refuses_it_before_training(name, tmp_path):
    """Exit code 2, one line on standard error, and no run folder that would refuse the mended command."""
    out = tmp_path / "run"
    leaves = ["--agents-leave"] if name == "joins" else []  # without, an agent that is not there yet has left
    flags = ["--env", f"odd:{name}", "--preset", "smoke", "--out", str(out), *leaves]
    command = [sys.executable, "-m", "tune_experiments.train", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert ended.returncode == 2, ended.stderr
    assert [word for word in REFUSED[name] if word not in ended.stderr] == []
    assert "Traceback" not in ended.stderr
    assert not out.exists()
