"""Every environment with every network and method: `concord train --preset smoke` ends with a row, or says why not."""

import dataclasses
import typing

import pytest

from rl_envs import WORLDS
from rl_models.networks.network_config import NetworkName
from tune_experiments.core.errors import UserError
from tune_experiments.train import EXPERIMENT, SMOKE, train

OTHERS = (
    "mpe2.simple_spread_v3",
    "mpe2.simple_speaker_listener_v4",
    "pettingzoo.classic.tictactoe_v3",
    "pettingzoo.classic.rps_v2",
    "gymnasium:CartPole-v1",
    "examples.rescue:parallel_env",
    "examples.signposts:parallel_env",
    "examples.errands:parallel_env",
)
METHODS = ("ippo", "mappo", "commnet", "tbone", "sync_2", "sync_2_cordial", "endi_dis", "qmix", "vdn")
TINY = {"budget_env_steps": 200, "validate_every_env_steps": 200, "valid_episodes": 2, "test_episodes": 2}
LACKING = ("entities", "text", "images", "sentences", "memory", "team", "coordination", "choose", "parts", "nothing")


def settings(env):
    return {"max_sentences": 4} if env == "examples.signposts:parallel_env" else {}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("network", typing.get_args(NetworkName))
@pytest.mark.parametrize("env", [*WORLDS, *OTHERS])
def test_a_combination_trains_or_says_in_one_sentence_what_it_lacks(env, network, tmp_path):
    config = dataclasses.replace(
        SMOKE, env=env, network=dataclasses.replace(SMOKE.network, name=network), **settings(env)
    )
    playable = []
    for method in METHODS:
        try:
            settled = EXPERIMENT.inspect(dataclasses.replace(config, methods=(method,)), lambda said: None)
            EXPERIMENT.check(settled)
            playable.append(method)
        except (UserError, ValueError) as error:
            said = str(error)
            assert "\n" not in said and any(word in said for word in LACKING), said
            assert method in said or network in said or env in said, said
    if playable:
        more = {**TINY, **settings(env)}
        run = train(
            env=env, network=network, methods=playable, preset="smoke", out=tmp_path / "run", local=True, **more
        )
        assert {row.method for row in run.results} == {*playable, "random"}
