"""A small experiment in stages, for the tests of curricula: walkers on a line, taught without Ray unless it is asked.

`calm` has no gusts and a table of three cells; `windy` has gusts and the whole table; `crowd` has a third walker, so
that its team has other shapes. Importable by Ray's workers.
"""

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.heads.mixture_heads import MarginalHead, ValueHead
from rl_models.policy import Features, TeamPolicy
from rl_models.rllib.workers import Workers
from rl_models.schedule import Schedule
from rl_models.training.collector import Collector
from rl_models.training.local_algorithm import LocalAlgorithm
from rl_models.training.loop import Learner
from tests.rl_models.training.small import Walks
from tests.toy_worlds import CELLS
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Promotion, Stage, TrialPlan
from tune_experiments.launch.experiment import Experiment

WIDTH, HORIZON = 6, 7
BATCH = 4 * 5
"""Env steps of an update."""
GAMES = {"calm": {"gusts": 0.0}, "windy": {"gusts": 0.4}, "crowd": {"gusts": 0.1, "num_agents": 3}}


class WalkersMind(nn.Module):
    """Knows who it is, where it stands (a table that may lack the last cells) and what it felt before."""

    def __init__(self, num_agents, cells):
        super().__init__()
        self.num_agents = num_agents
        self.cells = nn.Embedding(cells, WIDTH)
        self.names = nn.Parameter(torch.randn(num_agents, WIDTH))
        self.mix = nn.Linear(WIDTH, WIDTH)

    def initial_state(self, batch):
        return {"felt": torch.zeros(batch, self.num_agents, WIDTH)}

    def forward(self, obs, state, is_first):
        where = self.cells(obs["cell"].long().clamp(max=self.cells.num_embeddings - 1)) + self.names
        felt, features = state["felt"], []
        for time in range(is_first.shape[1]):
            felt = torch.tanh(self.mix(where[:, time]) + 0.5 * felt * ~is_first[:, time, None, None])
            features.append(felt)
        return Features(torch.stack(features, 1), {"felt": felt})


def build_policy(num_agents=2, cells=CELLS, seed=0, actions=3):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = WalkersMind(num_agents, cells)
        return TeamPolicy(network, MarginalHead(WIDTH, actions), ValueHead(WIDTH))


def make_walks(num_worlds, first_world=0, game="calm"):
    return Walks(num_worlds, first_world, max_episode_steps=HORIZON, **GAMES[game])


def validate(policy):
    """Two numbers that follow from the weights, so that validation is quick and every change of a weight shows."""
    values = torch.cat([value.flatten() for value in policy.state_dict().values()])
    return {"sum": np.array([float(values.sum())]), "steps_to_go": np.array([1.0, 2.0])}


def make_local(plan, kind=LocalAlgorithm):
    world = plan.make_world(plan.workers.worlds_per_runner)
    policy = plan.build_policy()
    collector = Collector(world, policy, plan.workers.fragment_length, plan.objective.needs_values)
    return kind(collector, Learner(policy, plan.objective, plan.optimiser), plan.seed)


def plan(game="calm", cells=CELLS, **changes):
    """One stage's plan: three updates, a validation and a checkpoint every second one."""
    policy = functools.partial(build_policy, GAMES[game].get("num_agents", 2), cells)
    made = TrialPlan(
        make_world=functools.partial(make_walks, game=game),
        build_policy=policy,
        objective=Ppo(num_epochs=1, num_minibatches=2),
        optimiser=OptimiserSettings(learning_rate=Schedule.linear(0.02, 0.01, 3 * BATCH), amsgrad=True),
        workers=Workers(worlds_per_runner=4, fragment_length=5),
        seed=7,
        budget_env_steps=3 * BATCH,
        validate_every_env_steps=2 * BATCH,
        checkpoint_every_env_steps=2 * BATCH,
        validate=validate,
        make_algorithm=make_local,
    )
    return dataclasses.replace(made, **changes)


def play(policy, game):
    """The weights once more, and a picture; a team of another size cannot play."""
    obs = make_walks(2, game=game).reset(0)
    tensors = {key: torch.from_numpy(value)[:, None] for key, value in obs.items()}
    policy(tensors, policy.initial_state(2), torch.ones(2, 1, dtype=torch.bool))
    return {"success": validate(policy)["sum"], "_picture": np.zeros(2)}


def played_in(game):
    """A stage's own evaluation."""
    return functools.partial(_played_in, game)


def _played_in(game, policy):
    return {game: play(policy, game)}


def three_stages(**promotion):
    """Calm until passed, then windy with a larger table, kept optimiser and a frozen layer, then three walkers."""
    rule = Promotion(**({"metric": "valid/sum", "threshold": -1e9} | promotion))
    return Curriculum(
        (
            Stage(name="calm", plan=plan("calm", cells=3), promotion=rule, evaluate=played_in("calm")),
            Stage(
                name="windy",
                plan=plan("windy"),
                frozen=("network.mix.*",),
                keeps_optimiser=True,
                evaluate=played_in("windy"),
            ),
            Stage(name="crowd", plan=plan("crowd")),
        )
    )


@dataclass(frozen=True)
class Config:
    """Nothing can be chosen."""


class Walkers(Experiment):
    """The experiment that trains what is declared; it is evaluated in `game`."""

    name = entry_point = "walkers"
    caption = "Walkers on a line"

    def __init__(self, declared, game="crowd"):
        self.presets = {"smoke": Config()}
        self.declared, self.game = declared, game

    def methods(self, config):
        return ("walkers",)

    def plan(self, config, method, seed, trial_folder=None):
        return self.declared

    def evaluate(self, config, method, policy):
        return {self.game: play(policy, self.game)}

    def tables(self, results):
        return ()

    def figures(self, run_folder, trials):
        return ()

    def test_world(self, config, num_worlds, method=""):
        return make_walks(num_worlds, game=self.game)


def experiment(declared, game="crowd"):
    """The experiment that trains what is declared."""
    return Walkers(declared, game)
