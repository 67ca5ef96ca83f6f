"""The scripted teacher's grammar, and cooks that hear it or do not: when words are needed at all."""

import numpy as np
import pytest

from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.subtasks import BRINGING, CHOPPING, SERVING, WAIT, Subtask
from rl_envs.salad.symbols import NUM_FOODS, RECIPES
from rl_envs.salad.tasks import TASKS
from rl_envs.salad.teacher import MAX_WORDS, WORDS, all_messages, compose_message, messages, parse_message, subtasks
from rl_envs.salad.world import Salad
from tests.rl_envs.salad.scenes import AWAY, LETTUCE, ONION, PLATE, TOMATO, situation

SECRET = {"layout": "B", "kitchen": "one_plate", "recipes": ["tomato", "lettuce", "onion"]}
SHORT = {"actions": "short", "kitchen": "one_plate"}


def served(world, hears=False):
    """First episodes of all worlds: [B] bool served, [B] return, [B] length."""
    cooks, count = ScriptedCooks(world), world.num_worlds
    world.reset(0)
    success, returns, lengths = np.zeros(count, bool), np.zeros(count), np.zeros(count, int)
    for _ in range(world.max_episode_steps):
        said = messages(world) if hears else None
        heard = said and [[parse_message(team[1], 0), parse_message(team[0], 1)] for team in said]
        info = world.step(cooks.act(heard))[-1]
        for place, row in enumerate(info["done_worlds"]):
            if lengths[row] == 0:
                success[row] = info["episode"]["success"][place] == 1
                returns[row] = info["episode"]["return"][place, 0]
                lengths[row] = info["episode"]["length"][place]
        if lengths.all():
            break
    return success, returns, lengths


def test_messages_have_at_most_ten_words_and_are_finitely_many():
    known = all_messages()
    assert len(set(known)) == len(known) == 2 * len(WORDS) ** 2
    assert max(len(message.split()) for message in known) <= MAX_WORDS


def test_a_message_is_parsed_by_the_agent_that_it_addresses():
    for own in WORDS:
        for other in WORDS:
            for speaker in (0, 1):
                team = [own, other] if speaker == 0 else [other, own]
                message = compose_message(speaker, team)
                assert parse_message(message, 1 - speaker) == team[1 - speaker]
                assert parse_message(message, speaker) is None


@pytest.mark.parametrize(
    "message", ["", "Bob, please fly.", "bring the bowl", "Carol, please wait.", "Bob, please wait"]
)
def test_a_message_outside_the_grammar_has_no_subtask(message):
    assert parse_message(message, 1) is None


APART = [(1, 2), (1, 4)]
BRING_BOWL = Subtask(BRINGING, NUM_FOODS)
READY = {"held": (PLATE, -1), "chops": (3, 0, 0), "in_plate": (0, -1, -1)}


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        ({"agents": APART}, [WAIT, Subtask(BRINGING, TOMATO)]),
        ({"agents": APART, "recipes": ["onion"]}, [WAIT, Subtask(BRINGING, ONION)]),
        ({"agents": [(1, 1), (1, 4)], "things": {TOMATO: (1, 0)}}, [Subtask(CHOPPING, TOMATO), BRING_BOWL]),
        ({"agents": APART, "things": {TOMATO: (3, 3)}}, [Subtask(BRINGING, TOMATO), BRING_BOWL]),
        ({"agents": APART} | READY, [Subtask(SERVING), WAIT]),
    ],
    ids=["tomato", "onion", "chopping", "passed", "ready"],
)
def test_the_teacher_asks_for_what_the_whole_kitchen_needs(scene, expected):
    world = situation(layout="B", **({**SHORT, "recipes": ["tomato"]} | scene))
    team = subtasks(world)[0]
    assert team == expected
    assert messages(world)[0] == [compose_message(0, team), compose_message(1, team)]


def test_the_teacher_knows_what_nobody_in_the_kitchen_sees():
    world = situation([(5, 1), AWAY], things={LETTUCE: (0, 1)}, recipes=["lettuce"], **SHORT)
    state = world.snapshot()
    state["believed_cells"][:, :, LETTUCE] = 48
    world.restore(state)
    assert subtasks(world)[0][1] == Subtask(BRINGING, LETTUCE)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("layout", "ABCD")
def test_scripted_cooks_without_messages_serve_every_known_order(layout, recipe):
    world = Salad(layout=layout, kitchen="one_plate", recipes=[recipe], actions="full", text=False)
    success, returns, lengths = served(world)
    assert success.all() and world.state["wrong_dishes"].sum() == 0
    foods = len(recipe.split("-"))
    assert returns[0] > 1 + 0.2 * foods - 0.06
    assert lengths[0] <= 12 + 15 * foods


@pytest.mark.parametrize(("layout", "limit"), [("A", 32), ("B", 28), ("D", 32)])
def test_an_order_that_one_agent_knows_needs_messages_to_be_served_in_time(layout, limit):
    world = Salad(12, **(SECRET | {"layout": layout}), order_known_by="Alice", max_episode_steps=limit, text=False)
    silent, _, _ = served(world)
    informed, returns, _ = served(world, hears=True)
    assert informed.all() and returns.min() > 1.1
    assert silent.mean() < 0.5


@pytest.mark.parametrize("name", ["secret_order", "tuning_order"])
def test_tasks_with_a_secret_can_be_served_with_messages(name):
    assert served(Salad(2, **TASKS[name], text=False), hears=True)[0].all()


def test_an_order_that_the_server_does_not_know_needs_messages():
    world = Salad(12, **SECRET, order_known_by="Bob", max_episode_steps=60, text=False)
    assert served(world)[0].mean() < 0.5
    assert served(world, hears=True)[0].all()
