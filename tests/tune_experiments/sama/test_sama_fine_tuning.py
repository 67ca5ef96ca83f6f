"""Fine-tuning on states that a trained team meets under the planner: what is kept, how training goes on."""

import dataclasses
import json

import numpy as np
import pytest

from rl_envs.overcooked.text import read_states
from rl_models.schedule import Progress
from rl_models.training.checkpoint import load_checkpoint, newest_complete_checkpoint
from tune_experiments import load_policy
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial
from tune_experiments.sama.overcooked.config import FineTuningSettings
from tune_experiments.sama.overcooked.domain import command_texts
from tune_experiments.sama.overcooked.fine_tuning import met_pairs, pack_pairs, plan, unpack_pairs
from tune_experiments.sama.overcooked.trials import mixed, offline_planner, prepare_training_data
from tune_experiments.sama.overcooked.world import SymbolKitchen
from tune_experiments.sama_overcooked import LAPTOP, SMOKE

METHOD = "sama-cramped_room"


def fine_tuned(config, **changes):
    return dataclasses.replace(config, fine_tuning=dataclasses.replace(config.fine_tuning, **changes))


def test_every_round_is_a_stage_that_goes_on_with_what_learning_had_come_to():
    course = plan(fine_tuned(LAPTOP, rounds=2, share=0.2), METHOD, 0)
    assert isinstance(course, Curriculum)
    assert [stage.name for stage in course.stages] == ["made_up", "met_1", "met_2"]
    assert [stage.plan.budget_env_steps for stage in course.stages] == [600_000, 120_000, 120_000]
    first, then = course.stages[0].plan, course.stages[1].plan
    end, begin = Progress(env_steps=600_000), Progress()
    before, after = first.objective.entropy_coef, then.objective.entropy_coef
    assert after.at(begin) == after.at(Progress(env_steps=120_000)) == pytest.approx(before.at(end))
    assert then.optimiser.learning_rate.at(begin) == pytest.approx(first.optimiser.learning_rate.at(end))
    assert all(stage.keeps_optimiser for stage in course.stages[1:])
    assert all(stage.plan.chosen_by == "soups" for stage in course.stages)


def test_rows_that_learn_the_game_itself_are_not_fine_tuned():
    config = fine_tuned(LAPTOP, rounds=2)
    for row in ("mappo", "selfplay"):
        assert isinstance(plan(config, f"{row}-cramped_room", 0), TrialPlan)
    written = plan(dataclasses.replace(config, methods=("code",)), "code-cramped_room", 0)
    algorithm = written.stages[1].plan.make_algorithm
    assert algorithm.args[0].reward_source == "code"


@pytest.mark.long
def test_what_is_met_are_states_of_play_with_what_the_chefs_were_told_there():
    config, team = fine_tuned(SMOKE, episodes=3), plan(SMOKE, METHOD, 0).build_policy()
    met, steps = met_pairs(config, METHOD, team, 7)
    assert len(met) >= 3 and len(set(met)) == len(met)
    states = read_states(SymbolKitchen().kitchen, [state for state, _ in met])
    assert len(states["held"]) == len(met)
    known = set(command_texts("cramped_room"))
    assert all(len(commands) == 2 and set(commands) <= known for _, commands in met)
    made = prepare_training_data(offline_planner("cramped_room"), "cramped_room", 20, "builtin", 0).pairs
    assert {state for state, _ in met} - {state for state, _ in made}
    assert (met, steps) == met_pairs(config, METHOD, team, 7) != met_pairs(config, METHOD, team, 8)
    # 3 episodes; an untrained team fails, and the env steps of undone rounds are env steps.
    assert steps > 3 * SMOKE.max_episode_steps


def test_met_and_made_up_states_come_about_equally_often():
    made, met = [("made", ("a", "b"))] * 90, [("met", ("a", "b"))] * 20
    pairs = mixed(made, met)
    assert [sum(pair[0] == kind for pair in pairs) for kind in ("made", "met")] == [90, 80]
    assert mixed(made[:5], met).count(met[0]) == 20


def test_a_checkpoint_holds_what_was_met_word_by_word():
    pairs = [("pot 0: ½ full\nclock 3", ("wait at pot 0", "take a dish"))]
    array = pack_pairs(pairs)
    assert array.dtype == np.uint8 and array.ndim == 1
    assert unpack_pairs(array) == pairs


@pytest.mark.slow
def test_training_goes_on_in_met_states_and_a_broken_trial_with_the_same_ones(ray_session, tmp_path):
    settings = FineTuningSettings(rounds=1, episodes=2, share=0.4)
    config = dataclasses.replace(SMOKE, methods=("sama",), fine_tuning=settings, budget_env_steps=800)
    experiment = find_experiment("sama_overcooked")
    said = []

    def run(until=None):
        Trial(experiment, config, METHOD, 0, tmp_path).run(said.append, until)
        return load_checkpoint(newest_complete_checkpoint(tmp_path / "checkpoints")).tensors

    broken = run(until=960)
    assert read_test_results(tmp_path) is None
    whole = run()
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [row["curriculum/stage"] for row in rows] == [1.0] * 5 + [2.0] * 2
    assert "fine_tuning/met_states" not in rows[0] and rows[-1]["fine_tuning/met_states"] >= 2
    np.testing.assert_array_equal(broken["met"]["pairs"], whole["met"]["pairs"])
    assert len(json.loads(bytes(np.asarray(whole["met"]["pairs"])))) == rows[-1]["fine_tuning/met_states"]
    assert rows[-1]["fine_tuning/played_env_steps"] >= 2 * config.max_episode_steps
    assert int(broken["met"]["steps"]) == int(whole["met"]["steps"])
    tested = {(line.method, line.place) for line in read_test_results(tmp_path)}
    own = {(METHOD, "cramped_room after made_up"), (METHOD, "cramped_room")}
    assert tested == own | {("rules_scripted", "cramped_room")}
    assert load_policy(tmp_path).method == METHOD
