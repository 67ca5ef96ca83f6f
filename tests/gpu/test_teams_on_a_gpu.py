"""Teams play and learn on a real GPU as on the CPU; `make gpu` runs these tests.

torch's GPU code does not work in a process that has imported `emulated_device`.
Captures (`rl_models/runtime/cuda_graph.py`) are made in the second fragment at the latest, so later ones are replayed.
"""

import copy
import dataclasses
import os

import numpy as np
import pytest

from rl_models.algorithms.optimiser import load_optimiser, optimiser_tensors
from rl_models.runtime.device import chosen_device
from rl_models.schedule import Progress
from rl_models.training.loop import FIRST_RATIO_ERROR
from tests.tune_experiments.run.teams_of_all_kinds import (
    TEAMS,
    loop_of,
    numbers_of,
    plan_of,
    play_and_learn,
    weights_of,
)

pytestmark = pytest.mark.skipif("CONCORD_GPU_TESTS" not in os.environ, reason="`make gpu` runs these")
GPU = chosen_device("cuda" if "CONCORD_GPU_TESTS" in os.environ else "auto")
ASKS = {("verco_salad", "verco")}
"""Teams that ask the GPU for numbers, so that nothing of them can be captured."""
UPDATES = 4


def played(plan, device, updates=UPDATES):
    """Loop, fragments and statistics of some updates of a team that begins with its initial weights."""
    collector, learner = loop_of(plan, plan.build_policy().to(device))
    return (collector, learner), *play_and_learn(collector, learner, updates)


def assert_equal(ones, others, atol=1e-4):
    for name, expected in others.items():
        np.testing.assert_allclose(ones[name], expected, atol=atol, err_msg=name)


@pytest.mark.parametrize(("script", "method"), TEAMS)
def test_a_team_plays_and_learns_on_a_gpu_as_on_the_cpu(script, method):
    plan = plan_of(script, method)
    (collector, learner), fragments, statistics = played(plan, GPU)
    (expected, _), on_cpu, _ = played(plan, "cpu")
    assert {value.device for value in collector.policy.parameters()} == {GPU}
    assert_equal(numbers_of(fragments[0]), numbers_of(on_cpu[0]))
    for one, other in zip(fragments[1:], on_cpu[1:], strict=True):  # weights differ by more with every update
        assert_equal(numbers_of(one), numbers_of(other), atol=1e-3)
    assert_equal(weights_of(collector.policy), weights_of(expected.policy), atol=1e-3)
    for found in statistics:
        assert float(found.get(FIRST_RATIO_ERROR, 0.0)) < 1e-4
    assert collector.graphed.never == learner.graphed.never == ((script, method) in ASKS)


@pytest.mark.parametrize(("script", "method"), [team for team in TEAMS if team[1] not in ("qmix", "verco")])
def test_in_bfloat16_acting_and_learning_round_alike_and_clip_no_sample_more(script, method, capsys):
    plan = plan_of(script, method)
    once = {"num_epochs": 1, "num_minibatches": 1}
    known = {field.name for field in dataclasses.fields(plan.objective)}
    objective = dataclasses.replace(plan.objective, **{key: once[key] for key in known & once.keys()})
    gaps = {}
    for precision in ("float32", "bfloat16"):
        optimiser = dataclasses.replace(plan.optimiser, precision=precision)
        rounded = dataclasses.replace(plan, objective=objective, optimiser=optimiser)
        policy = rounded.new_policy().to(GPU)
        collector, learner = loop_of(rounded, policy)
        found = [learner.update([collector.collect()]) for _ in range(UPDATES)]
        gaps[precision] = max(float(one[FIRST_RATIO_ERROR]) for one in found)
        assert not any(float(one.get("policy/clip_fraction", 0.0)) for one in found), precision
    with capsys.disabled():
        print(f"{script} {method}: largest |ratio - 1| {gaps}")


@pytest.mark.parametrize(("script", "method"), TEAMS)
def test_a_continued_loop_on_a_gpu_has_the_counters_and_data_of_an_unbroken_one(script, method):
    plan = plan_of(script, method)
    (_, unbroken), expected, _ = played(plan, GPU)
    (collector, learner), first, _ = played(plan, GPU, UPDATES // 2)
    snapshot, weights = collector.snapshot(), copy.deepcopy(collector.policy.state_dict())
    tensors, progress = optimiser_tensors(learner.optimiser), Progress(**vars(learner.progress))
    again, goes_on = loop_of(plan, plan.build_policy().to(GPU))
    again.policy.load_state_dict(weights)
    load_optimiser(goes_on.optimiser, tensors)
    goes_on.progress = progress
    if learner.replay is not None:
        goes_on.replay.load(learner.replay.tensors())
    again.restore(snapshot)
    rest, _ = play_and_learn(again, goes_on, UPDATES - UPDATES // 2)
    assert goes_on.progress == unbroken.progress
    for one, other in zip(first + rest, expected, strict=True):
        assert_equal(numbers_of(one), numbers_of(other))
