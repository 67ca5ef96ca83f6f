"""Generated kitchens: valid, all of them different, the same in every process, and such that a salad can be made."""

import numpy as np
import pytest

from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.kitchen import FAR, LAYOUTS, STARTS
from rl_envs.salad.procedural import KINDS, ONE_FOOD, procedural_kitchen
from rl_envs.salad.world import Salad

NUMBERS = range(24)


@pytest.fixture(scope="module")
def kitchens():
    return [procedural_kitchen(number) for number in NUMBERS]


def test_the_same_number_gives_the_same_kitchen_and_another_seed_another(kitchens):
    assert kitchens == [procedural_kitchen(number) for number in NUMBERS]
    assert kitchens[0] != procedural_kitchen(0, seed=1)
    assert len({kitchen["drawing"] for kitchen in kitchens}) == len(kitchens)
    assert not {kitchen["drawing"] for kitchen in kitchens} & set(LAYOUTS.values())


def test_everything_can_be_touched_and_a_divided_kitchen_has_a_middle_counter(kitchens):
    for number, kitchen in enumerate(kitchens):
        tables = Salad(1, **kitchen, text=False).kitchen
        things = [*tables.homes[tables.has], *tables.boards[tables.boards >= 0], tables.delivery]
        assert (tables.distance[np.array(things)][:, STARTS] < FAR).any(1).all()
        assert bool(tables.shared) == (KINDS[number % len(KINDS)] != "room")


def test_one_food_is_ordered_with_one_board_and_several_with_two(kitchens):
    for kitchen in kitchens:
        boards = "".join(kitchen["drawing"]).count("K")
        assert all((recipe in ONE_FOOD) == (boards == 1) for recipe in kitchen["recipes"])
        assert boards == 1 or "order_known_by" not in kitchen
        assert "tomato" not in kitchen["recipes"]


@pytest.mark.slow
def test_scripted_cooks_that_err_serve_in_most_generated_kitchens(kitchens):
    """Without errors two cooks in one room can wait for each other for ever."""
    served = 0
    for kitchen in kitchens:
        world = Salad(2, **kitchen, text=False, max_episode_steps=400)
        cooks, chance, seen, done = ScriptedCooks(world), np.random.default_rng(0), world.reset(0), False
        for _ in range(400):
            any_legal = (chance.random(seen["legal"].shape) * seen["legal"]).argmax(-1)
            actions = cooks.act()
            seen, _, terminated, _, _ = world.step(np.where(chance.random(actions.shape) < 0.2, any_legal, actions))
            done = done or terminated.any()
        served += done
    assert served >= 20
