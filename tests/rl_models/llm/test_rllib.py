"""A language team under RLlib's PPO: adapters and heads travel between processes, the base never does."""

import functools

import pytest
import torch

from rl_models.algorithms.ppo import Ppo
from rl_models.llm.llm_config import LanguageModelSettings, LoraSettings
from rl_models.llm.model_cache import small_model
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.rllib.workers import Workers
from tests.rl_models.llm.small import SMALL, Hints, corpus, team
from tests.rl_models.rllib.small import Plan

pytestmark = pytest.mark.usefixtures("ray_session")


def make_world(num_worlds, first_world):
    return Hints(num_worlds, first_world)


def build(folder):
    torch.set_num_threads(1)
    return team(language=LanguageModelSettings(model=folder, lora=LoraSettings(rank=4)))


def get_weights(runner):
    return {name: value.numpy() for name, value in runner.module.policy.state_dict().items()}


def sent_to(runner):
    return set(runner.module.get_state())


def test_adapters_and_heads_are_what_is_trained_and_sent():
    folder = str(small_model(corpus, SMALL))
    workers = Workers(runners=1, worlds_per_runner=4, fragment_length=6)
    objective = Ppo(num_epochs=1, num_minibatches=1, joint_ratio=False)
    one = TeamAlgorithm(Plan(objective, workers, make_world, functools.partial(build, folder)))
    try:
        errors = [one.train()["policy/ratio_error"] for _ in range(2)]
        assert max(errors) < 1e-5
        tensors, progress = one.checkpoint()
        assert progress.env_steps == 48
        names = set(tensors["weights"])
        assert {name.split(".")[2] for name in names if name.startswith("network.")} == {"message", "action"}
        group = one.algorithm.env_runner_group
        (sent,) = group.foreach_env_runner(sent_to, local_env_runner=False)
        assert sent == {f"policy.{name}" for name in names}
        (there,) = group.foreach_env_runner(get_weights, local_env_runner=False)
        fresh = build(folder).state_dict()
        for name, value in tensors["weights"].items():
            assert torch.equal(torch.from_numpy(there[name]), value), name
            is_new = ".action." in name or name.startswith("value_head.")
            assert torch.equal(value, fresh[name]) != is_new, name
    finally:
        one.close()
