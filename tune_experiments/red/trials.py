"""Stages of one training run of RED, built from settings, and its tests with every commander.

The method `red` clones scripts, trains only the value head, and then alternates PPO and distillation. PPO is without
commands: a team that learns with commands that it cannot use learns to ignore them (RED, section 4). A scripted
executor of commands is a baseline without training; its units without a command mine if they are idle peasants, and
attack if they are fighters of an agent that has at least five.
"""

import functools
from contextlib import closing
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.factored import C_CONTINUE
from rl_envs.minirts.phrases import ATTACK, MINE, commands_for
from rl_envs.minirts.symbols import ARMY
from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.learner_config import OptimiserConfig
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.configuration import list_constants
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes, Stage, Tested, Tests, TrialPlan
from tune_experiments.red.commanded_rts import red_team
from tune_experiments.red.commanders import COMMANDERS
from tune_experiments.red.config import RedConfig, make_world
from tune_experiments.red.decisions import Cloning, cloning_budget, per_unit_actions

METRICS = {"win_rate": "win", "ticks": "ticks", "length": "length"}
"""Metric -> its name in the world."""
FIGHTERS = 5
"""Number of fighters from which they attack without a command."""


def play_scripted(config: RedConfig, commander: str, episodes: int, seed: int) -> Episodes:
    """Whole games of scripted executors under a commander, one in each of K worlds: the metrics of `METRICS`, [K] each.

    With the same seed a trained team plays the same games.
    """
    with closing(make_world(config, episodes, commander=commander, actions="per_unit")) as world:
        world.reset(seed)
        world.auto_resets = False
        found = {name: np.zeros(episodes) for name in METRICS}
        is_playing = np.ones(episodes, bool)
        while is_playing.any():
            words = [world.latest_commands(index) for index in range(episodes)]
            seen = world.see_all()
            tables = np.stack([team_commands(seen, index, phrases) for index, phrases in enumerate(words)])
            *_, info = world.step(per_unit_actions(tables))
            done = info["done_worlds"]
            if not len(done):
                continue
            fresh = is_playing[done]
            for name, key in METRICS.items():
                found[name][done[fresh]] = info["episode"][key][fresh]
            is_playing[done] = False
            if is_playing.any():
                world.next_episode(done)
    return found


def unit_commands(phrase: str, view: Arrays) -> Array:
    """Commands of an agent's units for a phrase or "", [50, 7] int32 as `commands_for` gives them.

    `view` is the agent's observation, name -> [...].
    """
    table = commands_for(phrase, view)
    fighters = int((view["owned"] & np.isin(view["own_type"], ARMY)).sum())
    for beside in (MINE, ATTACK) if fighters >= FIGHTERS else (MINE,):
        other = commands_for(beside, view)
        is_free = (table[:, 0] == C_CONTINUE) & (other[:, 0] != C_CONTINUE)
        table[is_free] = other[is_free]
    return table


def team_commands(seen: Arrays, index: int, words: list[str]) -> Array:
    """Commands of all agents of a world, [N, 50, 7], from the game's own observations, name -> [B, N, ...]."""
    return np.stack(
        [
            unit_commands(phrase, {name: value[index, agent] for name, value in seen.items()})
            for agent, phrase in enumerate(words)
        ]
    )


RED, SCRATCH = "red", "scratch"
VALIDATION_SEED = 101
ORACLE, SILENT, ADVERSARIAL = "oracle", "none", "adversarial"
SCRIPTED = "scripted executor"
"""Player of a test without a learned team."""
GAME = "minirts"


def plan(config: RedConfig, method: str, seed: int) -> Curriculum:
    """One method with one seed, in stages."""
    env_steps, stages = config.workers.env_steps_of_update, list[Stage]()
    if method != SCRATCH:
        stages.append(_cloning(config, seed, "cloning", is_distillation=False))
        rate = Schedule.constant(config.learner.value_learning_rate)
        value = _plan(config, seed, config.value_updates * env_steps, rate)
        stages.append(Stage(name="value", plan=value, frozen=("network.*", "policy_head.*")))
    for number in range(config.iterations):
        rate = learning_rate(config, number * config.updates)
        stages.append(Stage(name=f"rl_{number + 1}", plan=_plan(config, seed, config.updates * env_steps, rate)))
        if method == RED:
            stages.append(_cloning(config, seed, f"distillation_{number + 1}", is_distillation=True))
    return Curriculum(tuple(stages))


def build_policy(config: RedConfig, seed: int) -> TeamPolicy:
    """The team with its initial weights."""
    return red_team(config.network, config.num_agents, config.learner.used_heads_only, seed)


def validate(config: RedConfig, policy: TeamPolicy) -> Episodes:
    """Win rates with the oracle, and without commands."""
    guided, silent = (play(config, policy, one, config.valid_episodes, VALIDATION_SEED) for one in (ORACLE, SILENT))
    return {
        "win_rate": guided["win_rate"],
        "win_rate_without_commands": silent["win_rate"],
        "length": guided["length"],
    }


def evaluate(config: RedConfig, policy: TeamPolicy) -> Tests:
    """The same test games with every commander; actions are sampled, and a draw is no win."""
    return {Tested(GAME, one): play(config, policy, one, config.test_episodes, config.test_seed) for one in COMMANDERS}


def evaluate_scripted(config: RedConfig) -> Tests:
    """The same games of a scripted executor with every commander."""
    play_one = functools.partial(play_scripted, config, episodes=config.test_episodes, seed=config.test_seed)
    return {Tested(GAME, one, SCRIPTED): play_one(one) for one in COMMANDERS}


def play(config: RedConfig, policy: TeamPolicy, commander: str, episodes: int, seed: int) -> Episodes:
    """Whole games with a commander: `win_rate` (0 or 1), `ticks` and `length`, [K] each."""
    with closing(make_world(config, episodes, commander=commander)) as world:
        found = Evaluation(world, policy).run(seed)
    return {"win_rate": found["win"], "ticks": found["ticks"], "length": found["length"]}


def learning_rate(config: RedConfig, first_update: int) -> Schedule:
    """Learning rate of a round that begins after so many updates: up in the warm-up, then down to 0."""
    total = config.iterations * config.updates
    top = config.learner.warm_up_share * total
    knots, rates = [0.0, top, float(total)], [0.0, config.learner.peak_learning_rate, 0.0]
    if not 0 < top < total:
        knots, rates = ([0.0, float(total)], rates[1:]) if top <= 0 else ([0.0, float(total)], rates[:2])
    last = first_update + config.updates
    moments = sorted({float(first_update), float(last), *(one for one in knots if first_update < one < last)})
    steps = config.workers.env_steps_of_update
    points = [((one - first_update) * steps, float(np.interp(one, knots, rates))) for one in moments]
    return Schedule(tuple(points))


def _cloning(config: RedConfig, seed: int, name: str, is_distillation: bool) -> Stage:
    rate = Schedule.constant(config.cloning.learning_rate)
    make = functools.partial(Cloning, config, is_distillation)
    trial = _plan(config, seed, cloning_budget(config, is_distillation), rate, make_algorithm=make)
    return Stage(name=name, plan=trial, evaluate=None if is_distillation else functools.partial(evaluate, config))


def _plan(config: RedConfig, seed: int, budget: int, rate: Schedule, **changes: Any) -> TrialPlan:
    learner = config.learner
    return TrialPlan(
        make_world=functools.partial(make_world, config),
        build_policy=functools.partial(build_policy, config, seed),
        objective=make_objective(learner, Schedule.constant(learner.entropy_coef)),
        optimiser=OptimiserSettings(**list_constants(learner, OptimiserConfig), learning_rate=rate),
        workers=config.workers,
        seed=seed,
        budget_env_steps=budget,
        validate_every_env_steps=min(config.validate_every_env_steps, budget),
        checkpoint_every_env_steps=min(config.checkpoint_every_env_steps, budget),
        validate=functools.partial(validate, config),
        **changes,
    )
