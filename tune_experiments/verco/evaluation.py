"""Tests of Verco: whole episodes with sampled actions; baselines are random play and scripted cooks.

A team with messages is tested three more times with the same weights: without messages, with messages from another
kitchen, and with the scripted teacher's.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.symbols import RECIPES
from rl_envs.salad.teacher import messages, parse_message
from rl_envs.salad.world import Salad
from rl_models.llm.network import LanguageNetwork
from rl_models.policy import TeamPolicy
from rl_models.training.evaluation import Evaluation
from tune_experiments.experiment.plan import RANDOM, Episodes, Tested, Tests
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.lookup import LookupNetwork, distances_to_corpus
from tune_experiments.verco.prompted import refusals, trial_chat_settings, usage
from tune_experiments.verco.teams import get_writer, taught_world

EVALUATION_SEED, VALIDATION_SEED = 500, 501
"""Seeds of the test and of validation: each fixes orders and sampled actions, equal for all teams."""
DEAF, HEARING = "scripted cooks, deaf", "scripted cooks, hearing"
SILENT, SHUFFLED, TAUGHT = "in silence", "with shuffled messages", "with the teacher's messages"
OF_ORDER = "_of_"
"""Separator of a metric and the order that it is restricted to."""
ABLATIONS = (SILENT, SHUFFLED, TAUGHT)
_RECIPE = "recipe"
Act = Callable[[Arrays], Array]


def evaluate(config: VercoConfig, policy: TeamPolicy, trial_folder: Path | None = None) -> Tests:
    """Results for the table: the team, its ablations, and baselines without training.

    The trial's folder has the record of calls to a chat model, for costs.
    """
    own = play_team(_telling_orders(make_world(config, config.test_episodes)), policy)
    ablations = dict(_ablations(config, policy)) if writes(policy) else {}
    plain = Tested(config.task)
    played = {plain: own} | ablations | dict(_baselines(config))
    found = {test: by_order(episodes) for test, episodes in played.items()}
    if isinstance(policy.network, LookupNetwork):
        found |= dict(evaluate_lookup(config, policy.network))
        found[plain] |= distances_to_corpus(config)
    if trial_folder is not None:
        chat = trial_chat_settings(config, trial_folder)
        asked = usage(chat) | refusals(chat, config.concurrency, trial_folder)
        found[plain] |= {name: np.array([number]) for name, number in asked.items()}
    return found


def evaluate_stage(config: VercoConfig, policy: TeamPolicy) -> dict[str, Episodes]:
    """Results of the team before PPO."""
    played = play_team(_telling_orders(make_world(config, config.test_episodes)), policy)
    return {config.task: by_order(played)}


def validate(config: VercoConfig, is_taught: bool, policy: TeamPolicy) -> Episodes:
    """Validation metrics for the curve of returns."""
    if is_taught:
        return play_team(taught_world(config, get_writer(policy), config.valid_episodes), policy, VALIDATION_SEED)
    return play_team(make_world(config, config.valid_episodes), policy, VALIDATION_SEED)


def play_team(world: Salad, policy: TeamPolicy, seed: int = EVALUATION_SEED) -> Episodes:
    """One episode of each world, with sampled actions; the return is the team's, [B]."""
    played = Evaluation(world, policy).run(seed)
    return played | {"return": played["return"][:, 0]}  # the same for both


def by_order(episodes: Episodes) -> Episodes:
    """The metrics, and those of each order's episodes if there are several orders."""
    metrics = {name: values for name, values in episodes.items() if name != _RECIPE}
    ordered = episodes[_RECIPE].astype(int)
    names = {} if len(set(ordered)) < 2 else {recipe: RECIPES[recipe] for recipe in sorted(set(ordered))}
    return metrics | {
        f"{metric}{OF_ORDER}{name.replace('-', '_')}": metrics[metric][ordered == recipe]
        for recipe, name in names.items()
        for metric in ("success", "return")
    }


def _telling_orders(world: Salad) -> Salad:
    """Context in which episode metrics contain the order."""
    world.metric_names = (*world.metric_names, _RECIPE)
    return world


def writes(policy: TeamPolicy) -> bool:
    """Whether the agents of a team receive each other's messages."""
    network = policy.network
    return isinstance(network, LanguageNetwork) and network.settings.messages.heard == "messages"


@contextmanager
def hearing(policy: TeamPolicy, heard: str) -> Iterator[None]:
    """Context in which agents receive other messages than those written."""
    network: Any = policy.network
    before = network.settings
    network.settings = dataclasses.replace(before, messages=dataclasses.replace(before.messages, heard=heard))
    try:
        yield
    finally:
        network.settings = before


def _ablations(config: VercoConfig, policy: TeamPolicy) -> Iterator[tuple[Tested, Episodes]]:
    for name, heard in ((SILENT, "silence"), (SHUFFLED, "shuffled")):
        if heard == "shuffled" and config.test_episodes < 2:
            continue  # there is no other kitchen
        with hearing(policy, heard):
            yield (
                Tested(config.task, name),
                play_team(_telling_orders(make_world(config, config.test_episodes)), policy),
            )
    world = _telling_orders(taught_world(config, get_writer(policy), config.test_episodes))
    yield Tested(config.task, TAUGHT), play_team(world, policy)


def evaluate_lookup(config: VercoConfig, network: LookupNetwork) -> Iterator[tuple[Tested, Episodes]]:
    """The lookup method with no messages, or with the scripted teacher's."""
    for name, hears in ((SILENT, False), (TAUGHT, True)):
        world = _telling_orders(make_world(config, config.test_episodes))
        act = functools.partial(_look_up, network, world, hears)
        yield Tested(config.task, name), by_order(play(world, act))


def _look_up(network: LookupNetwork, world: Salad, hears: bool, obs: Arrays) -> Array:
    return network.act(obs, messages(world) if hears else None)


def _baselines(config: VercoConfig) -> Iterator[tuple[Tested, Episodes]]:
    for name, actor in ((RANDOM, _random), (DEAF, _deaf), (HEARING, _hearing)):
        world = _telling_orders(make_world(config, config.test_episodes))
        yield Tested(config.task, method=name), play(world, actor(world))


def play(world: Salad, act: Act) -> Episodes:
    """The first episode of each world, with actions from `act`, a function of the world and observations."""
    obs, rows = world.reset(EVALUATION_SEED), []
    running = np.ones(world.num_worlds, bool)
    while running.any():
        obs, _, terminated, truncated, info = world.step(act(obs))
        done = info["done_worlds"]
        rows.append({name: values[running[done]] for name, values in info["episode"].items()} if done.size else {})
        running &= ~(terminated | truncated)
    found = {name: np.concatenate([row[name] for row in rows if row]) for name in next(filter(None, rows))}
    return found | {"return": found["return"][:, 0]}


def _random(world: Salad) -> Act:
    chance = np.random.default_rng(EVALUATION_SEED)
    return lambda obs: (chance.random(obs["legal"].shape) * obs["legal"]).argmax(-1)


def _deaf(world: Salad) -> Act:
    cooks = ScriptedCooks(world)
    return lambda obs: cooks.act()


def _hearing(world: Salad) -> Act:
    cooks = ScriptedCooks(world)
    return lambda obs: cooks.act([[parse_message(team[1], 0), parse_message(team[0], 1)] for team in messages(world)])
