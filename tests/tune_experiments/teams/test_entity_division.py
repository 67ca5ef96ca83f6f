"""The row `endi_dis`: agents divide the entities of any environment that says which they are."""

import dataclasses

import pytest
import torch

from rl_models.networks.entity_divider import ENTITIES, MASK, OFFSETS, PROBABILITY
from rl_models.teams.parts_team import divided_parts_team
from rl_models.training.loop import Learner
from tests.rl_models.text.small import save_bert
from tests.rl_models.training.small import ratio_error
from tests.tune_experiments.teams.played import played
from tune_experiments.core.errors import UserError
from tune_experiments.teams.observations import make_parts
from tune_experiments.teams.trials import build_policy, play
from tune_experiments.teams.worlds import make_world
from tune_experiments.train import EXPERIMENT, SMOKE

TWO = '{"num_agents": 2}'
GAMES = {
    "kinds in moments": ("messenger-v0", "emma", TWO),
    "names in cells": ("rtfm-v0", "film2", TWO),
    "names without texts": ("rtfm-v0", "mlp", '{"num_agents": 3}'),
    "numbers": ("tests.tune_experiments.teams.games:Posts", "mlp", "{}"),
}


def config_of(env, network, arguments="{}"):
    network = dataclasses.replace(SMOKE.network, name=network)
    return dataclasses.replace(SMOKE, env=env, env_arguments=arguments, methods=("endi_dis",), network=network)


def seen_by(config):
    """Observations of three environments as a network sees them, with noise that gives all entities to each agent."""
    world, policy = make_world(config, 3), build_policy(config, "endi_dis", 0)
    obs = world.reset(0)
    shape = policy.network.noise_shape(obs)
    shown = {key: torch.from_numpy(value)[:, None] for key, value in obs.items()}
    shown |= {f"texts/{key}": torch.from_numpy(store.table) for key, store in world.texts.items()}
    return policy, shown | {"noise": torch.ones(3, 1, world.num_agents, *shape)}


@pytest.mark.parametrize("game", GAMES)
def test_acting_and_learning_divide_alike_and_every_weight_gets_gradient(game):
    trial, policy, fragment = played(config_of(*GAMES[game]), "endi_dis")
    assert ratio_error(trial.objective, policy, fragment) < 1e-5
    Learner(policy, trial.objective, trial.optimiser).update([fragment])
    assert [name for name, weights in policy.named_parameters() if weights.grad is None] == []


@pytest.mark.parametrize("game", GAMES)
def test_the_policy_does_not_see_what_is_left_to_others(game):
    policy, seen = seen_by(config_of(*GAMES[game]))
    first = torch.ones(3, 1, dtype=torch.bool)
    left, taken = (policy(seen | {"noise": noise}, {}, first) for noise in (0 * seen["noise"], seen["noise"]))
    assert not left.extras[MASK].any()
    torch.testing.assert_close(taken.extras[MASK], taken.extras[ENTITIES].float())
    key = {"messenger-v0": "symbols", "rtfm-v0": "grid"}.get(GAMES[game][0], "entities")
    kinds = seen[key].flip(0)
    if key == "grid":  # only entities change, not the agents and walls
        kinds = torch.where(left.extras[ENTITIES].unflatten(-1, kinds.shape[3:]), seen[key].max(), seen[key])
    elif key == "symbols":
        kinds = torch.where(seen[key] > 0, 2 + seen[key] % 2, 0)
    else:
        kinds = seen[key].flip(-1)
    other = seen | {key: kinds}
    for noise, is_same in ((0 * seen["noise"], True), (seen["noise"], False)):
        before, after = (policy(one | {"noise": noise}, {}, first).policy.marginals() for one in (seen, other))
        assert torch.allclose(before, after, atol=1e-6) == is_same


def test_offsets_are_to_the_agent_and_to_the_nearest_other_one():
    policy, seen = seen_by(config_of(*GAMES["numbers"]))
    offsets = policy(seen, {}, torch.ones(3, 1, dtype=torch.bool)).extras[OFFSETS]
    rows = (seen["entity_positions"][..., None, :] - seen["agent_positions"][..., None, :, :]) / torch.tensor([3.0, 4])
    torch.testing.assert_close(offsets, rows.flip(-1))


def test_a_division_does_not_depend_on_the_unit_of_numbers():
    config, divided = config_of(*GAMES["numbers"]), []
    world = make_world(config)
    for unit in (1.0, 1000.0):
        parts = [
            dataclasses.replace(part, scale=unit) if part.key == "entities" else part for part in make_parts(world)
        ]
        team = divided_parts_team(config.network, parts, world.entity_spec, world.num_agents, world.action_spec)
        seen = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
        seen["entities"] = unit * seen["entities"]
        divided.append(team(seen, {}, torch.ones(len(seen["entities"]), 1, dtype=torch.bool)).extras[PROBABILITY])
    torch.testing.assert_close(*divided)


def test_names_are_divided_that_a_frozen_encoder_reads(tmp_path):
    save_bert(tmp_path, positions=64)
    config = config_of(*GAMES["names in cells"])
    config = dataclasses.replace(config, network=dataclasses.replace(config.network, text_encoder=str(tmp_path)))
    policy, seen = seen_by(config)
    assert policy(seen, {}, torch.ones(3, 1, dtype=torch.bool)).extras[MASK].any()


def test_nobody_divides_with_an_agent_that_has_left():
    policy, seen = seen_by(config_of(*GAMES["names without texts"]))
    alive = {"alive": torch.tensor([True, False, True]).expand(3, 1, 3)}
    offsets = policy(seen | alive, {}, torch.ones(3, 1, dtype=torch.bool)).extras[OFFSETS]
    height, width, names = seen["grid"].shape[3:]
    cells = torch.cartesian_prod(torch.arange(height), torch.arange(width)).repeat_interleave(names, 0)
    for agent, remaining in ((0, 2), (2, 1)):  # agent 0 sees agents 0, 1, 2, and agent 2 sees agents 2, 0, 1
        rows = (cells - seen["position"][:, :, agent, None, remaining].long()) / torch.tensor([height, width])
        torch.testing.assert_close(offsets[:, :, agent, :, 1], rows.flip(-1))


def test_a_division_is_measured():
    config = config_of(*GAMES["numbers"])
    measured = play(config, 2, 0, build_policy(config, "endi_dis", 0), "endi_dis")
    assert {"overlap", "coverage", "own_entities_0", "return"} <= measured.keys()


@pytest.mark.parametrize(
    ("env", "network", "arguments", "lacking"),
    [
        ("overcooked-v0", "mlp", "{}", "entities"),
        ("rtfm-v0", "mlp", '{"num_agents": 1}', "--env-arguments"),
        ("rtfm-v0", "lstm", TWO, "lstm"),
    ],
)
def test_an_environment_or_network_that_cannot_be_divided_is_refused(env, network, arguments, lacking):
    with pytest.raises(UserError, match=f"endi_dis.*{lacking}"):
        EXPERIMENT.check(config_of(env, network, arguments))
