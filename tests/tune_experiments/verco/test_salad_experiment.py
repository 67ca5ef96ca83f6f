"""The experiment in the salad kitchen: what each stage teaches, who hears what, what is told and what is refused."""

import dataclasses
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
import torch

from rl_envs.salad import render
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.teacher import messages
from rl_models.llm.llm_config import Normalisation
from rl_models.llm.messages import to_message
from rl_models.runtime.added_observations import MESSAGES
from rl_models.training.loop import Learner
from tests.tune_experiments.fragments import play
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.verco.config import make_world
from tune_experiments.verco.evaluation import ABLATIONS, DEAF, HEARING, evaluate, hearing, play_team, writes
from tune_experiments.verco.replay import replay
from tune_experiments.verco.supervised_stages import message_pairs, message_pairs_of_policy
from tune_experiments.verco.teams import get_writer, make_taught_world
from tune_experiments.verco.trials import plan

EXPERIMENT = find_experiment("verco_salad")
SMOKE, PAPER = (EXPERIMENT.presets[name] for name in ("smoke", "paper"))


def cooking(method, config=SMOKE):
    """The plan of a row's last stage."""
    found = plan(config, method, 0)
    return found.stages[-1].plan if hasattr(found, "stages") else found


def changed_by(train, weights):
    before = {name: value.clone() for name, value in weights().items()}
    train()
    return {name for name, value in weights().items() if not torch.equal(value, before[name])}


@pytest.mark.long
def test_the_warm_start_changes_the_message_adapter_alone_can_be_repeated_and_continues_with_its_weights():
    stage = plan(dataclasses.replace(SMOKE, rounds=2), "verco", 0).stages[0].plan
    one, again = stage.make_algorithm(stage), stage.make_algorithm(stage)
    told = []
    changed = changed_by(lambda: told.append(one.train()), one.policy().state_dict)
    assert changed and all(name.startswith("network.language.message.") for name in changed)
    assert told[0]["distillation/pairs"] > 0 and 0 <= told[0]["distillation/exact_match"] <= 1
    assert np.isfinite(told[0]["distillation/held_out_loss"])
    again.restore(*one.checkpoint())
    one.train(), again.train()
    assert one.progress() == again.progress() and one.progress().env_steps == stage.budget_env_steps
    tensors, progress = one.checkpoint()
    torch.testing.assert_close(again.checkpoint()[0]["weights"], tensors["weights"], atol=0, rtol=0)
    tensors["weights"] = {name: value + 1 for name, value in tensors["weights"].items()}  # taught by another teacher
    again.restore(tensors, progress)
    torch.testing.assert_close(again.checkpoint()[0]["weights"], tensors["weights"], atol=0, rtol=0)


@pytest.mark.long
def test_the_warm_start_can_be_about_the_teams_own_play_before_it_learns_to_act():
    config = dataclasses.replace(SMOKE, rounds=2, warm_start_by="policy")
    stage = plan(config, "verco", 0).stages[0].plan
    one, told = stage.make_algorithm(stage), []
    changed = changed_by(lambda: told.extend([one.train(), one.train()]), one.policy().state_dict)
    assert changed and all(name.startswith("network.language.message.") for name in changed)
    assert told[1]["distillation/pairs"] > told[0]["distillation/pairs"] > 0


@pytest.mark.long
def test_the_team_plays_the_warm_start_that_is_about_its_play():
    warm_start = dataclasses.replace(SMOKE.warm_start, env_steps=24)
    config = dataclasses.replace(SMOKE, task="lettuce_tomato_a", warm_start=warm_start)
    policy = cooking("verco", config).build_policy()
    own = message_pairs_of_policy(config, policy, 0, 0)
    assert set(own) != set(message_pairs(config, 0, 0)) and own == message_pairs_of_policy(config, policy, 0, 0)
    chance = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in policy.network.language.action.values():
            weight.add_(20 * torch.randn(weight.shape, generator=chance))
    assert own != message_pairs_of_policy(config, policy, 0, 0)
    asked = []

    def teacher(codes, scripted):
        asked.append(codes.shape[:2])
        return [["Please wait."] * 2 for _ in codes]

    assert {message for _, message in message_pairs_of_policy(config, policy, 0, 0, teacher)} == {"Please wait."}
    assert asked == [(config.warm_start.worlds, 2)] * config.warm_start.env_steps


def test_a_language_team_learns_with_the_paper_presets_update():
    """The smallest model learns with parts, target KL, clipped values and two learning rates at once."""
    config = dataclasses.replace(SMOKE, learner=PAPER.learner)
    trial = cooking("twosome", config)
    policy, fragment = play(trial, 4, 24)
    learner = Learner(policy, trial.objective, trial.optimiser)
    changed = changed_by(lambda: learner.update([fragment]), policy.state_dict)
    assert learner.progress.updates == 4 and learner.progress.env_steps == 4 * 24
    assert any(name.startswith("value_head.") for name in changed) and any(".action." in name for name in changed)


@pytest.mark.parametrize("rule", get_args(Normalisation))
def test_rows_without_training_name_the_rule_of_their_scores_and_do_not_write(rule):
    settings = cooking(f"base_{rule}").build_policy().network.settings
    assert (settings.normalisation, settings.messages.heard) == (rule, "silence")
    assert not cooking(f"base_{rule}").learns


def test_taught_worlds_say_what_the_scripted_teacher_says():
    world = make_taught_world(SMOKE, None, 3)
    writer = get_writer(cooking("verco").build_policy())
    seen = world.reset(0)
    random = np.random.default_rng(0)
    for _ in range(8):
        said = [[writer.text(to_message(row)) for row in team] for team in seen[MESSAGES]]
        assert said == messages(world)
        seen = world.step((random.random(seen["legal"].shape) * seen["legal"]).argmax(-1))[0]
    np.testing.assert_array_equal(seen["vector"], world.observe()["vector"])


@pytest.mark.long
def test_only_teams_that_hear_their_own_messages_are_ablated_and_heal_afterwards():
    verco, twosome = cooking("verco").build_policy(), cooking("twosome").build_policy()
    assert writes(verco) and not writes(twosome) and not writes(cooking("symbolic_ppo").build_policy())
    before = play_team(make_world(SMOKE, 4), verco)
    with hearing(verco, "silence"):
        assert not writes(verco)
    for name, values in play_team(make_world(SMOKE, 4), verco).items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.long
def test_a_team_is_tested_beside_its_ablations_and_baselines():
    played = evaluate(SMOKE, cooking("verco").build_policy())
    own = [Tested(SMOKE.task, name) for name in ("", *ABLATIONS)]
    assert list(played) == [*own, *(Tested(SMOKE.task, method=name) for name in (RANDOM, DEAF, HEARING))]
    for episodes in played.values():
        assert {"return", "success", "length"} <= set(episodes)
        assert all(len(values) == SMOKE.test_episodes for values in episodes.values())


def test_scripted_cooks_serve_the_secret_order_only_if_they_hear():
    config = dataclasses.replace(SMOKE, task="secret_order", max_episode_steps=32, test_episodes=30)
    played = evaluate(config, cooking("symbolic_ppo", config).build_policy())
    served = {test.method: episodes["success"].mean() for test, episodes in played.items()}
    assert served[HEARING] == 1
    assert served[DEAF] < 0.7


class Cooks:
    """Scripted cooks where a loaded policy is expected; they say nothing."""

    policy, last_output = SimpleNamespace(network=None), None

    def make_world(self, num_worlds):
        self.world = make_world(dataclasses.replace(SMOKE, max_episode_steps=40), num_worlds)
        return self.world

    def reset(self, seed, texts):
        self.cooks, self.acted = ScriptedCooks(self.world), []

    def act(self, obs, first=None):
        self.acted.append(self.cooks.act())
        return self.acted[-1]


def test_a_film_shows_what_each_cook_begins_at_the_moment_at_which_it_decides(monkeypatch):
    monkeypatch.setattr(render, "draw", lambda scene: scene)
    cooks = Cooks()
    episode = replay(cooks)
    assert episode.metrics["success"] and len(episode.moments) == episode.metrics["length"]
    begun = 0
    for moment, actions in zip(episode.moments, cooks.acted, strict=True):
        for agent, chosen in enumerate(moment.chosen):
            if chosen:
                name = cooks.world.action_names[actions[0, agent]]
                assert moment.frame.about[agent] == name.replace("_", " ")
                begun += name != "wait"
    assert begun > 5
