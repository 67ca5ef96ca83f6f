"""EnDi's experiments: what each row is, its stages, how it is tested, and that whoever acts draws masks alike."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_envs.rtfm.stages import STAGES
from rl_models.losses.extra_loss import MeanLoss
from rl_models.losses.grounding import GroundingLoss
from rl_models.networks.entity_divider_emma import DividedEmma
from rl_models.rllib.team_algorithm import TeamAlgorithm
from rl_models.runtime.added_observations import NOISE
from rl_models.schedule import Progress
from rl_models.teams.endi_team import VARIANTS, divides
from rl_models.training.algorithm import ENDED_EPISODES
from rl_models.training.evaluation import Evaluation
from tests.tune_experiments.fragments import update
from tests.tune_experiments.play.teams import untrained
from tune_experiments.endi import messenger_config, rtfm_config
from tune_experiments.endi.division import ON_MATCHING, DivisionSettings, make_losses
from tune_experiments.endi.messenger_trials import validate
from tune_experiments.endi.rtfm_config import make_stage, make_task
from tune_experiments.endi.rtfm_trials import columns, evaluate
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.results.rows import Result

MESSENGER, RTFM = find_experiment("endi_messenger"), find_experiment("endi_rtfm")
MESSENGER_ROWS = messenger_config.MethodName.__args__
RTFM_ROWS = tuple(row for row in rtfm_config.MethodName.__args__ if row != "qmix")


OFTEN = ("txt2pi", "endi_num", "endi_dis", "endi_dis_balance", "endi_kl", "endi_reg", "endi_dis_matching")
SELDOM = tuple(row for row in RTFM_ROWS if row not in OFTEN)
"""Rows of RTFM with a loss of their own each, and those with the same losses, which are tested in `make slow`."""


def smoke(experiment, **changes):
    return dataclasses.replace(experiment.presets["smoke"], **changes)


@pytest.mark.long
@pytest.mark.parametrize("row", MESSENGER_ROWS)
def test_every_row_of_messenger_learns_with_its_own_losses(row):
    trial = MESSENGER.plan(smoke(MESSENGER), row, 0).stages[-1].plan
    assert not trial.objective.joint_ratio
    _, told = update(trial)
    assert ("loss/grounding" in told) == row.endswith("_grounding")
    assert ("division/overlap" in told) == row.startswith("endi_")
    assert ("loss/agent_modelling" in told) == (row.startswith("endi_") and row != "endi_sup")


@pytest.mark.long
@pytest.mark.parametrize("row", [*OFTEN, *(pytest.param(row, marks=pytest.mark.slow) for row in SELDOM)])
def test_every_row_of_rtfm_learns_with_its_own_losses(row):
    trial = RTFM.plan(smoke(RTFM), row, 0).stages[-1].plan
    assert not trial.objective.joint_ratio
    _, told = update(trial)
    variant = VARIANTS.get(row.removesuffix(ON_MATCHING))
    regulariser = "none" if variant is None else variant.regulariser
    assert [name for name in ("num", "dis", "dis_balance", "kl") if f"loss/{name}" in told] == [
        name for name in (regulariser,) if name != "none"
    ]
    assert ("loss/agent_modelling" in told) == (variant is not None and variant.modelling_coef > 0)


@pytest.mark.parametrize("experiment", [MESSENGER, RTFM], ids=lambda one: one.name)
def test_agents_share_nothing_unless_asked(experiment):
    def parameters(**settings):
        config = smoke(experiment, division=DivisionSettings(**settings))
        policy = experiment.plan(config, "endi_dis", 0).stages[0].plan.build_policy()
        return sum(weights.numel() for weights in policy.parameters())

    assert parameters() == 2 * parameters(shares_network=True)


def test_grounded_rows_share_symbols_with_the_divider_and_no_row_of_reference_and_paper_is_grounded():
    def networks(row):
        policy = MESSENGER.plan(smoke(MESSENGER), row, 0).stages[0].plan.build_policy()
        return [part for part in policy.modules() if isinstance(part, DividedEmma)]

    assert [network.goal_symbols is None for network in networks("endi_dis_grounding")] == [True, True]
    assert [network.goal_symbols is None for network in networks("endi_dis")] == [False, False]
    for preset in ("reference", "paper"):
        assert not any(row.endswith("_grounding") for row in MESSENGER.presets[preset].methods)


def test_the_grounding_loss_weighs_for_an_agent_what_it_weighs_for_one_alone():
    """It is a mean over agents, and everything else a sum."""
    losses = MESSENGER.plan(smoke(MESSENGER), "emma_grounding", 0).stages[0].plan.objective.extra_losses
    (weight,) = (loss.weight.at(Progress()) for loss in losses if isinstance(loss, GroundingLoss))
    assert weight == 2 * smoke(MESSENGER).learner.grounding_coef


def test_weights_are_chosen_by_validation_or_the_last_ones():
    for weights, chosen in (("validated", "win_rate"), ("last", None)):
        stages = MESSENGER.plan(smoke(MESSENGER, weights=weights), "emma", 0).stages
        assert {one.plan.chosen_by for one in stages} == {chosen}


def test_stages_of_rtfm_differ_by_the_papers_difficulties_and_not_by_the_room():
    config = RTFM.presets["paper"]
    for number in range(1, 6):
        task = dataclasses.asdict(make_task(config, number))
        assert {name: task[name] for name in STAGES[f"S{number}"]} == STAGES[f"S{number}"]
    assert make_task(RTFM.presets["laptop"], 4).size == RTFM.presets["laptop"].task.size


def test_the_papers_learning_rate_would_be_nothing_after_100_million_steps_which_no_stage_has():
    """15 million of them in the first stage, 50 in each later one; on a laptop a tenth is left at the end of each."""

    def ends(preset):
        config = dataclasses.replace(RTFM.presets[preset], stages=(1, 2))
        return [one.plan.optimiser.learning_rate.points[-1] for one in RTFM.plan(config, "endi_dis", 0).stages]

    assert ends("paper") == [(15_000_000, pytest.approx(0.85 * 7e-4)), (50_000_000, pytest.approx(0.5 * 7e-4))]
    assert [rate for _, rate in ends("laptop")] == [pytest.approx(0.1 * 0.002)] * 2


@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_a_loss_is_everybodys_on_a_laptop_and_its_causers_alone_in_the_paper(preset):
    """Else whoever keeps away gains by the others' deaths, and all learn to keep away."""
    config = RTFM.presets[preset]
    world, generator = make_stage(config, 1, 64), np.random.default_rng(0)
    world.reset(0)
    spared = []
    for _ in range(50):
        _, reward, terminated, *_ = world.step(generator.integers(5, size=(64, 2)))
        spared += reward[terminated & (reward == -1).any(1) & (reward < 1).all(1)].max(1).tolist()
    assert set(spared) - {-1.0} == (set() if preset == "laptop" else {-0.02})


def test_how_entities_are_divided_is_logged_while_rllib_trains(ray_session):
    """And nothing of RLlib's own beside it."""
    algorithm = TeamAlgorithm(RTFM.plan(smoke(RTFM), "endi_dis", 0).stages[0].plan)
    try:
        row = algorithm.train()
    finally:
        algorithm.close()
    measures = ("overlap", "coverage", "taken", "conflicts", "others_accuracy", "own_entities_0", "own_entities_1")
    assert {f"division/{name}" for name in measures} <= row.keys()
    groups = {name.partition("/")[0] for name in row.keys() - {ENDED_EPISODES}}
    assert groups <= {"episode", "loss", "policy", "schedule", "learner", "division", "speed"}


@pytest.mark.parametrize("experiment", [MESSENGER, RTFM], ids=lambda one: one.name)
def test_a_loaded_team_draws_the_masks_that_an_evaluation_draws(experiment):
    """The same seed, the same noise: greedy actions and masks agree until the first episode ends."""
    loaded = untrained(experiment.name, "endi_dis", stage=0)
    world = loaded.make_world(5)
    evaluation = Evaluation(world, loaded.policy, is_greedy=True)
    seen = []
    hook = loaded.policy.network.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0][NOISE].clone()))
    evaluation.run(3)
    drawn, number = list(seen), 0
    seen.clear()
    obs = world.reset(3)
    loaded.reset(3, world.texts)
    while True:
        actions = loaded.act(obs)
        torch.testing.assert_close(seen[-1], drawn[number])
        obs, _, terminated, _, _ = world.step(actions)
        number += 1
        if terminated.any():
            break
    hook.remove()
    assert number >= 1


@pytest.mark.parametrize("masks", ["drawn", "argmax"])
def test_masks_are_drawn_or_the_likeliest_for_all_who_act(masks):
    loaded = untrained("endi_messenger", "endi_dis", stage=0, division=DivisionSettings(masks=masks))
    seen = []
    loaded.policy.network.register_forward_hook(lambda _, inputs, __: seen.append(NOISE in inputs[0]))
    world = loaded.make_world(3)
    loaded.act(world.reset(0))
    validate(loaded.config, 1, loaded.policy)
    assert set(seen) == {masks == "drawn"}


def test_divisions_are_measured_where_teams_divide():
    for row in ("emma", "endi_dis"):
        trial = MESSENGER.plan(smoke(MESSENGER), row, 0).stages[0].plan
        policy = trial.build_policy()
        assert divides(policy) == (row != "emma")
        assert ({"overlap", "coverage", "own_entities_1"} <= trial.validate(policy).keys()) == divides(policy)


def test_teams_in_rtfm_are_tested_with_all_that_training_never_showed():
    config = smoke(RTFM)
    policy = untrained("endi_rtfm", "endi_dis", stage=0).policy
    found = evaluate(config, 1, policy)
    assert list(columns(config)) == ["train", "eval", "eval_new", "eval_7x7", "shuffled"]
    wanted = [Tested(f"stage_1_{name}") for name in columns(config) if name != "shuffled"]
    assert list(found) == [*wanted, Tested("stage_1_eval", "shuffled"), Tested("stage_1_train", method=RANDOM)]
    assert all(len(episodes["win_rate"]) == config.test_episodes for episodes in found.values())
    names = make_stage(config, 1, 2, **columns(config)["eval_new"])
    assert names.reset(0)["grid"].max() > make_stage(config, 1, 2).reset(0)["grid"].max()


@pytest.mark.parametrize("experiment", [MESSENGER, RTFM], ids=lambda one: one.name)
def test_tables_hold_win_rates_by_stage_and_then_divisions(experiment):
    def of(method, world, metric, value, condition=""):
        return Result("endi", experiment.caption, method, world, "test", 0, metric, value, condition=condition)

    found = experiment.tables(
        [
            of("endi_dis", "stage_1_train", "win_rate", 0.5, "after s1"),
            of("endi_dis", "stage_1_train", "overlap", 0.375, "after s1"),
            of("endi_dis", "stage_2_train", "win_rate", 0.25),
            of("endi_dis", "stage_2_train", "overlap", 0.125),
            of(RANDOM, "stage_2_train", "win_rate", 0.01),
        ]
    )
    assert [table.title.removeprefix(experiment.caption) for table in found] == [
        ", stage 1",
        ", stage 2",
        ": division of entities",
    ]
    assert all(number in found[2].markdown() for number in ("0.375", "0.125"))
    assert "| random |" in found[1].markdown()


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_and_deviation_of_a_run_are_those_of_its_losses(variant):
    losses = make_losses(variant, DivisionSettings(regulariser_coef=0.5, kl_deviation=0.7, modelling_coef=2.0))
    of_modelling = {"endi_sup": 0.0, "endi_dis_weak_modelling": pytest.approx(0.2)}.get(variant, 2.0)
    assert (losses.regulariser_coef, losses.deviation, losses.modelling_coef) == (0.5, 0.7, of_modelling)
    assert losses.regulariser == VARIANTS[variant].regulariser


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("chosen", "are_means"), [({}, False), ({"loss_reduction": "mean"}, True)])
def test_losses_of_a_division_are_reduced_as_the_learners_own_unless_the_run_says_mean(variant, chosen, are_means):
    found = make_losses(variant, DivisionSettings(**chosen)).extra_losses()
    assert [isinstance(one, MeanLoss) for one in found] == [are_means] * len(found)


def test_a_room_that_only_a_test_has_is_refused_before_training():
    """Three agents of the second stage, with distractors, need eleven cells; a test's room of 5 x 5 has nine."""
    three = find_experiment("endi_three_agents")
    config = smoke(three, stages=(2,), test_sizes=(5,))
    with pytest.raises(ValueError, match="9 cells"):
        three.check(config)
    three.check(smoke(three, stages=(2,), test_sizes=(6,)))
