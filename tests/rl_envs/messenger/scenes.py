"""Hand-made situations for the tests of MESSENGER. Cells are (row, column); halves are between cells."""

import json

import numpy as np

from rl_envs.messenger.corpus import TEXT_SPLITS
from rl_envs.messenger.corpus_file import build_corpus
from rl_envs.messenger.stages import SINGLE_ENTITIES, TEAM_ENTITIES
from rl_envs.messenger.symbols import CHASER, ENTITIES, FIRST_ENTITY, FLEEING, IMMOVABLE, MOVEMENTS, ROLES
from rl_envs.messenger.world import Messenger

UP, DOWN, LEFT, RIGHT, STAY = range(5)
FAR = ((0, 0), (0, 9), (9, 0), (0, 5), (9, 5))
"""Cells in which nothing happens while the avatars are in the middle."""
GAME = ("robot", "airplane", "scientist")
"""A game of the training split."""


def symbol(name):
    return FIRST_ENTITY + ENTITIES.index(name)


def situation(entities=(), avatars=((5, 5),), holds=None, movements=None, game=GAME, **arguments):
    """One world. Entities are listed as in the world's header; those left out stand far away."""
    stage = arguments.setdefault("stage", 2)
    world = Messenger(num_agents=len(avatars), **arguments)
    world.auto_resets = False
    roles = SINGLE_ENTITIES[stage - 1] if len(avatars) == 1 else TEAM_ENTITIES
    places = [*entities, *FAR[len(entities) : len(roles)]]
    state = {
        "entity_places": [places],
        "avatar_places": [avatars],
        "entity_symbols": [[symbol(game[role]) for role in roles]],
        "has_message": [holds if holds is not None else [False] * len(avatars)],
    }
    state = {name: np.array(value) for name, value in state.items()}
    for name in ("entity_places", "avatar_places"):
        state[name] = (2 * state[name]).astype(int)
    if stage > 1:
        movements = movements or (CHASER, FLEEING, IMMOVABLE, FLEEING, CHASER)[: len(roles)]
        state["entity_movements"] = np.array([movements])
    world.restore(state)
    return world


def step(world, *actions, moves=None):
    """Step one world; entities stay by default. Reward, whether the game is over, and whether it is won."""
    entities = world.state["entity_places"].shape[1]
    chance = {"entity_moves": np.array([moves or [STAY] * entities])} if world.recorded_draws else {}
    _, reward, terminated, truncated, info = world.step(np.array([actions]), chance)
    assert not truncated[0] and (reward == reward[0, 0]).all()
    won = bool(terminated[0]) and info["episode"]["win_rate"][0] == 1
    return round(float(reward[0, 0]), 6), bool(terminated[0]), won


def cells(world, name):
    """(row, column) of entities or avatars."""
    return [(row / 2, column / 2) for row, column in world.state[f"{name}_places"][0].tolist()]


def save_documents(folder, documents):
    """Write documents as the files of a corpus."""
    for split in TEXT_SPLITS:
        (folder / f"text_{split}.json").write_text(json.dumps(documents[split]), encoding="utf-8")


def tiny_documents():
    """Two sentences in every cell that our own corpus fills, one without a known movement."""
    counts = {split: build_corpus("own", False, 1)[0].counts(split) for split in TEXT_SPLITS}
    return {
        split: {
            entity: {
                role: {
                    movement: [
                        f"{split} {entity} {role} {movement} {number}" for number in range(2 * counts[split][e, r, m])
                    ]
                    for m, movement in enumerate(MOVEMENTS)
                }
                for r, role in enumerate(ROLES)
            }
            for e, entity in enumerate(ENTITIES)
        }
        for split in TEXT_SPLITS
    }
