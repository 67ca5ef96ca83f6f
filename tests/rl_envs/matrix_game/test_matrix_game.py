"""Team rock-paper-scissors and coordination games: the paper's values and the rules of appendix A.2."""

import itertools

import numpy as np
import pytest

from rl_envs.matrix_game.payoff import PAPER, ROCK, SCISSORS, payoff_tensor, value_against_adversary
from rl_envs.matrix_game.world import MatrixGame

OPTIMAL_MARGINAL = np.array([2 - np.sqrt(2), 0.0, np.sqrt(2) - 1])
ONLY_STEP = {"return", "length", "coordinated", "outcome"}


def play(world, actions, **draws):
    actions = np.tile(np.asarray(actions), (world.num_worlds, 1))
    return world.step(actions, chance=draws or None)


def test_the_team_loses_when_its_agents_choose_different_actions():
    payoff = payoff_tensor()
    for first, second, reply in itertools.product(range(3), repeat=3):
        if first != second:
            assert payoff[first, second, reply] == -1


@pytest.mark.parametrize(
    ("own", "beats"), [(ROCK, SCISSORS), (PAPER, ROCK), (SCISSORS, PAPER)], ids=["rock", "paper", "scissors"]
)
def test_the_team_wins_ties_and_loses_by_the_rules_of_rock_paper_scissors(own, beats):
    payoff = payoff_tensor()
    assert payoff[own, own, beats] == 1
    assert payoff[beats, beats, own] == -1
    assert payoff[own, own, own] == 0


def test_best_independent_policies_reach_five_minus_four_roots_of_two():
    joint = np.outer(OPTIMAL_MARGINAL, OPTIMAL_MARGINAL)
    assert value_against_adversary(joint) == pytest.approx(5 - 4 * np.sqrt(2), abs=1e-12)


@pytest.mark.parametrize(
    ("joint", "value"),
    [(np.full((3, 3), 1 / 9), -2 / 3), (np.diag([1.0, 0, 0]), -1.0), (np.eye(3) / 3, 0.0)],
    ids=["uniform", "pure", "rank three"],
)
def test_value_of_a_joint_policy(joint, value):
    assert value_against_adversary(joint) == pytest.approx(value, abs=1e-12)


def test_world_pays_what_the_tensor_says_for_every_recorded_reply():
    world = MatrixGame(num_worlds=27, adversary="recorded")
    world.reset(0)
    all_of_them = np.array(list(itertools.product(range(3), repeat=3)))
    _, reward, terminated, truncated, info = world.step(all_of_them[:, :2], {"adversary": all_of_them[:, 2]})
    expected = payoff_tensor()[tuple(all_of_them.T)]
    np.testing.assert_array_equal(reward, np.stack([expected, expected], 1))
    assert terminated.all() and not truncated.any()
    assert set(info["episode"]) == ONLY_STEP
    np.testing.assert_array_equal(info["episode"]["outcome"], expected)
    np.testing.assert_array_equal(info["episode"]["coordinated"], all_of_them[:, 0] == all_of_them[:, 1])


def test_adversary_can_be_changed_between_steps_and_draws_from_its_probabilities():
    world = MatrixGame(num_worlds=4000)
    world.reset(5)
    world.set_adversary([0.0, 0.25, 0.75])
    outcome = play(world, [ROCK, ROCK])[1][:, 0]
    assert (outcome != 0).all()
    assert (outcome == 1).mean() == pytest.approx(0.75, abs=0.03)


def test_snapshot_keeps_the_adversary():
    world, other = MatrixGame(num_worlds=64), MatrixGame(num_worlds=64)
    world.reset(1)
    world.set_adversary([0.1, 0.2, 0.7])
    other.restore(world.snapshot())
    for _ in range(3):
        np.testing.assert_array_equal(play(world, [0, 0])[1], play(other, [0, 0])[1])


def test_a_recorded_adversary_needs_a_recorded_draw_at_each_step():
    world = MatrixGame(adversary="recorded")
    world.reset(0)
    with pytest.raises(ValueError, match="adversary"):
        play(world, [0, 0])
    with pytest.raises(ValueError, match=r"integers 0 \.\. 2"):
        play(world, [0, 0], adversary=np.array([3]))


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_coordination_rewards_the_good_joint_actions_only(num_agents):
    world = MatrixGame(5**num_agents, game="coordination", num_agents=num_agents, num_actions=5)
    observation = world.reset(0)
    every = np.array(list(itertools.product(range(5), repeat=num_agents)))
    reward = world.step(every)[1]
    table = world.tables["coordination"][observation["coordination"][0, 0]]
    np.testing.assert_array_equal(reward, np.repeat(table[:, None], num_agents, 1))
    np.testing.assert_array_equal(table, (every == every[:, :1]).all(1))


def test_coordination_takes_any_table():
    table = np.zeros((4, 4), int)
    table[1, 2] = table[3, 3] = 1
    world = MatrixGame(game="coordination", coordination=table)
    world.reset(0)
    assert world.action_spec == 4
    assert play(world, [1, 2])[1].tolist() == [[1.0, 1.0]]
    assert play(world, [2, 1])[1].tolist() == [[0.0, 0.0]]
