"""Every world keeps the contract, and the check tells a broken rule by the right sentence."""

import functools

import pytest

from rl_envs.registry import WORLDS, make
from rl_envs.testing import check_registered, check_world
from tests.rl_envs.testing import broken_determinism  # noqa: F401 (adds worlds to BROKEN)
from tests.rl_envs.testing.broken_worlds import BROKEN
from tests.toy_worlds import Errands

ARGUMENTS = {
    "matrix_game-v0": [
        {},
        {"adversary": 1},
        {"game": "coordination", "num_agents": 3, "num_actions": 4},
        {"game": "coordination", "coordination": [[0, 1], [1, 0]]},
    ],
    "furnmove-v0": [
        *({"num_agents": n, "room_size": "laptop", "max_episode_steps": 40} for n in (1, 2, 3, 4)),
        {"room_size": "laptop", "max_episode_steps": 12, "observations": ("view", "frame"), "frame_pixels": 42},
    ],
    "rtfm-v0": [
        {"max_episode_steps": 40},
        {"group": True, "dyna": True, "nl": True, "split": "eval", "max_episode_steps": 40},
        {"num_agents": 2, "size": 8, "dyna": True, "nl": True, "resample_text": "step", "max_episode_steps": 40},
        {
            "num_agents": 3,
            "size": 10,
            "group": True,
            "dyna": True,
            "drop": "floor",
            "names_per_cell": 2,
            "sight": 3,
            "max_episode_steps": 40,
        },
    ],
    "rock_paper_scissors-v0": [{"size": 6, "max_episode_steps": 40}],
}
"""Arguments with which a world is checked, by id; a world that is not listed is checked with its defaults."""

COMPILED = {"minirts-v0": pytest.mark.slow}
"""World -> mark of the one that compiles for a minute at its first step; its recordings are replayed in every run."""
CASES = [
    pytest.param(world_id, arguments, id=f"{world_id} {arguments}", marks=COMPILED.get(world_id, ()))
    for world_id in sorted(WORLDS)
    for arguments in ARGUMENTS.get(world_id, [{}])
]


@pytest.mark.processes
@pytest.mark.parametrize(("world_id", "arguments"), CASES)
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
    needs_a_process = "process" in sentence and "global" not in sentence
    recipe = (f"{world.__module__}:{world.__name__}", {}) if needs_a_process else None
    with pytest.raises(AssertionError, match=sentence):
        check_world(world, recipe=recipe)


@pytest.mark.long
@pytest.mark.parametrize(("world_id", "arguments"), CASES)
def test_wrappers_of_registered_worlds_pass_every_librarys_check(world_id, arguments, capsys):
    from rl_envs.testing.wrappers import check_wrappers

    check_wrappers(world_id, **arguments)


def test_an_unknown_world_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="did you mean 'matrix_game-v0'"):
        make("matrix_games-v0")
