"""What SAMA's tables say: env steps that are counted, who planned, the rules with scripted chefs, retries, budgets."""

import dataclasses
import json

import numpy as np
import pytest

from tests.tune_experiments.play.teams import untrained
from tests.tune_experiments.sama.fixed_plans import FixedPlans
from tune_experiments import sama_ablations
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import Tested
from tune_experiments.results.trial_log import METRICS_FILE, read_metrics
from tune_experiments.sama.minirts.trials import conditions as minirts_conditions
from tune_experiments.sama.overcooked.domain import DONE, command_texts, get_domain
from tune_experiments.sama.overcooked.evaluation import evaluate, scripted_episodes
from tune_experiments.sama.overcooked.play import KitchenPlay, ScriptedExecutor
from tune_experiments.sama.overcooked.subgoals import FAR, Reachability, Scene, cost
from tune_experiments.sama.overcooked.tables import (
    RULES_SCRIPTED,
    STEPS_NEEDED,
    draw_sample_efficiency,
    steps_to_nearly_best,
    training_results,
)
from tune_experiments.sama.overcooked.trials import plan
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.planning import make_planning_loop
from tune_experiments.sama.play import PlannedPlay
from tune_experiments.sama_overcooked import LAPTOP, SMOKE

HERE = "sama-cramped_room"
MINIRTS = find_experiment("sama_minirts").presets["laptop"]


def played(config, seed=2):
    """Scripted chefs under the planner of the settings; the soups that stood after each env step, undone or not."""
    world, served = CommandedKitchen(1, max_episode_steps=config.max_episode_steps), []
    advance = world.step

    def step(cells):
        result = advance(cells)
        served.append(int(world.state["soups"][0]))
        return result

    world.step = step
    loop = make_planning_loop(config, "cramped_room", seed)
    return PlannedPlay(KitchenPlay(world), ScriptedExecutor("cramped_room"), loop, config.round_steps).run(400), served


def test_soups_are_those_within_an_episodes_env_steps_undone_ones_included():
    config = dataclasses.replace(LAPTOP, planner="noisy", noise="weaker")
    found, served = played(config)
    assert found["wasted_steps"][0] > 100
    assert len(served) == 400 + found["wasted_steps"][0]
    assert found["soups"][0] == served[399]
    assert found["standing_soups"][0] == served[-1] > found["soups"][0]
    assert found["reward"][0] == 20 * found["soups"][0]


@pytest.mark.parametrize("layout", ["asymmetric_advantages", "forced_coordination"])
def test_a_script_reaches_every_sub_goal_that_can_begin_by_a_shortest_way(layout):
    """In kitchens of two rooms, where nobody is in the way; turning to an object may take one env step each."""
    domain, commands = get_domain(layout), command_texts(layout)
    execute, world = ScriptedExecutor(layout), CommandedKitchen(1, layout=layout)
    ways, tried = Reachability(world.kitchen), set()
    world.reset(0)
    for text in domain.diverse_states(40, 3):
        scene = Scene(ways, text)
        for chef, (number, one) in [(n, each) for n in range(2) for each in enumerate(domain.kinds.values())]:
            if (price := cost(scene, chef, one)) >= FAR:
                continue
            world.restore({name: value[None] for name, value in scene.state.items()})
            world.command([0], [(one.text, one.text)])
            world.state["reached"][0, 1 - chef], steps = True, 0
            while not world.state["reached"][0, chef] and steps < 60:
                world.step(execute(world))
                steps += 1
            assert price <= max(steps, 1) <= max(price, 1) + 2, (one.text, text)
            tried.add(number)
    assert len(tried) == len(domain.kinds) == len(commands) - 1
    assert commands[-1] == DONE


def test_the_row_is_tested_beside_sama_alone_and_has_its_rules_whoever_plans():
    short = dataclasses.replace(SMOKE, max_episode_steps=30, test_episodes=1)
    noisy = dataclasses.replace(short, planner="noisy", noise="weaker")
    found = evaluate(noisy, HERE, plan(SMOKE, HERE, 0).build_policy().eval())
    name = Tested("cramped_room", method=RULES_SCRIPTED)
    assert list(found) == ["cramped_room", name]
    (alone,) = scripted_episodes(short, "cramped_room").values()
    np.testing.assert_array_equal(found[name]["soups"], alone["soups"])
    blind = "blind-cramped_room"
    config = dataclasses.replace(short, methods=("blind",))
    assert list(evaluate(config, blind, plan(config, blind, 0).build_policy().eval())) == ["cramped_room"]


def test_reflection_is_compared_with_as_many_tries_without_a_memory():
    ablations = find_experiment("sama_ablations")
    config = ablations.presets["laptop"]
    (main,) = ablations.main_comparisons(config)
    tested = sama_ablations.conditions(config)
    ours, control = (tested[name] for name in (main.condition, main.against_condition))
    assert (ours.after_failure, control.after_failure) == ("reflect", "retry")
    assert dataclasses.replace(control, after_failure=ours.after_failure) == ours


@pytest.mark.parametrize(("conditions", "laptop"), [(sama_ablations.conditions, LAPTOP), (minirts_conditions, MINIRTS)])
def test_rows_of_reflections_reflect_although_the_run_retries(conditions, laptop):
    for name, config in conditions(dataclasses.replace(laptop, after_failure="retry")).items():
        if name.endswith(("reflections", "retries")):
            assert config.after_failure == ("reflect" if name.endswith("reflections") else "retry"), name


def test_rules_that_err_beside_a_model_ask_no_record():
    found = sama_ablations.conditions(dataclasses.replace(LAPTOP, planner="openai", replay="asked"))
    erring = [config for name, config in found.items() if name.startswith("weak")]
    assert [config.replay for config in erring] == [""] * 14
    assert found["replay planner, 3 reflections"].replay.endswith("asked")
    by_rule = sama_ablations.conditions(dataclasses.replace(LAPTOP, replay="asked"))
    assert by_rule["weak planner, 1 retries"].replay.endswith("asked")  # such a record holds their answers


def test_a_round_that_changes_nothing_is_counted_and_not_reached():
    loop = FixedPlans(("wait at pot 0",) * 2)
    world = CommandedKitchen(1, max_episode_steps=50)
    found = PlannedPlay(KitchenPlay(world), ScriptedExecutor("cramped_room"), loop, 10).run(0)
    assert found["idle_rounds"][0] == found["rounds"][0] > 0
    assert found["reached_rounds"][0] == 0


@pytest.mark.long
def test_a_team_is_also_tested_with_random_commands_reflections_and_retries():
    config = dataclasses.replace(SMOKE, reflections=0, also_tests=("random_commands", "reflections", "retries"))
    config = dataclasses.replace(config, max_episode_steps=30, test_episodes=1)
    found = evaluate(config, HERE, plan(config, HERE, 0).build_policy().eval())
    assert [getattr(test, "condition", "") for test in found][1:4] == ["random commands", "reflections", "retries"]
    assert found["cramped_room"]["wasted_steps"].sum() == 0


def test_env_steps_are_those_until_most_of_the_best_was_served():
    rows = [{"env_steps": 10 * number, "valid/soups": soups} for number, soups in enumerate((0.0, 7.0, 8.0, 10.0))]
    assert training_results(HERE, [{"env_steps": 5}, *rows]) == {"cramped_room": {STEPS_NEEDED: 20}}
    assert training_results(HERE, rows[:1]) == {}


def test_the_figure_of_these_env_steps_has_every_validated_trial(tmp_path):
    trials = {method: {0: tmp_path / method} for method in (HERE, "blind-cramped_room", "mappo-coordination_ring")}
    assert list(draw_sample_efficiency(tmp_path, trials)) == []
    for seeds, soups in zip(trials.values(), (2.0, 0.0, 1.0), strict=True):
        seeds[0].mkdir()
        (seeds[0] / METRICS_FILE).write_text(json.dumps({"env_steps": 10, "valid/soups": soups}) + "\n")
        assert steps_to_nearly_best(read_metrics(seeds[0] / METRICS_FILE)) == (10, soups)
    assert [path.name for path in draw_sample_efficiency(tmp_path, trials)] == ["sample_efficiency.png"]


METHOD = "sama-cramped_room"


@pytest.mark.long
@pytest.mark.parametrize(("most", "reflections", "is_whole"), [(9, 0, False), (60, 0, True), (60, 3, False)])
def test_a_record_has_metrics_unless_it_was_cut(most, reflections, is_whole):
    """Undone steps are in a record, so that one with as many steps as an episode is cut where rounds are undone."""
    loaded = untrained("sama_overcooked", METHOD, reflections=reflections)
    (episode,) = loaded.experiment.episodes(loaded, 3, 1, most)
    assert len(episode.steps) == most
    assert bool(episode.metrics) == is_whole
