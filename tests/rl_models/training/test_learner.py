"""The Ray-free learner: what an update does, what a checkpoint continues, and that small tasks are learned."""

import copy
import math

import numpy as np
import pytest
import torch

from rl_envs.registry import make
from rl_models.algorithms.imitation_learning import ImitationLearning
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings, load_optimiser, optimiser_tensors
from rl_models.algorithms.ppo import Ppo
from rl_models.schedule import Progress, Schedule
from rl_models.teams.constant_team import constant_team
from rl_models.training.evaluation import Evaluation
from rl_models.training.loop import WINDOW, Learner, train
from tests.rl_models.algorithms import small_qmix
from tests.rl_models.training.small import CENTRAL, LENGTH, Walks, begun, collector, cordial, rooms

ADAM = OptimiserSettings(learning_rate=Schedule.linear(3e-3, 0.0, 10_000), amsgrad=True)


def weights(policy):
    return {name: value.clone() for name, value in policy.state_dict().items()}


def learner_of(one, objective, settings=ADAM, **arguments):
    return Learner(one.policy, objective, settings, **arguments)


# ------------------------------------------------------------------------------------------ one update


@pytest.mark.parametrize("components", [3, CENTRAL])
@pytest.mark.parametrize(
    ("objective", "updates"),
    [(Ppo(num_epochs=2, num_minibatches=3), 6), (Ppo(joint_ratio=False), 8), (Impala(), 1)],
    ids=["ppo", "ppo by agent", "impala"],
)
def test_an_update_moves_every_parameter_and_counts_what_it_did(objective, updates, components):
    one = collector(components=components)
    learner, before = learner_of(one, objective), weights(one.policy)
    fragment = one.collect()
    statistics = learner.update([fragment])
    unmoved = [name for name, value in one.policy.state_dict().items() if torch.equal(value, before[name])]
    assert unmoved == []
    ended = int((fragment.steps["terminated"] | fragment.steps["truncated"]).sum())
    assert learner.progress == Progress(env_steps=6 * LENGTH, episodes=ended, updates=updates)
    assert all(math.isfinite(value) for value in statistics.values())
    assert statistics["learner/skipped_updates"] == 0


@pytest.mark.parametrize(
    ("make_one", "objective", "steps"),
    [
        (collector, Ppo(num_epochs=2, num_minibatches=3), 6),
        (collector, Impala(num_epochs=2, num_minibatches=3), 6),
        (collector, ImitationLearning(num_epochs=2, num_minibatches=3, extra_losses=(cordial(rooms(1)),)), 6),
        (small_qmix.collector, small_qmix.objective(gradient_steps=5), 5),
    ],
    ids=["ppo", "impala", "imitation", "qmix"],
)
def test_every_objectives_optimiser_steps_are_counted_and_schedules_follow_them(make_one, objective, steps):
    one = make_one(length=4)
    settings = OptimiserSettings(learning_rate=Schedule.linear(1e-3, 0.0, 20, "optimiser_steps"))
    learner = learner_of(one, objective, settings)
    for update in (1, 2):
        learner.update([one.collect()])
        assert learner.progress.updates == update * steps
    last = learner.optimiser.param_groups[0]["lr"]
    assert last == pytest.approx(1e-3 * (1 - (2 * steps - 1) / 20))


@pytest.mark.parametrize("objective", [Ppo(num_epochs=1, num_minibatches=1), Impala()])
def test_a_gradient_that_is_not_finite_skips_the_step_and_is_counted(objective):
    one = collector()
    learner = learner_of(one, objective)
    learner.update([one.collect()])
    before, moments = weights(one.policy), copy.deepcopy(optimiser_tensors(learner.optimiser))
    fragment = one.collect()
    fragment.steps["reward"][0, 0, 0] = np.nan
    statistics = learner.update([fragment])
    assert statistics["learner/skipped_updates"] == pytest.approx(1 / WINDOW)
    assert learner.counted_progress().skipped_updates == 1
    assert math.isnan(statistics["learner/gradient_norm"])
    torch.testing.assert_close(one.policy.state_dict(), before, rtol=0, atol=0)
    torch.testing.assert_close(optimiser_tensors(learner.optimiser), moments, rtol=0, atol=0)
    learner.update([one.collect()])
    assert any(not torch.equal(value, before[name]) for name, value in one.policy.state_dict().items())
    assert (learner.counted_progress().updates, learner.counted_progress().skipped_updates) == (3, 1)


def test_a_checkpoint_of_another_learning_rate_does_not_bring_it_along():
    """Population based training hands a loser the winner's checkpoint and a rate of its own."""
    source, target = (
        learner_of(collector(), Impala(), OptimiserSettings(learning_rate=Schedule.constant(rate)))
        for rate in (1e-3, 3e-5)
    )
    fragment = collector().collect()
    source.update([fragment])
    load_optimiser(target.optimiser, optimiser_tensors(source.optimiser))
    assert target.update([fragment])["schedule/learning_rate"] == pytest.approx(3e-5)
    assert [group["lr"] for group in target.optimiser.param_groups] == [pytest.approx(3e-5)]


# ------------------------------------------------------------------------------------------ evaluation


def test_evaluation_takes_the_first_episodes_of_every_world_however_long_they_are():
    class Numbered(Walks):
        """Worlds with odd numbers end after two steps, the others after eight."""

        metric_names = (*Walks.metric_names, "world")

        def _advance(self, actions, recorded):
            reward, over, _ = super()._advance(actions, recorded)
            limit = np.where(np.arange(self.num_worlds) % 2, 2, 8)
            return reward, over & False, self.state["episode_length"] + 1 >= limit

        def _episode_metrics(self, rows):
            return super()._episode_metrics(rows) | {"world": rows.astype(float)}

    def probe(output, obs):
        return {"line": obs["line"][:, :, 0].float().sum(-1), "is_one": torch.ones(len(output.values), 1)}

    evaluation = Evaluation(Numbered(4), constant_team(1, 2, 3), probe)
    episodes = evaluation.run(seed=0, episodes_per_world=3)
    worlds, counts = np.unique(episodes["world"], return_counts=True)
    assert dict(zip(worlds, counts, strict=True)) == {0: 3, 1: 3, 2: 3, 3: 3}
    np.testing.assert_array_equal(episodes["length"], np.where(episodes["world"] % 2, 2, 8))
    np.testing.assert_allclose(episodes["is_one"].reshape(12), 1)
    np.testing.assert_allclose(episodes["line"].reshape(12), 2)


# ---------------------------------------------------------------------------------- identity learning


def coordination_return(policy, **game):
    episodes = Evaluation(make("matrix_game-v0", 500, game="coordination", **game), policy).run(seed=9)
    return episodes["outcome"].mean()


OBJECTIVES = {
    "ppo": Ppo(entropy_coef=Schedule.constant(0.003), num_epochs=2, num_minibatches=2),
    "ppo_per_agent": Ppo(entropy_coef=Schedule.constant(0.003), num_epochs=2, num_minibatches=2, joint_ratio=False),
    "impala": Impala(entropy_coef=Schedule.constant(0.003)),
    "impala_per_agent": Impala(entropy_coef=Schedule.constant(0.003), joint_ratio=False),
}


@pytest.mark.long
@pytest.mark.parametrize(("name", "components"), [*((name, 3) for name in OBJECTIVES), ("impala", 1)])
def test_a_team_learns_to_choose_alike(name, components):
    objective, game = OBJECTIVES[name], {"num_agents": 2, "num_actions": 4}
    policy = constant_team(components, 2, 4, seed=1)
    assert coordination_return(policy, **game) < 0.4
    world = make("matrix_game-v0", 64, game="coordination", **game)
    one = begun(world, policy, 4, objective.needs_values, seed=0)
    learner = Learner(policy, objective, OptimiserSettings(learning_rate=Schedule.constant(0.02)))
    while coordination_return(policy, **game) <= 0.9:
        assert learner.progress.env_steps < 20_000
        train(one, learner, learner.progress.env_steps + 2_000)
