"""Arguments and states that a world refuses: the message names the argument or the state, and nothing changes."""

import numpy as np
import pytest

from rl_envs import make

CORNER = ("#K##DT#", "K.....#", *["#.....#"] * 4, "#####P#")
"""A salad kitchen with floor beside two boards."""

ARGUMENTS = [
    ("frozen_lake_spread-v0", {"map": "5x5"}, "map"),
    ("frozen_lake_spread-v0", {"hole": "deep"}, "hole"),
    ("frozen_lake_spread-v0", {"observations": ()}, "observations"),
    ("frozen_lake_spread-v0", {"max_episode_steps": 0}, "max_episode_steps"),
    ("furnmove-v0", {"observations": ("picture",)}, "observations"),
    ("furnmove-v0", {"observations": ()}, "observations"),
    ("furnmove-v0", {"observations": "frame"}, "observations"),
    ("furnmove-v0", {"observations": ("frame",), "frame_pixels": 50}, "frame_pixels"),
    ("matrix_game-v0", {"game": "chess"}, "chess"),
    ("matrix_game-v0", {"adversary": "weak"}, "adversary"),
    ("matrix_game-v0", {"num_agents": 3}, "2 agents"),
    ("messenger-v0", {"stage": 4}, "stage"),
    ("messenger-v0", {"stage": True}, "stage"),
    ("messenger-v0", {"num_agents": 3}, "num_agents"),
    ("messenger-v0", {"split": "dev"}, "split"),
    ("messenger-v0", {"split": ["train"]}, "split"),
    ("messenger-v0", {"frames": 0}, "frames"),
    ("messenger-v0", {"max_episode_steps": 2.5}, "max_episode_steps"),
    ("messenger-v0", {"max_sentences_per_cell": 0}, "max_sentences_per_cell"),
    ("messenger-v0", {"num_agents": 2, "released": "goal_bonus"}, "released"),
    ("messenger-v0", {"texts": "/nowhere"}, "texts.*/nowhere"),
    ("overcooked-v0", {"actions": "keys"}, "actions.*keys"),
    ("overcooked-v0", {"actions": ("any", "adjacent")}, "actions.*adjacent"),
    ("overcooked-v0", {"actions": ("any",)}, "actions"),
    ("overcooked-v0", {"observations": ()}, "observations"),
    ("overcooked-v0", {"observations": ("pixels",)}, "observations"),
    ("overcooked-v0", {"max_episode_steps": 0}, "max_episode_steps"),
    ("overcooked-v0", {"shaping_steps": 0}, "shaping_steps"),
    ("overcooked-v0", {"max_relocation_steps": 0}, "max_relocation_steps"),
    ("overcooked-v0", {"arrays": "jax"}, "arrays"),
    ("overcooked-v0", {"device": "cuda"}, "device.*arrays"),
    ("overcooked-v0", {"arrays": "torch", "device": "cuda"}, "device"),
    ("overcooked-v0", {"arrays": "torch", "device": "gpu"}, "device"),
    ("rtfm-v0", {"arrays": "torch"}, "arrays"),
    ("rtfm-v0", {"size": 4}, "size"),
    ("rtfm-v0", {"size": "6"}, "size"),
    ("rtfm-v0", {"size": 5, "num_agents": 3}, "size"),
    ("rtfm-v0", {"num_agents": 4}, "num_agents"),
    ("rtfm-v0", {"split": "fourth"}, "split"),
    ("rtfm-v0", {"names": "old"}, "names"),
    ("rtfm-v0", {"resample_text": "never"}, "resample_text"),
    ("rtfm-v0", {"drop": "keep"}, "drop"),
    ("rtfm-v0", {"names_per_cell": 0}, "names_per_cell"),
    ("rtfm-v0", {"max_episode_steps": 0}, "max_episode_steps"),
    ("rtfm-v0", {"max_episode_steps": 2**40}, "max_episode_steps"),
    ("rtfm-v0", {"sight": -1}, "sight"),
    ("rtfm-v0", {"team_loss": float("nan")}, "team_loss"),
    ("salad-v0", {"layout": "E"}, "layout"),
    ("salad-v0", {"kitchen": "big"}, "kitchen"),
    ("salad-v0", {"recipes": ["soup"]}, "recipes"),
    ("salad-v0", {"recipes": "tomato"}, "recipes"),
    ("salad-v0", {"recipes": ["onion"], "kitchen": "tomato"}, "onion"),
    ("salad-v0", {"actions": "fast"}, "actions"),
    ("salad-v0", {"mask": "some"}, "mask"),
    ("salad-v0", {"order_known_by": "Carol"}, "order_known_by"),
    ("salad-v0", {"restore_rule": "far"}, "restore_rule"),
    ("salad-v0", {"sight": 0}, "sight"),
    ("salad-v0", {"drawing": ["#######"]}, "drawing"),
    ("salad-v0", {"drawing": CORNER}, "drawing.*two boards"),
]

STATES = [
    ("frozen_lake_spread-v0", {"cells": [[16, 0]]}, "cells"),
    ("frozen_lake_spread-v0", {"cells": [[5, 0]]}, "hole"),
    ("frozen_lake_spread-v0", {"cells": [[0, 3]], "target": [[1, 0]]}, "target"),
    ("frozen_lake_spread-v0", {"cells": [[13, 13]], "target": [[1, 1]]}, "target"),
    ("messenger-v0", {"entity_places": np.full((1, 3, 2), 19)}, "entity_places"),
    ("messenger-v0", {"entity_places": np.zeros((1, 5, 2))}, "entity_places"),
    ("messenger-v0", {"avatar_places": [[[-2, -2]]]}, "avatar_places"),
    ("messenger-v0", {"avatar_places": [[[3, 3]]]}, "avatar_places.*even"),
    ("messenger-v0", {"entity_symbols": [[14, 14, 14]]}, "entity_symbols"),
    ("messenger-v0", {"entity_movements": [[4, 4, 4]]}, "entity_movements"),
    ("messenger-v0", {"manual": [[60_000] * 3]}, "manual"),
    ("messenger-v0", {"described": [[1, 1, 1]]}, "described"),
    ("overcooked-v0", {"agent_cells": [[7, 20]]}, "agent_cells"),
    ("overcooked-v0", {"agent_cells": [[7, 0]]}, "agent_cells"),
    ("overcooked-v0", {"agent_cells": [[7, 7]]}, "agent_cells"),
    ("overcooked-v0", {"headings": [[0, 4]]}, "headings"),
    ("overcooked-v0", {"held": [[0, 4]]}, "held"),
    ("overcooked-v0", {"held": [[0, 1, 2]]}, "held"),
    ("overcooked-v0", {"contents": [[0] * 20]}, "contents at row 0, column 2"),
    ("overcooked-v0", {"contents": [[31] * 20]}, "contents at row 0, column 0"),
    ("overcooked-v0", {"contents": [[0] * 5]}, "contents"),
    ("rtfm-v0", {"agent_cells": [[100]]}, "agent_cells"),
    ("rtfm-v0", {"monster_names": [[255, 255]]}, "monster_names"),
    ("rtfm-v0", {"assignment": [144]}, "assignment"),
    ("rtfm-v0", {"goal_team": [3]}, "goal_team"),
    ("rtfm-v0", {"held": [[3]]}, "held"),
    ("salad-v0", {"agent_cells": [[0, 9]]}, "agent_cells"),
    ("salad-v0", {"agent_cells": [[9, 9]]}, "agent_cells"),
    ("salad-v0", {"held": [[3, 3]]}, "held"),
    ("salad-v0", {"held": [[4, -1]]}, "held"),
    ("salad-v0", {"in_plate": [[1, -1, -1]]}, "in_plate"),
    ("salad-v0", {"in_plate": [[-1, 0, -1]]}, "in_plate"),
    ("salad-v0", {"in_plate": [[0, -1, -1]], "held": [[0, -1]]}, "in_plate"),
    ("salad-v0", {"chops": [[4, 0, 0]]}, "chops"),
    ("salad-v0", {"recipe": [7]}, "recipe"),
    ("salad-v0", {"thing_cells": [[24, -1, -1, 47, -1]]}, "thing_cells"),
    ("two_step_game-v0", {"room": [3]}, "room"),
]


@pytest.mark.parametrize(("world_id", "arguments", "named"), ARGUMENTS, ids=str)
def test_a_wrong_argument_is_refused_by_its_name(world_id, arguments, named):
    with pytest.raises(ValueError, match=named):
        make(world_id, **arguments)


@pytest.mark.parametrize(("world_id", "change", "named"), STATES, ids=str)
def test_an_impossible_state_is_refused_by_its_name_and_changes_nothing(world_id, change, named):
    world = make(world_id)
    world.reset(0)
    before = world.snapshot()
    state = {name: value for name, value in before.items() if "/" not in name}
    with pytest.raises(ValueError, match=named):
        world.restore(state | {name: np.array(value) for name, value in change.items()})
    for name, value in world.snapshot().items():
        np.testing.assert_array_equal(value, before[name])
