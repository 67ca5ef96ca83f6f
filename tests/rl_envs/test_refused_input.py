"""Arguments and states that a world refuses: the message names the argument or the state, and nothing changes."""

import numpy as np
import pytest

from rl_envs import make
from rl_envs.furnmove.room import room_from_drawing
from rl_envs.furnmove.splits import RoomStream, room_by_name
from rl_envs.matrix_game.payoff import value_against_adversary
from rl_envs.minirts.facts import encode_text
from rl_envs.minirts.opponents import get_opponent
from rl_envs.minirts.world import MiniRts
from rl_envs.overcooked.goals import Goal, reached
from rl_envs.overcooked.world import Overcooked
from rl_envs.rock_paper_scissors.splits import SETTINGS, triples
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.procedural import procedural_drawing
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad
from rl_envs.wrappers.gymnasium import TeamEnv, TeamVectorEnv
from rl_envs.wrappers.pettingzoo import TeamParallelEnv
from rl_envs.wrappers.rllib import TeamGymEnv, TeamMultiAgentEnv

ENVS, RLLIB = (TeamEnv, TeamVectorEnv, TeamParallelEnv), (TeamMultiAgentEnv, TeamGymEnv)

CORNER = ("#K##DT#", "K.....#", *["#.....#"] * 4, "#####P#")
"""A salad kitchen with floor beside two boards."""

ARGUMENTS = [
    ("rtfm-v0", {"device": "cuda"}, "device"),
    ("overcooked-v0", {"layuot": "cramped_room"}, "layout"),
    ("frozen_lake_spread-v0", {"map": "5x5"}, "map"),
    ("frozen_lake_spread-v0", {"hole": "deep"}, "hole"),
    ("frozen_lake_spread-v0", {"observations": ()}, "observations"),
    ("furnlift-v0", {"min_separation_cells": -1}, "min_separation_cells"),
    ("furnlift-v0", {"rooms": 5}, "rooms"),
    ("furnmove-v0", {"min_agent_distance_cells": -1}, "min_agent_distance_cells"),
    *(("furnmove-v0", {"observations": wrong}, "observations") for wrong in ((), "frame", 5, [["view"]])),
    ("furnmove-v0", {"rooms": ["train", "valid"]}, "rooms"),
    ("furnmove-v0", {"rooms": "ithor_train", "room_size": "huge"}, "room_size"),
    ("furnmove-v0", {"starts": 5}, "starts"),
    ("furnmove-v0", {"observations": ("frame",), "frame_pixels": 50}, "frame_pixels"),
    ("furnmove-v0", {"arrays": "torch", "observations": ("view", "frame")}, "observations"),
    ("furnmove-v0", {"arrays": "torch", "num_agents": 6}, "num_agents"),
    ("furnmove-v0", {"arrays": "torch", "rooms": RoomStream(count=5000)}, "rooms"),
    ("matrix_games-v0", {}, "matrix_game-v0"),
    ("matrix_game-v0", {"game": "chess"}, "game.*chess"),
    ("matrix_game-v0", {"adversary": "weak"}, "adversary"),
    ("matrix_game-v0", {"num_agents": 3}, "2 agents"),
    ("matrix_game-v0", {"game": "coordination", "coordination": np.eye(3), "num_agents": 4}, "num_agents"),
    ("matrix_game-v0", {"game": "coordination", "coordination": np.eye(3), "num_actions": 7}, "num_actions"),
    ("matrix_game-v0", {"game": "coordination", "adversary": 2}, "adversary"),
    ("matrix_game-v0", {"game": "coordination", "coordination": []}, "coordination"),
    ("matrix_game-v0", {"game": "coordination", "num_agents": 16}, "num_agents"),
    ("matrix_game-v0", {"first_world": 2**64}, "first_world"),
    ("messenger-v0", {"stage": 4}, "stage"),
    ("messenger-v0", {"num_agents": 3}, "num_agents"),
    ("messenger-v0", {"split": ["train"]}, "split"),
    ("messenger-v0", {"frames": 0}, "frames"),
    ("messenger-v0", {"max_sentences_per_cell": 0}, "max_sentences_per_cell"),
    ("messenger-v0", {"num_agents": 2, "released": "goal_bonus"}, "released"),
    ("messenger-v0", {"num_agents": 2, "released": ["half_rewards"]}, "half_rewards"),
    ("messenger-v0", {"released": ["half_reward"]}, "two-agent"),
    ("messenger-v0", {"num_agents": 2, "released": None}, "released"),
    *(("messenger-v0", {"texts": wrong}, f"texts.*{wrong}") for wrong in ("/nowhere", 5)),
    ("minirts-v0", {"opponents": []}, "opponents"),
    ("overcooked-v0", {"actions": "keys"}, "actions.*keys"),
    ("overcooked-v0", {"actions": ("any", "adjacent")}, "actions.*adjacent"),
    ("overcooked-v0", {"actions": ("any",)}, "actions"),
    ("overcooked-v0", {"layout": "counter_circuit"}, "counter_circuit"),
    ("overcooked-v0", {"layout": ["XXX", "X1X"]}, "2 rows of 3"),
    ("overcooked-v0", {"layout": ["XXPX", "X12", "XXXX"]}, "row 1"),
    ("overcooked-v0", {"layout": ["XXPX", "X1TX", "X2XX", "XXXX"]}, "row 1.*'T'"),
    ("overcooked-v0", {"layout": ["XXPX", "X11X", "XXXX"]}, "1.*2"),
    ("overcooked-v0", {"layout": ["XXXX", "X12X", "XXXX"]}, "pot"),
    ("overcooked-v0", {"layout": ["XXPX", "X12 ", "XXXX"]}, "floor"),
    ("overcooked-v0", {"observations": ("pixels",)}, "observations"),
    ("overcooked-v0", {"shaping_steps": 0}, "shaping_steps"),
    ("overcooked-v0", {"max_relocation_steps": 0}, "max_relocation_steps"),
    ("overcooked-v0", {"arrays": "jax"}, "arrays"),
    ("overcooked-v0", {"device": "cuda"}, "device.*arrays"),
    ("overcooked-v0", {"arrays": "torch", "device": "cuda"}, "device"),
    ("overcooked-v0", {"arrays": "torch", "device": "gpu"}, "device"),
    ("rtfm-v0", {"arrays": "torch"}, "arrays"),
    ("rtfm-v0", {"size": 4}, "size"),
    ("rtfm-v0", {"size": 5, "num_agents": 3}, "size"),
    ("rtfm-v0", {"num_agents": 4}, "num_agents"),
    ("rtfm-v0", {"split": "fourth"}, "split"),
    *(("rtfm-v0", {"names": wrong}, "names") for wrong in ("old", ["paper"])),
    ("rtfm-v0", {"resample_text": "never"}, "resample_text"),
    ("rtfm-v0", {"drop": "keep"}, "drop"),
    ("rtfm-v0", {"names_per_cell": 0}, "names_per_cell"),
    ("rtfm-v0", {"sight": -1}, "sight"),
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
    ("salad-v0", {"drawing": ("T#####P", "K.....D", *["#.....#"] * 4, "#######")}, "floor beside"),
]

STATES = [
    ("frozen_lake_spread-v0", {"cells": [[16, 0]]}, "cells"),
    ("frozen_lake_spread-v0", {"cells": [[5, 0]]}, "hole"),
    ("frozen_lake_spread-v0", {"cells": [[0, 3]], "target": [[1, 0]]}, "target"),
    ("frozen_lake_spread-v0", {"cells": [[13, 13]], "target": [[1, 1]]}, "target"),
    ("furnlift-v0", {"agent_cells": [[[5, 2], [90, 10]]]}, "agent_cells"),
    ("furnlift-v0", {"agent_headings": [[0, 4]]}, "agent_headings"),
    *(("furnlift-v0", {"tv": [wrong]}, "tv") for wrong in ([2, 2, 6], [0, 0, 0])),
    ("furnmove-v0", {"agent_cells": [[[-3, 2], [4, 4]]]}, "agent_cells"),
    ("furnmove-v0", {"agent_headings": [[5, 0]]}, "agent_headings"),
    ("furnmove-v0", {"tv": [[2, 2, 6]]}, "tv"),
    ("furnmove-v0", {"stand": [[500, 2, 1]]}, "stand"),
    ("furnmove-v0", {"best_distance": [-7]}, "best_distance"),
    ("matrix_game-v0", {"adversary": [[0.5, 0.5, 0.5]]}, "adversary"),
    ("messenger-v0", {"entity_places": np.full((1, 3, 2), 19)}, "entity_places"),
    ("messenger-v0", {"entity_places": np.full((1, 3, 2), 3)}, "entity_places.*even"),
    ("messenger-v0", {"moments": np.full((1, 3, 4), 65_535)}, "cells"),
    ("messenger-v0", {"entity_places": np.zeros((1, 5, 2))}, "entity_places"),
    ("messenger-v0", {"avatar_places": [[[-2, -2]]]}, "avatar_places"),
    ("messenger-v0", {"avatar_places": [[[3, 3]]]}, "avatar_places.*even"),
    ("messenger-v0", {"entity_symbols": [[14, 14, 14]]}, "entity_symbols"),
    ("messenger-v0", {"manual": [[60_000] * 3]}, "manual"),
    ("overcooked-v0", {"agent_cells": [[7, 20]]}, "agent_cells"),
    ("overcooked-v0", {"agent_cells": [[7, 0]]}, "agent_cells"),
    ("overcooked-v0", {"agent_cells": [[7, 7]]}, "agent_cells"),
    ("overcooked-v0", {"headings": [[0, 4]]}, "headings"),
    ("overcooked-v0", {"held": [[0, 4]]}, "held"),
    ("overcooked-v0", {"held": [[0, 1, 2]]}, "held"),
    ("overcooked-v0", {"contents": [[0] * 20]}, "contents at row 0, column 2"),
    ("overcooked-v0", {"contents": [[31] * 20]}, "contents at row 0, column 0"),
    ("overcooked-v0", {"contents": [[0] * 5]}, "contents"),
    ("rock_paper_scissors-v0", {"triple": [[0, 1, 0]]}, "triple"),
    ("overcooked-v0", {"soups": [-1]}, "soups"),
    ("rtfm-v0", {"agent_cells": [[100]]}, "agent_cells"),
    ("rtfm-v0", {"agent_cells": [[5]]}, "agent_cells"),
    ("rtfm-v0", {"agent_cells": [[0]]}, "agent_cells"),
    ("rtfm-v0", {"monster_cells": [[7, 35]]}, "monster_cells"),
    ("rtfm-v0", {"item_cells": [[0, 6]]}, "item_cells"),
    ("rtfm-v0", {"document": [0]}, "texts/document"),
    ("rtfm-v0", {"episode_length": [-1]}, "episode_length"),
    ("rtfm-v0", {"monster_names": [[255, 255]]}, "monster_names"),
    ("rtfm-v0", {"assignment": [144]}, "assignment"),
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
    ("salad-v0", {"in_plate": [[0, -1, -1]]}, "chops"),
    *(("salad-v0", {"thing_cells": [[cell, -1, -1, 47, -1]]}, "thing_cells") for cell in (24, 0, -1)),
    ("salad-v0", {"lying": [[3] * 49]}, "lying"),
    ("two_step_game-v0", {"room": [3]}, "room"),
]


def learned(keys, values):
    """MiniRTS with learned distances; nothing is compiled."""
    make("minirts-v0", 2).restore({"learned_key": keys.astype(np.int32), "learned_value": values.astype(np.int32)})


TIGHT = room_from_drawing("tight", ["...", "...", "..."])
CALLS = {
    "words without texts": (lambda: Narrator(Salad(text=False)), "text=True"),
    "cooks of single steps": (lambda: ScriptedCooks(Salad(actions="primitive")), "macro actions"),
    "two things in one cell": (
        lambda: Salad().restore({"agent_cells": np.array([[9, 11]]), "thing_cells": np.array([[47, -1, -1, 47, -1]])}),
        "lying",
    ),
    "a kind of kitchen": (lambda: procedural_drawing("hall", ("tomato",), 1, 0.0, (0.0,) * 28), "kind"),
    "a setting of letters": (lambda: triples("edges", "train"), ", ".join(SETTINGS)),
    "a split of letters": (lambda: triples("permutation", "fourth"), "fourth"),
    **{f"opponent {name}": (lambda name=name: get_opponent(name), name) for name in ("hard", "medium_", "simple__two")},
    "three scripts in a match": (lambda: MiniRts.match_frames(["medium"] * 3, seed=0), "3"),
    "a script without a name": (lambda: MiniRts.match_frames(["medium", "hard"], seed=0), "hard"),
    "distances of one length": (lambda: learned(np.zeros((2, 5), int), np.zeros((2, 4), int)), "learned_key"),
    "a distance below 0": (lambda: learned(np.zeros((2, 5), int), np.full((2, 5), -1)), "learned_value"),
    "a blocked lake with two in one cell": (
        lambda: make("frozen_lake_spread-v0", blocks=True).restore({"cells": np.array([[1, 1]])}),
        "cells",
    ),
    "distances without a row a world": (lambda: learned(np.zeros(10, int), np.zeros(10, int)), "learned_key"),
    "a word of MiniRTS": (lambda: encode_text("build castle", 5), "castle"),
    "no place to move a television": (lambda: make("furnmove-v0", rooms=[TIGHT]).reset(0), "tight"),
    "no place for a television": (lambda: make("furnlift-v0", rooms=[TIGHT]).reset(0), "start"),
    "a room of iTHOR": (lambda: room_by_name("ithor_FloorPlan300"), "ithor_FloorPlan201-230"),
    "no distribution": (lambda: value_against_adversary(np.ones((3, 3))), "joint policy"),
    "a deed of a goal": (lambda: Goal("eat"), "deed"),
    "a thing of a goal": (lambda: Goal("take", "fish"), "thing"),
    "a count of a goal": (lambda: Goal("contain", "onion", "pot", 0), "count"),
    "a place of a goal": (
        lambda: reached(Overcooked().kitchen, Goal("put", "onion", "pot 1"), *[Overcooked().state] * 2),
        "cramped_room.*pot 1",
    ),
    "a built world with arguments": (lambda: TeamEnv(Overcooked(), shaping=0.5), "shaping"),
    "several worlds as one": (lambda: TeamEnv(Overcooked(2)), "TeamVectorEnv"),
    **{
        f"torch in {kind.__name__}": (lambda kind=kind: kind("overcooked-v0", arrays="torch"), "arrays")
        for kind in ENVS
    },
    **{f"no world for {kind.__name__}": (lambda kind=kind: kind({"arguments": {}}), "env_config") for kind in RLLIB},
}


@pytest.mark.parametrize("case", CALLS)
def test_a_part_of_a_world_that_is_not_there_is_refused_by_its_name(case):
    call, named = CALLS[case]
    with pytest.raises(ValueError, match=named):
        call()


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
    np.testing.assert_equal(world.snapshot(), before)
