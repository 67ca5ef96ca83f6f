"""Text and state agree: an independent parser reads the description, which must equal everything in sight."""

import itertools

import numpy as np
import pytest

from rl_envs.salad.symbols import AGENT_NAMES, FOODS, RECIPES
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad
from tests.rl_envs.salad.parser import parse

FORMS = [
    {"layout": "A", "kitchen": "full", "recipes": ["lettuce-onion-tomato"]},
    {"layout": "B", "kitchen": "one_plate", "recipes": list(RECIPES), "order_known_by": "Alice"},
    {"layout": "B", "kitchen": "full", "recipes": ["onion-tomato"], "sight": 3},
    {"layout": "C", "kitchen": "tomato", "actions": "full", "sight": 1},
    {"layout": "D", "kitchen": "full", "recipes": ["onion"], "order_known_by": "Alice"},
    {"layout": "C", "kitchen": "full", "recipes": ["lettuce"], "order_known_by": "Bob", "actions": "full"},
    {"drawing": ["####T##", "K.....#", "D.#.#.L", "#.....#", "#.#.#.O", "#.....P", "#######"], "recipes": ["onion"]},
]


def names_of(world):
    two = world.kitchen.has[3:].all()
    return [*FOODS, "bowl 1" if two else "bowl", "bowl 2"]


def state_of(world, row, thing):
    state = world.state
    if thing < 3:
        return "chopped" if state["chops"][row, thing] == 3 else "raw"
    return frozenset(FOODS[food] for food in range(3) if state["in_plate"][row, food] == thing - 3)


def place_of(world, cell):
    row, column = divmod(int(cell), 7)
    if row in (0, 6):
        return "counter", "upper" if row == 0 else "lower", column
    return "counter", {0: "left", 3: "middle", 6: "right"}.get(column, f"column {column}"), row


def facts_of(world, row, agent):
    """What the parser should find, worked out from the state thing by thing."""
    state, kitchen, names = world.state, world.kitchen, names_of(world)
    at, other = divmod(int(state["agent_cells"][row, agent]), 7), divmod(int(state["agent_cells"][row, 1 - agent]), 7)

    def sees(cell):
        return max(abs(cell[0] - at[0]), abs(cell[1] - at[1])) <= world.sight

    def held(number):
        thing = state["held"][row, number]
        return None if thing < 0 else (names[thing], state_of(world, row, thing))

    things, states, boards = {}, {}, {}
    for number, board in enumerate(kitchen.boards):
        if board >= 0 and sees(divmod(int(board), 7)):
            boards[number + 1] = None
    for thing in range(5):
        cell = int(state["thing_cells"][row, thing])
        is_plated = thing < 3 and state["in_plate"][row, thing] >= 0
        if not kitchen.has[thing] or is_plated or thing in state["held"][row] or not sees(divmod(cell, 7)):
            continue
        condition = state_of(world, row, thing)
        if cell in kitchen.boards:
            boards[kitchen.boards.tolist().index(cell) + 1] = (names[thing], condition)
            continue
        is_usual = cell == kitchen.homes[thing] and condition in ("raw", frozenset())
        things[names[thing]] = "usual" if is_usual else place_of(world, cell)
        states[names[thing]] = condition
    sides = {2: "left room", 3: "doorway", 4: "right room"}
    room = sides[min(max(at[1], 2), 4)] if kitchen.shared else None
    wanted = frozenset(RECIPES[state["recipe"][row]].split("-"))
    facts = {
        "me": AGENT_NAMES[agent], "mate": AGENT_NAMES[1 - agent], "room": room, "num_boards": kitchen.num_boards,
        "things": things, "states": states, "boards": boards, "landmark": landmark(world, at), "holds": held(agent),
        "order": wanted if world.knows[agent] else None,
    }  # fmt: skip
    if not world.knows[agent]:
        facts["order_known_by"] = AGENT_NAMES[1 - agent]
    if sees(other):
        facts |= {"mate_at": (other[0] - at[0], other[1] - at[1]), "mate_holds": held(1 - agent)}
    return facts


def description(world, code):
    narrator = Narrator(world)
    return f"{narrator.scene(code)} {narrator.order(code)}"


def landmark(world, at):
    kitchen = world.kitchen
    beside = [(at[0] + down) * 7 + at[1] + right for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    for number in (1, 0):
        if kitchen.boards[number] in beside:
            return f"cutting board {number + 1}" if kitchen.num_boards > 1 else "the cutting board"
    if kitchen.delivery in beside:
        return "the delivery"
    return "the middle counter" if set(beside) & set(kitchen.shared) else None


def played(arguments, seed, env_steps=30, num_worlds=12):
    """Worlds in random play, with more fetching than waiting."""
    world = Salad(num_worlds, **arguments)
    random, obs = np.random.default_rng(seed), world.reset(seed)
    for _ in range(env_steps):
        yield world, obs
        wishes = random.random((num_worlds, 2, world.action_spec)) * obs["legal"]
        wishes[..., 0] *= 0.3
        obs, *_ = world.step(wishes.argmax(-1))


@pytest.mark.long
@pytest.mark.parametrize("arguments", FORMS, ids=str)
def test_text_read_back_gives_exactly_what_the_agent_sees(arguments):
    for world, obs in played(arguments, seed=1):
        for row, agent in itertools.product(range(world.num_worlds), range(2)):
            text = description(world, obs["situation"][row, agent])
            assert parse(text) == facts_of(world, row, agent), text


def test_every_sentence_can_be_read_and_is_written_once():
    for arguments in FORMS:
        world = Salad(**arguments)
        assert len(set(world.sentences)) == len(world.sentences)
        for sentence in world.sentences[1:]:
            assert parse(sentence)


def test_phrases_name_what_is_in_hand():
    world = Salad(layout="B", kitchen="one_plate", recipes=["tomato"])
    world.restore(
        {
            "agent_cells": np.array([[1 * 7 + 1, 1 * 7 + 5]]),
            "held": np.array([[-1, 3]]),
            "thing_cells": np.array([[7, 13, 20, 12, -1]]),
        }
    )
    code = world.observe()["situation"][0]
    named = [dict(zip(world.action_names, Narrator(world).actions(code[agent]), strict=True)) for agent in (0, 1)]
    assert named[0]["chop"] == "chop the tomato"
    assert named[0]["deliver"] == "serve nothing"
    assert named[0]["get_plate_1"] == "fetch the empty bowl"
    assert named[0]["go_to_board_2"] == "walk to cutting board 2"
    assert named[1]["go_to_counter"] == "put the bowl on the middle counter"
    assert named[1]["get_lettuce"] == "add the lettuce to the bowl"
    assert named[1]["chop"] == "chop nothing"


def test_a_bowl_with_food_is_called_filled():
    world = Salad(kitchen="full", recipes=["tomato"])
    world.restore(
        {
            "agent_cells": np.array([[5 * 7 + 5, 1 * 7 + 1]]),
            "thing_cells": np.array([[41, 13, 20, 41, 47]]),
            "chops": np.array([[3, 0, 0]]),
            "in_plate": np.array([[0, -1, -1]]),
        }
    )
    phrases = Narrator(world).actions(world.observe()["situation"][0, 0])
    assert "fetch the filled bowl 1" in phrases
    assert "fetch the empty bowl 2" in phrases


def test_legal_actions_of_an_agent_have_different_names():
    for world, obs in played(FORMS[0], seed=3, env_steps=20):
        narrator = Narrator(world)
        for row, agent in itertools.product(range(world.num_worlds), range(2)):
            names = np.array(narrator.actions(obs["situation"][row, agent]))
            assert len(names) == world.action_spec
            legal = names[obs["legal"][row, agent]]
            assert len(set(legal)) == len(legal)


def test_prompts_put_the_message_before_the_order_and_the_action_last():
    world = Salad(1, layout="B", recipes=["onion"], order_known_by="Alice")
    narrator, (alice, bob) = Narrator(world), world.reset(0)["situation"][0]
    scene, order = narrator.scene(bob), "Only Alice knows what the guests order."
    assert narrator.order(bob) == order
    assert narrator.message_prompt(alice).endswith(" The guests order a salad of onion. Alice tells Bob:")
    said = narrator.action_prompt(bob, ["Bob, please wait."])
    assert said == f'{scene} Alice says: "Bob, please wait." {order} Now Bob should'
    assert narrator.action_prompt(bob) == narrator.action_prompt(bob, [""]) == f"{scene} {order} Now Bob should"
    asked = narrator.teacher_prompt([alice, bob], 10)
    assert scene in asked and narrator.scene(alice) in asked and "10 words" in asked
    assert [narrator.speaker(code) for code in (alice, bob)] == [0, 1]
