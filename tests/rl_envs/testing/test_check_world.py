"""Every world keeps the contract, and the check tells a broken rule by the right sentence."""

import functools

import pytest

from rl_envs.messenger.team_rules import RELEASED
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.registry import WORLDS
from rl_envs.testing import check_registered, check_world
from tests.rl_envs.testing import broken_determinism  # noqa: F401 (adds worlds to BROKEN)
from tests.rl_envs.testing.broken_worlds import BROKEN
from tests.toy_worlds import Errands

SHORT = {"max_episode_steps": 12}
FORMS = {
    "frozen_lake_spread-v0": [
        {"map": "8x8", "slippery": True, "blocks": True, "observations": ("one_hot", "cells"), **SHORT},
        {"map": "random-8x8", "map_seed": 3, "own_rewards": True, "hole": "out", **SHORT},
    ],
    "furnlift-v0": [{"room_size": "laptop", "shows_expert": True, "agents_visible": True, **SHORT}],
    "furnmove-v0": [
        {"num_agents": 3, "room_size": "laptop", **SHORT},
        {"room_size": "laptop", "observations": ("view", "frame"), "frame_pixels": 42, **SHORT},
    ],
    "matrix_game-v0": [{}, {"game": "coordination", "num_agents": 3, "num_actions": 4}],
    "messenger-v0": [
        {"stage": 3, "split": "test", "frames": 1, "shows_roles": True, "permuted_roles": True, **SHORT},
        {"num_agents": 2, "stage": 3, "released": list(RELEASED), **SHORT},
    ],
    "overcooked-v0": [
        SHORT,
        {"actions": ["adjacent", "primitive"], "observations": ["lossless", "symbols"], **SHORT},
    ],
    "rock_paper_scissors-v0": [{"size": 6, **SHORT}],
    "rtfm-v0": [
        {"group": True, "dyna": True, "nl": True, "split": "eval", **SHORT},
        {"num_agents": 3, "size": 10, "dyna": True, "drop": "floor", "names_per_cell": 2, "sight": 3, **SHORT},
    ],
    "salad-v0": [
        {"actions": "primitive", "restore_rule": "cover", "swap": True, "sight": 1, "max_episode_steps": 20},
        {"layout": "B", "recipes": ["tomato", "lettuce-onion"], "order_known_by": "Alice", "max_episode_steps": 20},
    ],
    "two_step_game-v0": [{}],
}
"""World -> arguments with which it is checked in every run; its wrappers are checked with the last of them."""
RTS = {"agents_per_side": 3, "actions": "per_unit", "oracle": True, "extra_units": 5, "facts": True}
KITCHEN = {"layout": "C", "kitchen": "full", "recipes": ["onion"], "actions": "full", "mask": "none"}
SLOW_FORMS = {
    "furnlift-v0": [{}, {"room_size": "laptop", "observations": ("view", "frame"), "frame_pixels": 42, **SHORT}],
    "furnmove-v0": [{"num_agents": n, "room_size": "laptop", "max_episode_steps": 40} for n in (1, 2, 4)],
    "matrix_game-v0": [{"adversary": 1}, {"game": "coordination", "coordination": [[0, 1], [1, 0]]}],
    "messenger-v0": [
        {},
        {"stage": 2, "max_episode_steps": 24},
        {"num_agents": 2, "max_episode_steps": 6, "frames": 2},
        {"num_agents": 2, "stage": 2, "split": "val", "max_sentences_per_cell": 3},
    ],
    # MiniRTS compiles for a minute at its first step; its recordings are replayed in every run.
    "minirts-v0": [{"max_episode_steps": 4, "opponents": ["medium", "strong"]}, {"max_episode_steps": 4, **RTS}],
    "overcooked-v0": [
        *({"layout": layout, "max_episode_steps": 60} for layout in LAYOUTS),
        {"layout": "coordination_ring", "actions": "adjacent", "max_episode_steps": 25},
        {"actions": ["primitive", "any"], "max_episode_steps": 25},
        {"layout": "counter_circuit_o_1order", "actions": "any", "observations": ["symbols"], "max_episode_steps": 25},
        {"layout": "forced_coordination", "shaping": 1.0, "shaping_steps": 40, "bootstrap_at_limit": False},
        {"layout": ["XXXPX", "O1 2S", "XXDXX"], "actions": "any", "max_relocation_steps": 2, **SHORT},
    ],
    "rtfm-v0": [
        {"max_episode_steps": 40},
        {"num_agents": 2, "size": 8, "dyna": True, "nl": True, "resample_text": "step", "max_episode_steps": 40},
    ],
    "salad-v0": [
        {"max_episode_steps": 40},
        {**KITCHEN, "max_episode_steps": 40},
        {"text": False, "kitchen": "full", "rechop_pays": True, "collision_reward": 0.0, "max_episode_steps": 40},
    ],
}


def cases(forms, *marks):
    return [
        pytest.param(world_id, arguments, id=f"{world_id} {arguments}", marks=marks)
        for world_id in sorted(forms)
        for arguments in forms[world_id]
    ]


def test_every_world_is_checked():
    assert FORMS.keys() | SLOW_FORMS.keys() == WORLDS.keys()


@pytest.mark.processes
@pytest.mark.parametrize(("world_id", "arguments"), cases(FORMS) + cases(SLOW_FORMS, pytest.mark.slow))
def test_registered_worlds_keep_the_contract(world_id, arguments):
    check_registered(world_id, **arguments)


@pytest.mark.processes
@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_a_world_that_uses_all_of_the_contract_keeps_it(num_agents):
    arguments = {"num_agents": num_agents}
    check_world(functools.partial(Errands, **arguments), recipe=("tests.toy_worlds:Errands", arguments))


def test_a_check_may_be_shorter_than_an_episode():
    check_world(functools.partial(Errands, max_episode_steps=1000), env_steps=5)


@pytest.mark.processes
@pytest.mark.parametrize(("world", "sentence"), BROKEN, ids=[world.__name__ for world, _ in BROKEN])
def test_a_broken_rule_is_told_by_its_sentence(world, sentence, monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    needs_a_process = "process" in sentence
    recipe = (f"{world.__module__}:{world.__name__}", {}) if needs_a_process else None
    with pytest.raises(AssertionError, match=sentence):
        check_world(world, recipe=recipe)


@pytest.mark.long
@pytest.mark.parametrize(
    ("world_id", "arguments"),
    cases({world_id: forms[-1:] for world_id, forms in FORMS.items()}) + cases(SLOW_FORMS, pytest.mark.slow),
)
def test_wrappers_of_registered_worlds_pass_every_librarys_check(world_id, arguments, capsys):
    from rl_envs.testing.wrappers import check_wrappers

    check_wrappers(world_id, **arguments)
