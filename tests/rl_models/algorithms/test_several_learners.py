"""Several learners, as threads of this process that sum their tensors: they are equal to the bit, and equal to one.

Shares are as RLlib cuts them. Minibatches are cut from the joint batch, so the comparison with one learner on that
batch is exact, but for rounding, with any number of epochs, minibatches and parts.
"""

import copy
import dataclasses

import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Share
from rl_models.schedule import Progress, Schedule
from rl_models.training.loop import Learner, joined_statistics
from tests.rl_models.algorithms import small_qmix
from tests.rl_models.algorithms.together import (
    Together,
    assert_equal_gradients,
    assert_equal_replicas,
    assert_equals_one,
    at_once,
    run_together,
)
from tests.rl_models.training import small

FALLING = OptimiserSettings(learning_rate=Schedule.linear(1e-3, 0.0, 600), optimiser_epsilon=1e-4, max_grad_norm=1e9)
IN_EPISODES = dataclasses.replace(FALLING, learning_rate=Schedule.linear(1e-3, 1e-4, 40, "episodes"), max_grad_norm=0.5)
BY_DECISIONS = Ppo(joint_ratio=False, decision_minibatches=True)


def rooms(worlds):
    """A team with memory that chooses at every step; episodes of seven steps end at different times."""
    return small.collector(num_worlds=worlds, length=8)


def cooks(worlds):
    """Two cooks that carry on with macro actions also where a fragment begins."""
    one = small.cooks(worlds)
    assert not one.collect().obs["decides"][:, -1].all()
    return one


def learners_of(one, objective, settings=FALLING, **arguments):
    """Makes learners that begin with the weights of a collector's team."""
    return lambda **more: Learner(copy.deepcopy(one.policy), objective, settings, **arguments, **more)


def learned_as_one(shares, learner, fragments):
    """Learners that have learned together; they are equal, and equal to one that has learned alone."""
    made, alone = run_together(shares, learner, fragments), learner()
    for fragment in fragments:
        alone.update([fragment])
    assert_equal_replicas(made)
    assert_equals_one(made, alone, atol=1e-5)
    return made


KINDS = {
    "ppo": (rooms, Ppo(num_minibatches=4)),
    "ppo in parts": (rooms, Ppo(num_minibatches=3, gradient_accumulation_steps=2)),
    "ppo by agent": (rooms, Ppo(joint_ratio=False, num_epochs=1, value_clip_range=0.1)),
    "ppo with macro actions": (cooks, Ppo(joint_ratio=False)),
    "ppo of decisions": (cooks, BY_DECISIONS),
    "ppo of decisions in parts": (
        cooks,
        dataclasses.replace(BY_DECISIONS, gradient_accumulation_steps=3, value_loss_at="decisions"),
    ),
    "ppo of decisions, joint": (cooks, Ppo(value_loss_at="decisions", value_clip_range=0.1)),
    "impala of decisions": (cooks, Impala(joint_ratio=False, value_loss_at="decisions", gradient_accumulation_steps=2)),
    "impala": (rooms, Impala()),
    "impala in minibatches": (rooms, Impala(num_epochs=2, num_minibatches=3, gradient_accumulation_steps=2)),
    "impala that sums": (rooms, Impala(loss_reduction="sum", gradient_accumulation_steps=2)),
    "impala that sums steps": (cooks, Impala(loss_reduction="sum_steps", joint_ratio=False)),
    "qmix": (lambda worlds: small_qmix.collector(num_worlds=worlds), small_qmix.objective(batch_size=100)),
}
"""QMIX draws all that was played: its replay holds the learners' fragments in another order than one learner's."""
CASES = [(kind, (3, 4)) for kind in KINDS] + [("ppo", (2, 2, 3)), ("ppo of decisions", (2, 2, 3))]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "shares"), CASES, ids=str)
def test_their_update_is_that_of_one_learner_and_their_replicas_stay_equal(kind, shares):
    make_one, objective = KINDS[kind]
    one = make_one(sum(shares))
    fragment = one.collect()
    learner = learners_of(one, objective, seed=5)
    alone = learner()
    told = alone.update([fragment])
    several = run_together(shares, learner, [fragment])
    assert_equals_one(several, alone)
    joined = joined_statistics([one.told for one in several])
    assert {name: float(value) for name, value in joined.items()} == {
        name: pytest.approx(float(value), rel=1e-3, abs=1e-6) for name, value in told.items()
    }
    assert_equal_gradients(several, alone)
    assert_equal_replicas(several)
    assert several[0].progress.env_steps == fragment.env_steps()
    before = dict(one.policy.state_dict())
    assert any(not torch.equal(value, before[name]) for name, value in several[0].policy.state_dict().items())


@pytest.mark.parametrize("shares", [(3, 4), (3, 3, 3)])
def test_schedules_in_episodes_read_the_episodes_of_all(shares):
    one = rooms(sum(shares))
    fragments = [one.collect() for _ in range(2)]
    ended = sum(int((part.steps["terminated"] | part.steps["truncated"]).sum()) for part in fragments)
    objective = Ppo(entropy_coef=Schedule.linear(0.1, 0.0, 60, "episodes"), num_epochs=1)
    made = learned_as_one(shares, learners_of(one, objective, IN_EPISODES), fragments)
    assert made[0].progress.episodes == ended > 0
    assert made[0].optimiser.param_groups[0]["lr"] == IN_EPISODES.learning_rate.at(Progress(episodes=ended))


@pytest.mark.parametrize("shares", [pytest.param((1, 6), marks=pytest.mark.slow), (0, 7)])
@pytest.mark.parametrize(
    ("make_one", "objective"),
    [KINDS["ppo"], KINDS["impala in minibatches"], KINDS["qmix"], KINDS["ppo of decisions"]],
)
def test_a_learner_that_has_nothing_for_a_minibatch_or_an_update_takes_part_in_it(make_one, objective, shares):
    one = make_one(7)
    learned_as_one(shares, learners_of(one, objective), [one.collect() for _ in range(2)])


def test_what_all_learners_say_alike_is_logged_also_if_those_heard_of_held_nothing():
    nothing = {"learner/gradient_norm": 2.0}, Share(0.0, 0.0, 0.0)
    assert joined_statistics([nothing, nothing]) == {"learner/gradient_norm": 2.0}


def test_no_optimiser_step_is_made_without_steps():
    one = cooks(3)
    learner = Learner(one.policy, BY_DECISIONS, FALLING)
    assert learner.update([one.collect()[:0]]) == {}
    assert learner.progress.updates == 0


def test_they_stop_at_the_same_minibatch_as_one_learner():
    one = rooms(7)
    fragment = one.collect()
    objective = Ppo(num_epochs=4, num_minibatches=2, target_kl=1e-3, gradient_accumulation_steps=2)
    learner = learners_of(one, objective, OptimiserSettings(learning_rate=Schedule.constant(1e-2), max_grad_norm=1e9))
    alone = learner()
    told = alone.update([fragment])
    made = run_together((3, 4), learner, [fragment])
    assert told["learner/stopped"] == 1 and 0 < alone.progress.updates < 8
    assert_equals_one(made, alone, atol=1e-5)
    assert_equal_replicas(made)
    assert float(made[0].divergence.mean) == float(made[1].divergence.mean)
    assert float(made[0].divergence.mean) == pytest.approx(float(alone.divergence.mean), rel=1e-3)


@pytest.mark.parametrize("joint_ratio", [True, False])
def test_the_divergence_of_agents_that_decide_at_different_times_is_one_mean_over_all_parts(joint_ratio):
    """A mean of the parts' means weighs a decision of the part with few of them by more."""
    one = cooks(7)
    fragment = one.collect()
    settings = OptimiserSettings(learning_rate=Schedule.constant(1e-2), optimiser_epsilon=1e-4, max_grad_norm=1e9)

    def learner(parts=1, **arguments):
        objective = Ppo(
            joint_ratio=joint_ratio, num_epochs=2, num_minibatches=1, target_kl=100.0, gradient_accumulation_steps=parts
        )
        return Learner(copy.deepcopy(one.policy), objective, settings, **arguments)

    whole = learner()
    told = whole.update([fragment])
    in_parts = learner(4)
    in_parts.update([fragment])
    for each in (in_parts, *run_together((2, 5), learner, [fragment])):
        assert float(each.divergence.mean) == pytest.approx(float(whole.divergence.mean), rel=1e-4)
    assert whole.divergence.mean > 1e-4
    assert not [name for name in told if "entries" in name], "a count is nobody's curve"


def test_a_weight_gets_the_gradients_of_those_that_have_one_and_none_if_nobody_has():
    """Adam moves a weight whose gradient is zero, and leaves one alone that has none."""
    weights = [[torch.nn.Parameter(torch.ones(2)) for _ in range(3)] for _ in range(2)]
    weights[0][0].grad, weights[1][0].grad = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    weights[1][1].grad = torch.tensor([3.0, 4.0])
    at_once(lambda learners, own: learners.sum_gradients(own), Together(2).learners(), weights)
    for own in weights:
        assert own[0].grad.tolist() == [11.0, 22.0]
        assert own[1].grad.tolist() == [3.0, 4.0]
        assert own[2].grad is None
