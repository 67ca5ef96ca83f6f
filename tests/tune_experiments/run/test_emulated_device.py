"""Every team acts, learns and is validated on an accelerator as on the CPU, and the host seldom waits for it.

`emulated_device` counts what a GPU would wait for. The bounds are what an update of these plans costs now: two
minibatches in one epoch. A number that the host asks for in each minibatch breaks them.
"""

import dataclasses

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import to_batch
from rl_models.runtime import cuda_graph
from rl_models.runtime import device as devices
from rl_models.training.loop import Divergence, pad_text_tables, parts
from tests.emulated_device import DEVICE, NAME, EmulatedCapture, emulated_device
from tests.tune_experiments.run.teams_of_all_kinds import (
    MINIBATCHES,
    STEPS,
    TEAMS,
    loop_of,
    numbers_of,
    plan_of,
    play_and_learn,
    weights_of,
)


def counted_acting(collector, counts):
    """Copies and syncs of each step of acting after the first: a GPU can capture a step that has none."""
    asked = []

    def decide(inputs):
        before = counts.copies, counts.syncs
        said = collector.compute_decision(inputs)
        asked.append((counts.copies - before[0], counts.syncs - before[1]))
        return said

    collector.decide = decide
    return asked


OFTEN = (
    ("furnmove_methods", "sync_13_cordial"),
    ("messenger_emma", "emma_grounding"),
    ("endi_rtfm", "qmix"),
    ("overcooked_selfplay", "selfplay"),
    ("verco_salad", "commnet"),
)
"""One team of each way of learning; the others are tested in `make slow`."""


def most_slow(teams, often=OFTEN):
    return [team if team in often else pytest.param(*team, marks=pytest.mark.slow) for team in teams]


@pytest.mark.long
@pytest.mark.parametrize(("script", "method"), most_slow(TEAMS))
def test_a_team_on_an_emulated_device_plays_and_learns_as_on_the_cpu(script, method):
    plan = plan_of(script, method)
    collector, learner = loop_of(plan, plan.build_policy())
    fragments = [collector.collect()]
    learner.update(fragments)
    validated = plan.validate(collector.policy)
    with emulated_device() as counts:
        policy = plan.build_policy().to(DEVICE)
        there, learner_there = loop_of(plan, policy)
        asked = counted_acting(there, counts)
        found = [there.collect()]
        counts.copies = counts.syncs = 0
        learner_there.update(found)
        waited = counts.copies, counts.syncs
        validated_there = plan.validate(policy)
        weights = weights_of(policy)
    assert {value.device.type for value in policy.parameters()} == {DEVICE.type}
    assert method == "verco" or asked[1:] == [(0, 0)] * (STEPS - 1)
    for name, expected in numbers_of(fragments[0]).items():
        np.testing.assert_allclose(numbers_of(found[0])[name], expected, atol=1e-4, err_msg=name)
    for name, expected in weights_of(collector.policy).items():
        np.testing.assert_allclose(weights[name], expected, atol=1e-5, err_msg=name)
    for name, expected in validated.items():
        np.testing.assert_allclose(validated_there[name], expected, atol=1e-4, err_msg=name)
    assert all(has <= bound for has, bound in zip(waited, TEAMS[script, method], strict=True)), waited


SELFPLAY = ("overcooked_selfplay", "selfplay")


def counted_update(plan, change=lambda learner: None):
    """Counts of an update by a learner that `change` has been applied to, and its updates."""
    with emulated_device() as counts:
        collector, learner = loop_of(plan, plan.build_policy().to(DEVICE))
        fragment = collector.collect()
        change(learner)
        counts.copies = counts.syncs = 0
        learner.update([fragment])
        return (counts.copies, counts.syncs), learner.progress.updates


def ask_for_the_loss(learner):
    """As an objective would that logs its loss as a number."""
    loss = learner.objective.loss

    def asking(*arguments):
        found = loss(*arguments)
        found[0].item()
        return found

    object.__setattr__(learner.objective, "loss", asking)


def limit_divergence(learner):
    learner.divergence = Divergence(dataclasses.replace(learner.objective, target_kl=1e9))


@pytest.mark.parametrize("change", [ask_for_the_loss, limit_divergence])
def test_a_number_asked_for_once_a_minibatch_is_counted_on_an_emulated_device(change):
    waited, _ = counted_update(plan_of(*SELFPLAY), change)
    assert waited[1] == TEAMS[SELFPLAY][1] + MINIBATCHES


@pytest.mark.long
@pytest.mark.parametrize("minibatches", [pytest.param(1, marks=pytest.mark.slow), MINIBATCHES])
def test_impala_makes_the_host_wait_no_more_with_minibatches_on_an_emulated_device(minibatches):
    script, method = "rtfm_txt2pi", "txt2pi"
    plan = plan_of(script, method)
    plan = dataclasses.replace(plan, objective=Impala(loss_reduction="sum_steps", num_minibatches=minibatches))
    waited, updates = counted_update(plan)
    assert updates == minibatches
    assert all(has <= most for has, most in zip(waited, TEAMS[script, method], strict=True))


def test_a_constant_left_on_the_cpu_is_refused_on_an_emulated_device():
    def leave(learner):
        learner.policy.value_head.register_forward_hook(lambda module, inputs, values: values + torch.ones(1))

    with pytest.raises(RuntimeError, match="emulated"):
        counted_update(plan_of(*SELFPLAY), leave)


def test_an_emulated_device_counts_and_refuses_as_cuda_does():
    with emulated_device() as counts:
        there = torch.arange(6.0).reshape(2, 3).to(DEVICE)
        assert (counts.copies, counts.syncs) == (1, 0)
        assert there.sum().item() == 15.0
        assert there[there > 2].shape == (3,)
        assert (counts.copies, counts.syncs) == (1, 2)
        assert there.cpu().numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
        assert (counts.copies, counts.syncs) == (2, 3)
        row = torch.ones(1, dtype=torch.long)
        assert there[row].tolist() == [[3, 4, 5]]  # the index of x[index] may lie on the CPU, and is copied
        assert counts.copies == 3
        refused = (
            lambda: there + torch.ones(3),
            lambda: there @ torch.ones(3, 1),
            lambda: there.index_select(0, row),
            there.numpy,
        )
        for mixed in refused:
            with pytest.raises(RuntimeError):
                mixed()


def test_a_minibatch_on_an_emulated_device_is_cut_into_parts_there():
    plan = plan_of("overcooked_selfplay", "selfplay")
    fragment = loop_of(plan, plan.build_policy())[0].collect()
    with emulated_device():
        found = parts(Ppo(gradient_accumulation_steps=2), to_batch(fragment, DEVICE))
        assert [part["is_first"].device.type for part in found] == [DEVICE.type] * 2
        cut = [part["reward"].cpu().numpy() for part in found]
    np.testing.assert_array_equal(np.concatenate(cut), fragment.steps["reward"])


@pytest.mark.parametrize("cell", [torch.nn.LSTM, torch.nn.GRU])
def test_a_recurrence_on_an_emulated_device_has_the_gradients_of_the_cpu(cell):
    torch.manual_seed(0)
    words, layer = torch.randn(2, 5, 3), cell(3, 4, batch_first=True)
    layer(words)[0].square().sum().backward()
    expected = [weight.grad.clone() for weight in layer.parameters()]
    layer.zero_grad()
    with emulated_device():
        layer.to(DEVICE)(words.to(DEVICE))[0].square().sum().backward()
        found = [weight.grad.cpu() for weight in layer.parameters()]
    torch.testing.assert_close(found, expected)


def test_tables_of_texts_have_few_sizes_on_an_emulated_device():
    with emulated_device():
        for rows, wanted in ((1, 8), (72, 72), (73, 80), (613, 640), (646, 704), (1024, 1024)):
            batch = {"texts/manual": torch.ones(rows, 3, dtype=torch.int32), "is_first": torch.zeros(2, 4)}
            assert len(pad_text_tables(batch)["texts/manual"]) == rows
            there = pad_text_tables({name: value.to(DEVICE) for name, value in batch.items()})
            assert there["texts/manual"].shape == (wanted, 3)
            assert there["texts/manual"].sum().item() == 3 * rows


CROSSINGS = {
    "index": lambda there: there[torch.tensor([1, 0])],
    "number to the host": lambda there: there.sum().cpu(),
    "number to the device": lambda there: there * torch.tensor(2.0).to(DEVICE),
    "number written": lambda there: there[0].copy_(torch.tensor(2.0)),
    "table": lambda there: there + torch.ones(3).to(DEVICE),
    "none": lambda there: (there * 2 + 1)[:2].sum() * torch.tensor(2.0),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_copies_that_no_graph_can_hold_are_noticed_on_an_emulated_device(name):
    with emulated_device():
        there = torch.arange(3.0).to(DEVICE)
        with cuda_graph.Watch() as watch:
            CROSSINGS[name](there)
    assert watch.waits == (name != "none")


class FallsByItself:
    """An extra loss that reads the counts of training itself, and not by a schedule."""

    def __call__(self, output, batch, progress):
        weight = max(0.0, 1.0 - progress.env_steps / 20)
        return weight * output.values.square().mean(), {"schedule/own": weight}


ROLES = [("overcooked_roles", method) for method in ("roma", "ldsa", "maser")]


def with_more_passes(plan):
    """Objective with several minibatches an update, and targets that change."""
    changes = {"num_epochs": 2, "gradient_steps": 3, "update_target_every_updates": 2}
    known = {field.name for field in dataclasses.fields(plan.objective)}
    return dataclasses.replace(
        plan, objective=dataclasses.replace(plan.objective, **{key: changes[key] for key in known & changes.keys()})
    )


def played_and_learned(plan, captures, updates=4):
    """What is played, statistics and weights of some updates on the emulated device; and the loop."""
    with pytest.MonkeyPatch.context() as patch, emulated_device():

        class Counted(EmulatedCapture):
            def __init__(self, *arguments):
                captures.append(1)
                super().__init__(*arguments)

        patch.setattr(cuda_graph, "Capture", Counted)
        patch.setattr(devices, "can_capture", lambda device: captures is not None and device.type == NAME)
        collector, learner = loop_of(plan, plan.build_policy().to(DEVICE))
        played, said = play_and_learn(collector, learner, updates)
        statistics = [{name: float(value) for name, value in one.items()} for one in said]
        return played, statistics, weights_of(collector.policy), (collector, learner)


def assert_equal_loops(found, expected):
    for one, other in zip(found[0], expected[0], strict=True):
        for name, value in numbers_of(other).items():
            np.testing.assert_allclose(numbers_of(one)[name], value, atol=1e-5, err_msg=name)
    for one, other in zip(found[1], expected[1], strict=True):
        assert one == pytest.approx(other, abs=1e-5, nan_ok=True)
    for name, value in expected[2].items():
        np.testing.assert_allclose(found[2][name], value, atol=1e-5, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "method"), most_slow((team for team in (*TEAMS, *ROLES) if team[1] != "verco"), OFTEN[3:])
)
def test_a_team_plays_and_learns_with_captured_graphs_on_an_emulated_device_as_without(script, method):
    plan, captures = with_more_passes(plan_of(script, method)), []
    found = played_and_learned(plan, captures)
    assert len(captures) >= 2  # of acting and of learning
    assert not any(one.graphed.never for one in found[3])
    assert_equal_loops(found, played_and_learned(plan, None))


@pytest.mark.long
def test_a_loss_that_reads_counts_itself_is_never_stale_on_an_emulated_device():
    plan = plan_of("overcooked_selfplay", "selfplay")
    plan = dataclasses.replace(plan, objective=dataclasses.replace(plan.objective, extra_losses=(FallsByItself(),)))
    found = played_and_learned(plan, [])
    assert len({one["schedule/own"] for one in found[1]}) > 2
    assert_equal_loops(found, played_and_learned(plan, None))
