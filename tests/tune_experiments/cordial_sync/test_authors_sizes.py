"""Networks of the papers' presets in FurnMove and FurnLift have as many parameters as those of the authors' code."""

import dataclasses

import pytest

from tune_experiments.experiment.finding import find_experiment

SIZES = [
    ("furnmove_methods", {}, "sync_13_cordial", 3_180_051),
    ("furnmove_methods", {}, "marginal", 3_195_338),
    ("furnmove_methods", {}, "no_communication", 3_195_338),
    ("furnmove_methods", {}, "central_cordial", 2_986_732),
    ("furnmove_three_agents", {}, "sync_13_cordial", 3_231_835),
    ("furnmove_three_agents", {}, "marginal", 3_143_666),
    ("furnmove_three_agents", {}, "central_cordial", 3_644_421),
    ("furnmove_visual", {}, "sync_13_cordial", 3_422_619),
    ("furnmove_visual", {}, "sync_4_cordial", 3_362_013),
    ("furnmove_visual", {}, "sync_2_cordial", 3_348_545),
    ("furnmove_visual", {}, "marginal", 3_440_702),
    ("furnmove_visual", {}, "no_communication", 3_440_702),
    ("furnmove_visual", {}, "central_cordial", 3_360_116),
    ("furnmove_visual", {"num_agents": 3}, "sync_13_cordial", 3_474_371),
    ("furnmove_visual", {"num_agents": 3}, "marginal", 3_482_661),
    ("furnmove_visual", {"num_agents": 3}, "central_cordial", 4_669_293),
    ("furnlift", {}, "no_communication", 4_377_899),
    ("furnlift", {}, "marginal", 4_377_899),
    ("furnlift", {}, "sync", 4_352_497),
    ("furnlift", {}, "central", 4_389_079),
]


@pytest.mark.parametrize(("script", "changes", "method", "size"), SIZES)
def test_the_papers_preset_has_the_authors_number_of_parameters(script, changes, method, size):
    experiment = find_experiment(script)
    paper = experiment.presets["paper"]
    if changes:
        paper = experiment.papers(dataclasses.replace(paper, **changes))
    policy = experiment.plan(paper, method, 0).stages[-1].plan.build_policy()
    assert sum(weights.numel() for weights in policy.parameters()) == size
