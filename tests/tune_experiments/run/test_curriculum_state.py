"""Stages as they are declared, and a trial's way through them: when one ends, what follows, what a checkpoint says."""

import contextlib
import json

import pytest

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.rllib.workers import Workers
from rl_models.schedule import Progress
from tests.tune_experiments.run.stages import plan as small_plan
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import SEEDS_BETWEEN_STAGES, Promotion, Stage
from tune_experiments.run.curriculum_state import CurriculumState, restore_curriculum

RULE = Promotion("valid/win_rate", 0.8, over=2)


def never(*arguments, **keywords):
    raise AssertionError("nothing is built")


def plan(budget=100, **changes):
    built = dict.fromkeys(("make_world", "build_policy", "validate"), never)
    return small_plan(**{"seed": 5, "budget_env_steps": budget} | built | changes)


RMSPROP = plan(optimiser=OptimiserSettings(optimiser="rmsprop"))


def curriculum(rule=RULE):
    return CurriculumState(
        Curriculum((Stage(name="easy", plan=plan(), promotion=rule), Stage(name="hard", plan=plan(50))))
    )


def train(one, env_steps, **metrics):
    """A row of the log of the present stage."""
    one.progress = Progress(env_steps, env_steps // 10, env_steps // 5)
    one.record({f"valid/{name}": value for name, value in metrics.items()})


@pytest.mark.parametrize(
    ("stages", "named"),
    [
        ((), "stages"),
        ((Stage(name="a", plan=plan()), Stage(name="a", plan=plan())), "a"),
        ((Stage(name="Two words", plan=plan()),), "Two words"),
        ((Stage(name="a", plan=plan(0)),), "stage a "),
        ((Stage(name="a", plan=plan()), Stage(name="b", plan=plan(workers=Workers(runners=2)))), "stage b "),
        ((Stage(name="a", plan=plan(), keeps_optimiser=True),), "stage a "),
        ((Stage(name="a", plan=plan()), Stage(name="b", plan=RMSPROP, keeps_optimiser=True)), "stage b "),
    ],
)
def test_a_curriculum_that_no_trial_could_train_is_refused(stages, named):
    with pytest.raises(ValueError, match=named):
        Curriculum(stages)


@pytest.mark.parametrize("arguments", [("win_rate", 1), ("loss/total", 1), ("valid/", 1), ("valid/win_rate", 1, 0)])
def test_a_promotion_that_looks_at_nothing_is_refused(arguments):
    with pytest.raises(ValueError, match="promotion"):
        Promotion(*arguments)


def test_two_stages_of_one_game_do_not_replay_its_episodes():
    stages = Curriculum((Stage(name="a", plan=plan()), Stage(name="b", plan=plan()))).stages
    assert [stage.plan_at(index).seed for index, stage in enumerate(stages)] == [5, 5 + SEEDS_BETWEEN_STAGES]


def test_a_stage_is_passed_by_the_mean_of_its_latest_values():
    one = curriculum()
    values = {10: 0.9, 20: 0.6, 30: 0.9, 32: float("nan"), 34: 0.9, 40: 0.75}
    for env_steps, value in values.items():
        is_over = env_steps == 40
        train(one, env_steps, win_rate=value)
        assert one.stage_is_over is is_over, value
    assert one.end().passed is True
    assert all(word in one.verdict() for word in ("easy", "40", "0.825", "0.8"))


def test_a_stage_that_was_not_passed_in_its_budget_goes_on():
    one = curriculum()
    train(one, 99, win_rate=0.2)
    assert not one.stage_is_over
    train(one, 100, win_rate=0.3)
    assert (one.stage_is_over, one.passed, one.is_over) == (True, False, False)


def test_a_metric_that_is_not_measured_is_told_with_those_that_are():
    one = curriculum()
    with pytest.raises(ValueError, match=r"easy .*valid/win_rate.*valid/success"):
        train(one, 10, success=1.0)
    one = curriculum(Promotion("episode/return", 1))
    train(one, 10, success=1.0)  # no episode has ended yet


def test_a_plain_plan_is_one_stage_that_shows_nothing_of_it():
    one = CurriculumState(plan())
    train(one, 100)
    assert one.is_over
    assert (one.log_entries(), one.progress_entries()) == ({}, {})
    assert one.state() == {"progress": vars(one.progress), "validated_at": 0}


def test_the_live_line_shows_what_training_can_take_at_most():
    one = curriculum()
    assert one.progress_entries() == {"stage": "1/2 easy", "budget_env_steps": 150}
    train(one, 40, win_rate=0.9)
    train(one, 60, win_rate=0.9)
    assert one.progress_entries()["notice"] == one.verdict()
    assert one.log_entries() == {"curriculum/stage": 1, "curriculum/stage_env_steps": 60, "curriculum/passed": 1.0}
    one.next_stage()
    assert one.progress_entries() == {"stage": "2/2 hard", "budget_env_steps": 110}
    assert one.log_entries()["curriculum/passed"] is None


def test_a_course_is_found_again_from_what_a_checkpoint_says():
    one = curriculum()
    train(one, 40, win_rate=0.9)
    one.validated_at = 40
    ways = [one.state()]
    train(one, 60, win_rate=0.9)
    ways.append(one.state())
    one.next_stage()
    train(one, 20)
    ways.append(one.state())
    stood = [(0, 40, [0.9], 40, 40), (0, 60, [0.9, 0.9], 40, 60), (1, 20, [], 0, 80)]
    for state, (stage, env_steps, values, validated_at, total) in zip(ways, stood, strict=True):
        again = restore_curriculum(one.declared, json.loads(json.dumps(state)))
        assert (len(again.ended), again.progress.env_steps, again.values) == (stage, env_steps, values)
        assert (again.validated_at, again.total().env_steps, again.is_staged) == (validated_at, total, True)
        assert again.state() == state


@pytest.mark.parametrize(
    ("written", "declared", "sentence"),
    [
        (("easy", "hard"), ("easy", "wild"), "easy, hard.*easy, wild"),
        (("easy", "hard"), ("hard",), "easy, hard.*hard"),
        (("easy",), (), "easy.*no stages"),
        ((), ("only",), "no stages.*only"),
    ],
)
def test_a_checkpoint_of_other_stages_is_refused(written, declared, sentence):
    def of(names):
        return CurriculumState(Curriculum(tuple(Stage(name=name, plan=plan()) for name in names)) if names else plan())

    old, new = of(written), of(declared)
    while not old.is_over:
        if old.stage_is_over:
            old.next_stage()
        train(old, 100)
    with pytest.raises(ValueError, match=sentence):
        new.restore(old.state())
    assert new.progress == Progress()


@pytest.mark.parametrize(("win_rate", "is_refused"), [(0.5, True), (0.9, False)])
def test_an_ended_stage_whose_budget_has_grown_is_refused_unless_it_was_passed(win_rate, is_refused):
    one = curriculum()
    for env_steps in (50, 100):
        train(one, env_steps, win_rate=win_rate)
    one.next_stage()
    grown = CurriculumState(Curriculum((Stage(name="easy", plan=plan(200), promotion=RULE), one.stages[1])))
    grown.restore(one.state())
    with pytest.raises(UserError, match=r"easy.*100.*200") if is_refused else contextlib.nullcontext():
        grown.check_budgets()
