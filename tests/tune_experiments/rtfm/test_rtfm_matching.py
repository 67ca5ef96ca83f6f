"""rtfm_matching: stages, what each is evaluated on, and what its rows of results are called."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.results.rows import Result
from tune_experiments.rtfm import evaluation
from tune_experiments.rtfm.evaluation import WithWrongDocuments, play
from tune_experiments.rtfm.matching import at_stage, plan

EXPERIMENT = find_experiment("rtfm_matching")
LAPTOP, SMOKE = (EXPERIMENT.presets[name] for name in ("laptop", "smoke"))
ALL = dataclasses.replace(LAPTOP, stages=("simplest", "group", "nl", "dyna", "10x10"))


def test_a_stage_adds_its_difficulty_to_those_before_it():
    games = [at_stage(ALL, index).task for index in range(5)]
    assert [(game.group, game.nl, game.dyna, game.size) for game in games] == [
        (False, False, False, 6),
        (True, False, False, 6),
        (True, True, False, 6),
        (True, True, True, 6),
        (True, True, True, 10),
    ]
    assert at_stage(ALL).task == games[-1]


def test_the_last_stage_is_tested_with_new_names_in_larger_rooms_and_with_wrong_documents():
    config = dataclasses.replace(SMOKE, test_episodes=4)
    stages = plan(config, "matching", 0).stages
    policy = stages[-1].plan.build_policy()
    found = EXPERIMENT.evaluate(config, "matching", policy)
    assert {test: EXPERIMENT.get_split(test.world) for test in found} == {
        Tested("train_6x6"): "train",
        Tested("valid_6x6"): "valid",
        Tested("eval_6x6"): "unseen",
        Tested("eval_6x6", "shuffled"): "unseen",
        Tested("eval_new_6x6"): "new_names",
        Tested("larger_7x7"): "larger",
        Tested("eval_6x6", method=RANDOM): "unseen",
    }
    greedy = {"win_rate", "fights_right_item", "fights_wrong_item", "fights_no_item"}
    metrics = greedy | {f"{name}_sampled" for name in greedy}
    assert all(metrics <= episodes.keys() for test, episodes in found.items() if not test.method)
    assert stages[0].evaluate is not None and stages[-1].evaluate is None


def test_one_table_is_of_the_end_and_one_of_the_stages_before():
    def line(world, condition=""):
        rest = (EXPERIMENT.get_split(world), 0, "win_rate", 0.5, 0.4, 0.6, 10, 7)
        return Result("x", EXPERIMENT.caption, "matching", world, *rest, condition=condition)

    results = [line("train_6x6"), line("eval_6x6"), line("eval_6x6", "shuffled")]
    earlier = [line("train_6x6", "after simplest"), line("eval_6x6", "after simplest")]
    earlier.append(line("eval_6x6", "shuffled after simplest"))
    ends, by_stage = EXPERIMENT.tables([*earlier, *results])
    assert ends.metrics == ("train_6x6", "eval_6x6", "shuffled_6x6") and len(ends.rows) == 1
    assert by_stage.metrics == ("simplest",)
    assert len(EXPERIMENT.tables(results)) == 1


def test_validation_plays_the_same_games_with_right_and_with_other_documents(monkeypatch):
    """A reader without words cannot tell them apart, whatever it does in these games."""
    played = []

    def noting(world, policy, way=Evaluation, **options):
        played.append((way, world))
        return play(world, policy, way, **options)

    monkeypatch.setattr(evaluation, "play", noting)
    trial = plan(dataclasses.replace(SMOKE, valid_episodes=60), "matching", 0).stages[0].plan
    policy = trial.build_policy()
    with torch.no_grad():
        policy.network.mentions.words.weight.zero_()
    found = trial.validate(policy)
    np.testing.assert_array_equal(found["unseen_win_rate"], found["shuffled_win_rate"])
    assert [way for way, _ in played] == [Evaluation, Evaluation, WithWrongDocuments]
    seen, right, wrong = (world.reset(0)["grid"] for _, world in played)
    np.testing.assert_array_equal(right, wrong)
    assert not np.array_equal(seen, right)


@pytest.mark.parametrize(
    ("methods", "pairs"),
    [
        (("matching", "matching_two_tables"), [("matching_two_tables", "matching")]),
        (("matching_named", "matching"), [("matching_named", "matching")]),
        (("matching",), []),
        (("matching_named", "matching_as_vector"), []),
    ],
)
def test_a_run_compares_an_ablation_with_the_reader_where_both_are_trained(methods, pairs):
    found = EXPERIMENT.main_comparisons(dataclasses.replace(LAPTOP, methods=methods))
    assert [(one.method, one.against) for one in found] == pairs
