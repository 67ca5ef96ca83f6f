"""Every environment with every network and method: `concord train --preset smoke` ends with a row, or says why not."""

import dataclasses
import typing

import pytest

from rl_envs import WORLDS
from rl_models.networks.network_config import NetworkName
from tests.tune_experiments.run.in_process import no_pictures
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.train import EXPERIMENT, SMOKE

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
TINY = {
    "budget_env_steps": 96,
    "validate_every_env_steps": 96,
    "valid_episodes": 2,
    "test_episodes": 2,
    "workers.worlds_per_runner": 4,
    "workers.fragment_length": 12,
}
SHORT_EPISODES = {"max_episode_steps": 12}


def settings(env):
    """Fields of the configuration."""
    sentences = {"max_sentences": 4} if env == "examples.signposts:parallel_env" else {}
    return sentences | ({} if env in ("matrix_game-v0", "two_step_game-v0") else SHORT_EPISODES)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("network", typing.get_args(NetworkName))
@pytest.mark.parametrize("env", [*WORLDS, *OTHERS])
def test_a_combination_trains_or_says_in_one_sentence_what_it_lacks(env, network, tmp_path):
    network_config = dataclasses.replace(SMOKE.network, name=network)
    config = dataclasses.replace(SMOKE, env=env, network=network_config, **settings(env))
    playable = []
    for method in METHODS:
        try:
            settled = EXPERIMENT.inspect(dataclasses.replace(config, methods=(method,)), lambda said: None)
            EXPERIMENT.check(settled)
            playable.append(method)
        except (UserError, ValueError) as error:
            said = str(error)
            assert "\n" not in said and any(name in said for name in (method, network, env)), said
    if playable:
        tiny = with_overrides(dataclasses.replace(config, methods=tuple(playable)), TINY)
        with no_pictures():
            run = EXPERIMENT.run(config=tiny, out=tmp_path / "run", local=True)
        assert {row.method for row in run.results} == {*playable, "random"}
