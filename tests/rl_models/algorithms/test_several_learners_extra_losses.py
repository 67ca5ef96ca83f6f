"""Several learners with the extra losses that experiments add: equal replicas always, and one learner's update.

A loss that is a mean over all steps is exact. A contrast compares the texts of a batch, so each learner contrasts its
own: its update is that of one learner whose minibatch comes in parts that are cut as the learners' worlds are.
"""

import copy
import dataclasses

import pytest
import torch

from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.losses.division import AgentModellingLoss, DivisionLoss
from rl_models.losses.grounding import GroundingLoss
from rl_models.losses.mention_contrast import MentionContrast
from rl_models.networks.matching import MatchingConfig
from rl_models.schedule import Schedule
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.training.loop import Learner
from tests.rl_models.algorithms.together import (
    assert_equal_gradients,
    assert_equal_replicas,
    assert_equals_one,
    run_together,
)
from tests.rl_models.networks import small_emma, small_endi
from tests.rl_models.networks.small_matching import sizes_of
from tests.rl_models.training import small
from tests.rl_models.training.small import begun

SETTINGS = OptimiserSettings(learning_rate=Schedule.linear(1e-3, 0.0, 600), optimiser_epsilon=1e-4, max_grad_norm=1e9)
PPO = Ppo(num_epochs=1, num_minibatches=2, gradient_accumulation_steps=2)
SHARES = (3, 4)


def rooms(worlds):
    return small.collector(num_worlds=worlds, length=8)


def divided(backbone):
    def make(worlds):
        place = small_endi.world(backbone, worlds)
        return begun(place, small_endi.team_for(backbone, place, models_others=True), 8)

    return make


def readers_of_letters(worlds):
    world = RockPaperScissors(worlds, setting="ten_letters")
    config = ReaderTeamConfig(MatchingConfig(has_two_tables=True, contrasts=True))
    return begun(world, reader_team(config, sizes_of(world), world.action_spec), 4)


def readers_of_manuals(worlds):
    place = small_emma.world(worlds)
    return begun(place, small_emma.team_in(place), 8)


EXACT = {
    "cordial": (rooms, small.cordial(small.rooms(1)), PPO),
    "cordial with losses that are summed": (rooms, small.cordial(small.rooms(1)), Impala(loss_reduction="sum")),
    "agent modelling of readers": (divided("reading"), AgentModellingLoss(0.5), PPO),
    "agent modelling of emma": (divided("emma"), AgentModellingLoss(0.5), PPO),
    **{name: (divided("emma"), DivisionLoss(name, weight=0.5), PPO) for name in ("num", "dis", "dis_balance", "kl")},
}
CONTRASTS = {
    "grounding": (readers_of_manuals, GroundingLoss(Schedule.constant(1.0))),
    "mention contrast": (readers_of_letters, MentionContrast(Schedule.constant(1.0))),
}


def made(make_one, extra, shares, objective):
    """(update of one learner on all worlds, that of several)."""
    one = make_one(sum(shares))
    fragments = [one.collect()]
    objective = dataclasses.replace(objective, extra_losses=(extra,))

    def learner(**arguments):
        return Learner(copy.deepcopy(one.policy), objective, SETTINGS, seed=5, **arguments)

    alone = learner()
    alone.update(fragments)
    return alone, run_together(shares, learner, fragments)


def weights_of(policy):
    return torch.cat([weight.detach().flatten() for weight in policy.parameters()])


@pytest.mark.long
@pytest.mark.parametrize(("make_one", "extra", "objective"), EXACT.values(), ids=EXACT)
def test_an_extra_loss_that_is_a_mean_over_steps_is_that_of_one_learner(make_one, extra, objective):
    alone, several = made(make_one, extra, SHARES, objective)
    assert_equals_one(several, alone)
    assert_equal_gradients(several, alone)
    assert_equal_replicas(several)


@pytest.mark.parametrize(("make_one", "extra"), CONTRASTS.values(), ids=CONTRASTS)
def test_a_contrast_is_that_of_each_learners_own_texts_and_replicas_stay_equal(make_one, extra):
    whole = Ppo(num_minibatches=1, num_epochs=1)
    alone, several = made(make_one, extra, (4, 3), whole)
    assert_equal_replicas(several)
    difference = (weights_of(several[0].policy) - weights_of(alone.policy)).abs().max()
    assert difference > 1e-5, "it contrasts the texts of all learners; say so where the flag's help says it does not"
    in_two = dataclasses.replace(whole, gradient_accumulation_steps=2)
    in_parts, _ = made(make_one, extra, (4, 3), in_two)
    assert_equals_one(several, in_parts)
    assert_equal_gradients(several, in_parts)
