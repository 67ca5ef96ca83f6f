"""COLE: the solver's numbers by hand, who is drawn as partner, and how the population grows."""

import dataclasses
import functools

import numpy as np
import pytest
import torch

from rl_models.schedule import Progress
from rl_models.training.checkpoint import get_checkpoint_path, load_checkpoint, save_checkpoint
from tests.rl_models.training.small import begun
from tests.tune_experiments.overcooked.runs import INTERACT, STAY, stubborn_team
from tests.tune_experiments.run.stages import make_local
from tune_experiments.overcooked import cole_solver as solver
from tune_experiments.overcooked.cole import Cole
from tune_experiments.overcooked.config import ColeSettings
from tune_experiments.overcooked.partners import KitchenWithMixture, Mixture
from tune_experiments.overcooked.trials import plan, self_play_team, worlds_of_generation
from tune_experiments.overcooked_selfplay import SMOKE

PAIR = np.array([[3.0, 0], [0, 2]])
THREE = np.array([[60.0, 50, 0], [50, 60, 10], [0, 10, 80]])


def test_two_members_who_cannot_cook_together():
    np.testing.assert_allclose(solver.page_rank(PAIR), [0.5, 0.5])
    assert solver.coalition_value(PAIR) == pytest.approx(1.25)
    np.testing.assert_allclose(solver.shapley_values(PAIR), [1.5, 1.0])
    weights = solver.partner_weights(PAIR)
    np.testing.assert_allclose(weights, [0.0588, 0.9412], atol=1e-4)
    visited = solver.add_visit_weights(weights, np.array([[0, 0], [1, 0]]), 1.0)
    np.testing.assert_allclose(visited, [weights, [0.506, 1.8357]], atol=1e-4)


def test_a_member_who_cooks_alone_is_trained_with_least():
    rank = solver.page_rank(THREE)
    np.testing.assert_allclose(rank, [0.3310, 0.3601, 0.3089], atol=1e-4)
    np.testing.assert_allclose(solver.softmax(-10 * rank), [0.3339, 0.2496, 0.4165], atol=1e-4)
    assert solver.coalition_value(THREE) == pytest.approx(34.722, abs=1e-3)
    np.testing.assert_allclose(solver.shapley_values(THREE), [20, 20, 26.667], atol=1e-3)
    np.testing.assert_allclose(solver.partner_weights(THREE), [0.4587, 0.4587, 0.0826], atol=1e-4)


def test_weights_know_neither_the_unit_of_payoffs_nor_the_order_of_members():
    payoffs, order = np.random.default_rng(0).random((4, 4)), [2, 0, 3, 1]
    weights = solver.partner_weights(payoffs)
    np.testing.assert_allclose(solver.partner_weights(20 * payoffs), weights)
    np.testing.assert_allclose(solver.partner_weights(payoffs[np.ix_(order, order)]), weights[order])


def test_a_learner_joins_if_it_or_a_new_member_is_preferred_or_after_two_refusals():
    np.testing.assert_allclose(solver.unpopularity(np.ones((3, 3))), [1, 1, -0.5])
    of_the_oldest = np.array([[9.0, 9, 9], [9, 1, 1], [9, 1, 1]])
    np.testing.assert_array_equal(solver.preferred(of_the_oldest), [2, 0, 0])
    assert not solver.is_accepted(of_the_oldest, 0, 1) and not solver.is_accepted(of_the_oldest, 1, 1)
    assert solver.is_accepted(of_the_oldest, 2, 1)
    assert solver.is_accepted(of_the_oldest[::-1, ::-1], 0, 1)
    assert solver.is_accepted(np.array([[1.0, 9, 1], [9, 9, 9], [1, 9, 1]]), 0, 1)


def test_after_generation_50_two_of_five_members_are_new():
    payoffs = np.ones((6, 6))
    payoffs[:, 3] = payoffs[3] = 9.0  # all prefer the second newest member
    assert not solver.is_accepted(payoffs, 0, 50)
    assert solver.is_accepted(payoffs, 0, 51)


def kitchens(worlds, weights, self_share=0.0, visit_weight=0.0):
    partners = [stubborn_team(SMOKE, STAY, number) for number in range(len(weights))]
    mixture = Mixture(weights, self_share, visit_weight)
    world = KitchenWithMixture(worlds, partners=partners, mixture=mixture, max_episode_steps=3)
    world.reset(3)
    return world


def played(world, episodes):
    drawn = []
    for _ in range(episodes):
        drawn.append(world.state["partner"].copy())
        for _ in range(3):
            world.step(np.full((world.num_worlds, 2), INTERACT))
    return np.array(drawn)


def test_partners_come_by_their_weights_and_the_learner_itself_by_its_share():
    drawn = played(kitchens(400, (0.2, 0.8), self_share=0.25), 4)
    shares = np.bincount(drawn.ravel(), minlength=3) / drawn.size
    np.testing.assert_allclose(shares, [0.15, 0.6, 0.25], atol=0.04)


def test_who_was_met_seldom_is_met_sooner():
    world = kitchens(300, (0.05, 0.95), visit_weight=1.0)
    drawn = played(world, 6)
    visits = np.stack([(drawn == number).sum(0) for number in range(2)], -1)
    np.testing.assert_array_equal(world.state["visits"] - np.eye(2, dtype=int)[world.state["partner"]], visits)
    assert visits.sum() == 1_800
    plain = played(kitchens(300, (0.05, 0.95)), 6)
    assert (visits[:, 0] > 0).mean() > (plain == 0).any(0).mean() + 0.2


def test_visits_begin_anew_with_a_game():
    world = kitchens(5, (0.5, 0.5))
    played(world, 4)
    assert world.state["visits"].sum() == 25
    world.reset(4)
    assert world.state["visits"].sum() == 5


def test_both_chefs_learn_where_the_learner_is_its_own_partner():
    world = kitchens(40, (1.0,), self_share=0.5)
    alone = world.state["partner"] == 1
    assert 0 < alone.sum() < 40
    np.testing.assert_array_equal(world.observe()["alive"].sum(1), np.where(alone, 2, 1))
    world.step(np.full((40, 2), 2))  # east
    turned = (world.state["headings"] == 2).sum(1)
    assert (turned[alone] == 2).all() and (turned[~alone] == 1).all()


class Counting:
    """Stands where RLlib's algorithm would: each call trains 10 env steps and adds 1 to every weight."""

    def __init__(self, made, trial):
        made.append(self)
        self.trial, self.team, self.steps = trial, trial.new_policy(), 0
        with torch.no_grad():
            for weight in self.team.parameters():
                weight.fill_(0)

    def train(self):
        self.steps += 10
        with torch.no_grad():
            for weight in self.team.parameters():
                weight.add_(1)
        return {"loss/total": 0.0}

    def progress(self):
        return Progress(env_steps=self.steps)

    def checkpoint(self):
        weights = {name: value.clone() for name, value in self.team.state_dict().items()}
        return {"weights": weights, "optimizer": {}, "runner_0": {"rows": np.zeros(1)}}, self.progress()

    def restore(self, tensors, progress):
        self.restored = set(tensors)
        self.steps = progress.env_steps
        self.team.load_state_dict({name: torch.as_tensor(value) for name, value in tensors["weights"].items()})

    def close(self):
        self.is_closed = True


def skill(team):
    return float(next(iter(team.parameters())).flatten()[0].detach())


def grown(payoffs, settings, budget=120):
    """An algorithm that has no game, and what it asked for."""
    made, asked = [], []

    def make_worlds(members, weights, env_steps):
        asked.append(([skill(member) for member in members], list(weights), env_steps))
        return "worlds"

    trial = dataclasses.replace(plan(SMOKE, "selfplay", 0), budget_env_steps=budget)
    algorithm = Cole(settings, trial, make_worlds, payoffs, lambda trial: Counting(made, trial))
    return algorithm, made, asked


def test_a_generation_ends_with_its_share_of_the_budget_and_its_learner_joins():
    settings = ColeSettings(generations=4, initial_generations=2, population_size=2)
    algorithm, made, asked = grown(lambda first, second: skill(first) + 2 * skill(second), settings)
    rows = [algorithm.train() for _ in range(12)]
    assert [row["cole/members"] for row in rows if "cole/members" in row] == [1, 2, 2, 2]
    assert [found.members for found in algorithm.generations] == [[], [30], [30, 60], [60, 90]]
    assert algorithm.generations[1].payoffs == [[9, 15], [12, 18]]
    assert [env_steps for *_, env_steps in asked] == [0, 30, 60, 90, 120]
    assert [members for members, *_ in asked] == [[], [], [3, 6], [6, 9], [9, 12]]
    np.testing.assert_allclose(asked[2][1], solver.partner_weights(np.array([[9.0, 15], [12, 18]])))
    assert all(one.is_closed for one in made[:-1]) and made[-1].restored == {"weights", "optimizer"}


def test_a_learner_that_nobody_prefers_learns_on_until_it_was_refused_twice():
    def payoffs(first, second):
        return 10.0 if 10 in (skill(first) * 10, skill(second) * 10) else 1.0

    settings = ColeSettings(generations=6, initial_generations=1)
    algorithm, _, _ = grown(payoffs, settings, budget=60)
    for _ in range(6):
        algorithm.train()
    assert [found.accepted for found in algorithm.generations] == [True, True, False, False, True, False]
    assert algorithm.generations[-1].members == [10, 20, 50]


@pytest.mark.long
def test_kitchens_learners_and_members_of_a_stored_trial_go_on_exactly(tmp_path):
    settings = ColeSettings(generations=3, initial_generations=1)
    workers = dataclasses.replace(SMOKE.workers, worlds_per_runner=4, fragment_length=20)
    config = dataclasses.replace(SMOKE, workers=workers, budget_env_steps=720, cole=settings)
    worlds = functools.partial(worlds_of_generation, config)

    def begun():
        return Cole(settings, plan(config, "cole", 0), worlds, lambda first, second: abs(skill(first)), make_local)

    one, other = begun(), begun()
    for _ in range(5):
        one.train()
    assert len(one.generations) == 1
    tensors, progress = one.checkpoint()
    save_checkpoint(tmp_path, progress.env_steps, tensors, {})
    other.restore(load_checkpoint(get_checkpoint_path(tmp_path, progress.env_steps)).tensors, progress)
    for _ in range(4):
        assert one.train()["loss/total"] == other.train()["loss/total"]
    assert len(one.generations) == 3 and one.generations == other.generations
    for name, weights in one.policy().state_dict().items():
        assert weights.equal(other.policy().state_dict()[name])


def test_partners_are_paid_as_far_as_shaping_has_fallen():
    config = dataclasses.replace(SMOKE, budget_env_steps=1_000)
    first = worlds_of_generation(config, [], [], 0)
    make_later = worlds_of_generation(config, [self_play_team(SMOKE, 0)], [1.0], 300)
    assert [make.keywords["shaping"] for make in (first, make_later)] == [1.0, 0.5]
    later = make_later(num_worlds=2, first_world=0)
    assert isinstance(later, KitchenWithMixture) and later.max_episode_steps == SMOKE.max_episode_steps
    assert begun(later, self_play_team(SMOKE, 1), 10, seed=0).collect().obs["alive"].any(2).all()
