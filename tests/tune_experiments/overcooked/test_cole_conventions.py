"""COLE in a game of conventions: any equal choices are good, so teams that learned apart seldom agree.

Two agents choose one of two conventions, step after step, and see what both chose before. Self-play settles on one of
them and need never look; whoever meets members of both has to look.
"""

import functools

import numpy as np
import pytest
import torch

from rl_envs.core.spec import ArraySpec
from rl_envs.core.world import World
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.networks.network_config import VectorConfig
from rl_models.rllib.workers import Workers
from rl_models.schedule import Schedule
from rl_models.teams.constant_team import constant_team
from rl_models.teams.vector_team import vector_team
from rl_models.training.evaluation import Evaluation
from tests.tune_experiments.run.stages import make_local
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.overcooked.cole import STATE, Cole
from tune_experiments.overcooked.config import ColeSettings

pytestmark = pytest.mark.long

CONVENTIONS = 2
WORLDS, STEPS, FRAGMENT = 32, 8, 16
UPDATE = WORLDS * FRAGMENT
ALONE, BESIDE = 20, 32
"""Updates of self-play, and of a learner beside members."""
SETTINGS = ColeSettings(generations=4, initial_generations=1, self_share=0.25)


class Conventions(World):
    """B games; with partners, one agent is a partner's that its own chance draws, except in a share of self-play."""

    agents = ("agent_0", "agent_1")
    max_episode_steps = STEPS

    def __init__(self, num_worlds=1, first_world=0, *, partners=(), weights=(), self_share=0.0):
        self.action_spec = CONVENTIONS
        self.observation_spec = {
            "vector": ArraySpec((2 * CONVENTIONS,), "uint8", 0, 1, "one-hot: own last choice, the other's"),
            "alive": ArraySpec((), "bool", 0, 1, "whether it learns"),
        }
        self._partners, self._shares = list(partners), np.cumsum(np.array(weights) * (1 - self_share))
        super().__init__(num_worlds, first_world)

    def _blank_state(self, num_worlds):
        last = np.full((num_worlds, 2), self.action_spec)
        return super()._blank_state(num_worlds) | {"last": last, "partner": np.zeros(num_worlds, int)}

    def _begin(self, rows):
        self.state["last"][rows] = self.action_spec
        self.state["partner"][rows] = (self.chance.uniforms(1, rows) >= self._shares).sum(1)

    def _learns(self):
        places = (np.arange(self.num_worlds) + self.chance.episode) % 2
        return (places[:, None] == np.arange(2)) | (self.state["partner"] >= len(self._partners))[:, None]

    def _observe(self, rows):
        one_hot = np.eye(self.action_spec + 1, dtype=np.uint8)[self.state["last"][rows], :-1]
        return {"vector": np.concatenate([one_hot, one_hot[:, ::-1]], -1), "alive": self._learns()[rows]}

    def _advance(self, actions, recorded):
        learns, vector = self._learns(), torch.as_tensor(self.observe()["vector"])[:, None]
        uniforms = self.chance.uniforms(2)
        for number, team in enumerate(self._partners):
            never = torch.zeros(self.num_worlds, 1, dtype=torch.bool)
            with torch.inference_mode():
                chosen = team({"vector": vector}, {}, never).policy.sample(torch.as_tensor(uniforms)[:, None])[0]
            theirs = ~learns & (self.state["partner"] == number)[:, None]
            actions = np.where(theirs, chosen.numpy().reshape(-1, 2), actions)
        self.state["last"][...] = actions
        reward = np.repeat((actions[:, :1] == actions[:, 1:]) / STEPS, 2, 1)
        over = self.state["episode_length"] + 1 >= STEPS
        return reward, over, np.zeros(self.num_worlds, bool)


def trial(seed, updates):
    """A run of self-play."""
    build = functools.partial(vector_team, VectorConfig((16,)), 2, (1,) * 2 * CONVENTIONS, CONVENTIONS, seed=seed)
    return TrialPlan(
        make_world=Conventions,
        build_policy=build,
        objective=Ppo(gamma=1.0, joint_ratio=False, entropy_coef=Schedule.constant(0.01)),
        optimiser=OptimiserSettings(learning_rate=Schedule.constant(1e-2)),
        workers=Workers(worlds_per_runner=WORLDS, fragment_length=FRAGMENT),
        seed=seed,
        budget_env_steps=updates * UPDATE,
        validate_every_env_steps=UPDATE,
        checkpoint_every_env_steps=UPDATE,
        validate=lambda team: {},
        make_algorithm=make_local,
    )


def trained(algorithm, updates):
    for _ in range(updates):
        algorithm.train()
    return algorithm


def payoff(first, second):
    """Share of equal choices of two teams' members, sampled; each is the first agent in half of the games."""
    world = Conventions(32, partners=[second], weights=[1.0])
    return float(Evaluation(world, first).run(7)["return"].mean())


def cole_of(seed, updates):
    def make_worlds(members, weights, env_steps):
        share = SETTINGS.self_share if members else 0.0
        return functools.partial(Conventions, partners=members, weights=weights, self_share=share)

    return Cole(SETTINGS, trial(seed, updates), make_worlds, payoff, make_local)


def stubborn_team(choice):
    """A team that keeps to one convention."""
    team = constant_team(1, 2, CONVENTIONS)
    with torch.no_grad():
        team.policy_head.policy.bias[choice] = 50.0
    return team


@functools.cache
def teams_of_self_play():
    """Teams of four seeds, and the payoffs of all pairs [4, 4]."""
    teams = [trained(make_local(trial(seed, ALONE)), ALONE).policy().eval() for seed in range(4)]
    return teams, np.array([[payoff(first, second) for second in teams] for first in teams])


def test_the_last_learner_plays_with_every_member_of_its_population_as_well_as_anyone_could():
    cole = trained(cole_of(0, BESIDE), BESIDE)
    (members, learner), payoffs = (cole.generations[-1].members, cole.policy()), cole.generations[-1].payoffs
    assert len(members) == 3 and [found.accepted for found in cole.generations] == [True] * 4
    assert min([*payoffs[-1], *(line[-1] for line in payoffs)]) > 0.9
    strangers = [payoff(learner, stubborn_team(choice)) for choice in range(CONVENTIONS)]
    assert min(strangers) < 0.1 < 0.9 < max(strangers)  # a population grown from one learner has one convention


@pytest.mark.slow
def test_a_learner_beside_members_of_both_conventions_plays_each_where_self_play_knows_its_own_alone():
    teams, payoffs = teams_of_self_play()
    pair = [teams[0], teams[int(payoffs[0].argmin())]]
    cole = trained(cole_of(0, BESIDE), BESIDE // SETTINGS.generations)
    tensors, progress = cole.checkpoint()
    (own,) = [name for name in tensors if name.startswith("member_")]
    grown = {name: value for name, value in tensors.items() if name != own}
    grown |= {f"member_{number}": dict(team.state_dict()) for number, team in enumerate(pair)}
    grown[STATE] |= {"payoffs": np.array([[payoff(first, second) for second in pair] for first in pair])}
    cole.restore(grown, progress)
    trained(cole, BESIDE - BESIDE // SETTINGS.generations)
    assert [payoff(cole.policy(), team) > 0.8 for team in pair] == [True, True]
    alone = trained(make_local(trial(0, BESIDE)), BESIDE).policy()
    assert sorted(round(payoff(alone, team)) for team in pair) == [0, 1]
