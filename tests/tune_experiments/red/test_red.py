"""RED on MiniRTS: worlds with commanders, decisions to clone, stages and settings."""

import dataclasses
import functools

import numpy as np
import pytest
import torch

from rl_envs.minirts.actions import CONTINUE
from rl_envs.minirts.factored import C_BUILDING, C_CONTINUE, C_GATHER, C_MOVE, C_UNIT
from rl_envs.minirts.phrases import PHRASES
from rl_envs.minirts.symbols import ARCHER, STABLE
from rl_models.schedule import Progress
from tests.rl_models.training.small import begun, ratio_error
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.red.commanded_rts import TEXTS
from tune_experiments.red.config import CloningSettings, make_world
from tune_experiments.red.decisions import (
    CLONED_SCRIPTS,
    Cloning,
    Decisions,
    compute_log_prob,
    decisions_of_scripts,
    describe_aim,
    drawn_rows,
)
from tune_experiments.red.trials import build_policy, learning_rate, plan, play_scripted, unit_commands

EXPERIMENT = find_experiment("red_minirts")
SMOKE = EXPERIMENT.presets["smoke"]
LAPTOP = EXPERIMENT.presets["laptop"]


@functools.cache
def decisions(agents=1):
    return decisions_of_scripts(dataclasses.replace(SMOKE, num_agents=agents), 3, SMOKE.cloning.frames)


def test_the_network_draws_the_worlds_own_map():
    world = make_world(SMOKE, 2, commander="oracle", max_episode_steps=30)
    seen = world.reset(0)
    for _ in range(6):
        drawn = build_policy(SMOKE, 0).network.map.planes({k: torch.from_numpy(v[:, 0]) for k, v in seen.items()})
        planes = torch.from_numpy(world.see_all()["map"][:, 0]).float()
        planes[:, :2] /= 32
        torch.testing.assert_close(drawn, planes, rtol=0, atol=0)
        seen = world.step({name: np.zeros((2, 1), int) for name in world.action_spec})[0]


def test_an_agent_hears_the_last_five_phrases_newest_first_with_their_ages():
    world = make_world(SMOKE, 1, commander="narrated")
    world.reset(0)
    for decision, phrase in enumerate(("attack", "attack", "build stable", "")):
        world.tell(0, 0, phrase, decision)
    world.state["episode_length"][0] = 12
    seen = world.observe()
    assert [TEXTS[row] for row in seen["instruction"][0, 0]] == ["", "build stable", "attack", "", ""]
    assert seen["instruction_age"][0, 0].tolist()[:3] == [1, 2, 2]
    assert world.latest_commands(0) == [""]


@pytest.mark.long
def test_commands_survive_a_snapshot():
    world, other = (make_world(SMOKE, 2, commander="random") for _ in range(2))
    world.reset(1)
    action = {name: np.zeros((2, 1), int) for name in world.action_spec}
    for _ in range(3):
        world.step(action)
    here, there = world.observe(), other.restore(world.snapshot())
    for name, value in here.items():
        np.testing.assert_array_equal(there[name], value, err_msg=name)
    np.testing.assert_array_equal(world.step(action)[0]["instruction"], other.step(action)[0]["instruction"])


def test_a_frame_shows_what_each_agent_is_told():
    world = make_world(dataclasses.replace(SMOKE, num_agents=2), 1, commander="narrated")
    world.reset(0)
    silent = world.render(0)
    world.tell(0, 1, "attack")
    shown = world.render(0)
    assert shown.shape == silent.shape and (shown[:24] == silent[:24]).all() and (shown[24:48] != silent[24:48]).any()


@pytest.mark.parametrize("agents", [1, 2])
def test_every_cloned_decision_is_legal_and_its_words_say_what_is_done(agents):
    found = decisions(agents)
    assert len(found) == SMOKE.cloning.frames and found.actions["command"].shape == (16, agents)
    team = build_policy(dataclasses.replace(SMOKE, num_agents=agents), 0)
    assert (compute_log_prob(team, found) > -1e4).all()
    acts = found.actions["continue_all"] == 0
    assert acts.any() and not (found.actions["command"] == C_CONTINUE)[acts].any()
    flags = np.stack([found.actions[f"unit_{k:02}"] for k in range(50)], -1).astype(bool)
    assert not (flags & ~found.obs["owned"]).any()


def test_aims_are_told_in_phrases():
    assert describe_aim(np.array([C_UNIT, 0, 0, ARCHER, 0, 0, 0]), False) == "build archer"
    assert describe_aim(np.array([C_BUILDING, 0, 0, 0, STABLE, 0, 0]), True) == "build stable"
    assert describe_aim(np.array([C_GATHER, 0, 0, 0, 0, 0, 0]), True) in PHRASES
    assert describe_aim(np.array([C_MOVE, 0, 0, 0, 0, 0, 7]), True) == "send one peasant to scout"


def test_every_phrase_of_a_commander_is_among_the_cloned_decisions():
    """A phrase that no script is told would be an unknown word to the team."""
    cloning = CloningSettings(worlds=len(CLONED_SCRIPTS), silent_share=0.0)
    config = dataclasses.replace(SMOKE, cloning=cloning, opponents=("medium",), max_episode_steps=256)
    heard = decisions_of_scripts(config, 0, 300 * cloning.worlds).obs["instruction"][:, 0, 0]
    assert {TEXTS[number] for number in np.unique(heard)} == {*PHRASES}


@pytest.mark.parametrize("max_grad_norm", [0.5, 0.0])
def test_passes_over_the_same_decisions_lower_the_loss(max_grad_norm):
    learner = dataclasses.replace(SMOKE.learner, max_grad_norm=max_grad_norm)
    own = dataclasses.replace(SMOKE.cloning, frequency_power=1.0)
    config = dataclasses.replace(SMOKE, cloning=own, learner=learner)
    cloning = Cloning(config, False, plan(config, "red", 0).stages[0].plan)
    first, second = (cloning.train()["cloning/loss"] for _ in range(2))
    assert second < first


def test_a_killed_cloning_goes_on_as_if_it_had_not_been():
    trial = plan(SMOKE, "red", 0).stages[0].plan
    whole, first = Cloning(SMOKE, False, trial), Cloning(SMOKE, False, trial)
    losses = [whole.train()["cloning/loss"] for _ in range(2)]
    first.train()
    second = Cloning(SMOKE, False, trial)
    second.restore(*first.checkpoint())
    assert second.train()["cloning/loss"] == losses[1] and second.progress() == whole.progress()
    for name, value in whole.policy().state_dict().items():
        assert torch.equal(value, second.policy().state_dict()[name]), name


def test_a_distillation_clones_won_games_of_the_team_that_began_it():
    config = dataclasses.replace(SMOKE, opponents=("passive",), max_episode_steps=4)
    stage = Cloning(config, True, plan(config, "red", 0).stages[3].plan)
    weights = build_policy(config, 5).state_dict()
    stage.restore({"weights": weights}, Progress())
    found = stage.train()
    assert found["cloning/own_won_decisions"] == 0  # a game of four decisions is a draw
    assert found["cloning/decisions"] == config.cloning.frames
    assert torch.equal(
        stage.checkpoint()[0]["start"]["network.reader.words.weight"], weights["network.reader.words.weight"]
    )


def test_rows_have_the_stages_that_their_names_say():
    names = {row: [stage.name for stage in plan(LAPTOP, row, 0).stages] for row in ("red", "rl", "scratch")}
    assert names["red"] == ["cloning", "value", "rl_1", "distillation_1", "rl_2", "distillation_2"]
    assert names["rl"] == ["cloning", "value", "rl_1", "rl_2"] and names["scratch"] == ["rl_1", "rl_2"]
    value = plan(LAPTOP, "red", 0).stages[1].plan_at(1).build_policy()
    learned = [name for name, weight in value.named_parameters() if weight.requires_grad]
    assert learned == ["value_head.value.weight", "value_head.value.bias"]


@pytest.mark.parametrize("agents", [1, 2])
def test_acting_equals_learning_also_where_games_end(agents):
    config = dataclasses.replace(SMOKE, num_agents=agents, max_episode_steps=5, rl_commander="random")
    trial = plan(config, "scratch", 0).stages[0].plan
    collector = begun(make_world(config, 3), trial.build_policy(), 12, seed=0)
    fragment = collector.collect()
    assert fragment.steps["truncated"].any() and (fragment.obs["instruction"] > 0).any()
    assert ratio_error(trial.objective, collector.policy, fragment) < 1e-4


def test_the_papers_schedule_rises_for_300_updates_and_falls_to_0_at_1500():
    paper = EXPERIMENT.presets["paper"]
    step = paper.workers.env_steps_of_update
    rates = {}
    for number in range(paper.iterations):
        schedule = learning_rate(paper, number * paper.updates)
        rates |= {number * 100 + k: schedule.at(Progress(env_steps=k * step)) for k in (0, 50, 100)}
    expected = {0: 0, 150: 2.5e-5, 300: 5e-5, 900: 2.5e-5, 1500: 0}
    assert {k: rates[k] for k in expected} == pytest.approx(expected)


def test_the_scripted_executor_does_what_it_is_told_and_mines_beside():
    world = make_world(SMOKE, 1, commander="narrated")
    world.reset(0)
    view = {name: value[0, 0] for name, value in world.see_all().items()}
    silent, table = unit_commands("", view), unit_commands("build stable", view)
    assert (silent[:, 0] == C_GATHER).sum() == 3 and (silent[:, 0] == C_CONTINUE).sum() == 47
    assert (table[:, 0] == C_GATHER).sum() == 2 and (table[:, 0] == C_BUILDING).sum() == 1
    assert table[table[:, 0] == C_BUILDING, 4] == STABLE


def test_scripted_executors_play_every_game_to_its_end():
    found = play_scripted(dataclasses.replace(SMOKE, num_agents=2), "oracle", 3, 0)
    assert found["length"].tolist() == [12.0] * 3 and found["win_rate"].tolist() == [0.0] * 3


def decisions_of(gathers, builds):
    """Decisions of two kinds of command, as many of each as given."""
    command = np.array([C_GATHER] * gathers + [C_BUILDING] * builds)[:, None]
    return Decisions({}, {CONTINUE: np.zeros_like(command), "command": command})


def test_the_rarest_command_of_a_team_counts_and_to_continue_is_a_kind_of_its_own():
    command, continues = np.full((1_000, 2), C_GATHER), np.zeros((1_000, 2), int)
    continues[:600] = 1  # both agents carry on, whatever else their actions hold
    command[-10:, 1] = C_BUILDING
    decisions = Decisions({}, {CONTINUE: continues, "command": command})
    drawn = drawn_rows(decisions, 0.0, torch.Generator().manual_seed(0))
    weight = {"continue": 600 / 1_200, "gather": 390 / 790, "build": 10 / 10}
    assert (drawn < 600).float().mean() == pytest.approx(weight["continue"] / sum(weight.values()), abs=0.05)
    assert (drawn >= 990).float().mean() == pytest.approx(weight["build"] / sum(weight.values()), abs=0.05)


def test_a_pass_draws_kinds_of_command_by_a_power_of_their_frequency():
    decisions, generator = decisions_of(gathers=6_400, builds=100), torch.Generator().manual_seed(0)
    as_they_occur = drawn_rows(decisions, 1.0, generator)
    assert as_they_occur.sort().values.equal(torch.arange(6_500)), "each once"
    by_square_root = drawn_rows(decisions, 0.5, generator)
    assert len(by_square_root) == 6_500
    assert (by_square_root >= 6_400).float().mean() == pytest.approx(1 / 9, abs=0.02)  # 8 to 1 in place of 64 to 1
    alike = drawn_rows(decisions, 0.0, generator)
    assert (alike >= 6_400).float().mean() == pytest.approx(1 / 2, abs=0.03)
