"""What a run says of its optimiser steps beside those of its paper."""

import dataclasses

import pytest

from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.rllib.workers import Workers
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.optimiser_steps import optimiser_steps
from tune_experiments.launch.experiment import main


def test_they_are_those_of_all_epochs_and_minibatches_and_at_most_one_minibatch_a_world():
    workers = Workers(runners=2, worlds_per_runner=3, fragment_length=10)
    learner = LearnerConfig(num_epochs=2, num_minibatches=4)
    assert [optimiser_steps(learner, workers, steps) for steps in (60, 61, 600)] == [8, 16, 80]
    assert optimiser_steps(dataclasses.replace(learner, num_minibatches=100), workers, 60) == 12
    single = dataclasses.replace(learner, num_minibatches=100, decision_minibatches=True)
    assert optimiser_steps(single, workers, 60) == 120


@pytest.mark.parametrize(("runners", "learners", "aggregators", "samples"), [(2, 2, 0, 2), (0, 2, 0, 2), (3, 2, 1, 4)])
def test_impalas_learners_wait_for_a_whole_runners_sample_each(runners, learners, aggregators, samples):
    workers = Workers(
        runners=runners, worlds_per_runner=3, fragment_length=10, learners=learners, aggregators=aggregators
    )
    assert workers.env_steps_learned_at_once(takes_turns=False) == samples * 30
    learner = LearnerConfig(algorithm="impala", num_epochs=1, num_minibatches=1)
    assert optimiser_steps(learner, workers, samples * 60) == 2


@pytest.mark.parametrize(
    ("name", "ours", "papers"),
    [
        ("rtfm_txt2pi", "52,084", "52,084"),
        ("rtfm_curriculum", "52,084", "52,084"),
        ("endi_rtfm", "9,375", "9,375"),
        ("messenger_emma", "468,800", "1,875,000"),
        ("furnmove_methods", "2,400,030", "2,400,000"),
        ("furnlift", "240,030", "240,000"),
        ("red_minirts", "24,000", "24,000"),
        ("verco_salad", "15,628", "15,624"),
        ("overcooked_selfplay", "28,800", "28,800"),
    ],
)
def test_a_paper_preset_names_its_optimiser_steps_beside_the_papers(name, ours, papers):
    experiment = find_experiment(name)
    said = experiment.optimiser_steps(experiment.presets["paper"])
    assert f" {ours} " in said and f" {papers} " in said


def test_without_ray_they_are_those_of_one_process(tmp_path, capsys):
    flags = "--preset smoke --methods film --local --slice-seconds 1e-6 --learner.algorithm impala"
    workers = "--workers.learners 4 --workers.worlds-per-runner 6 --workers.fragment-length 8"
    main(find_experiment("rtfm_txt2pi"), [*flags.split(), *workers.split(), "--out", str(tmp_path)])
    said = capsys.readouterr().out.split()
    assert "48" in said and "192" not in said


def test_learning_rate_and_entropy_fall_in_optimiser_steps_if_a_run_says_so():
    learner = LearnerConfig(final_entropy_coef=0.0, schedule_optimiser_steps=300)
    entropy = learner.entropy_schedule(10_000)
    assert (entropy.unit, entropy.points[-1]) == ("optimiser_steps", (300, 0.0))
    in_env_steps = dataclasses.replace(learner, entropy_env_steps=70).entropy_schedule(10_000)
    assert (in_env_steps.unit, in_env_steps.points[-1]) == ("env_steps", (70, 0.0))
    experiment = find_experiment("rtfm_txt2pi")
    paper = experiment.presets["paper"]
    config = dataclasses.replace(paper, learner=dataclasses.replace(paper.learner, schedule_optimiser_steps=52_084))
    rate = experiment.plan(config, "txt2pi", 0).optimiser.learning_rate
    assert (rate.unit, rate.points) == ("optimiser_steps", ((0, 7e-4), (52_084, 0.0)))
