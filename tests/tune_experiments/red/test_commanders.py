"""What commanders say, from what they may know."""

import numpy as np
import pytest

from rl_envs.minirts.phrases import MINE, MINE_ALL, PHRASES, SEND_SCOUT
from rl_envs.minirts.symbols import (
    ARCHER,
    BLACKSMITH,
    CATAPULT,
    CAVALRY,
    DRAGON,
    HALL,
    PEASANT,
    SPEARMAN,
    STABLE,
    SWORDMAN,
)
from tune_experiments.red.commanders import say

MANY = [HALL, *[PEASANT] * 6]


def view(own=MANY, enemies=(), lately=()):
    """What an agent observes: its side's objects, enemies in the list and enemies seen lately."""
    seen = {"own_type": np.zeros(50, np.uint8), "enemy_type": np.zeros(50, np.uint8)}
    seen |= {"in_production": np.zeros(16, np.uint8), "enemy_average": np.zeros(16, np.float32)}
    seen["own_type"][: len(own)], seen["num_own"] = own, np.uint8(len(own))
    seen["enemy_type"][: len(enemies)], seen["num_enemy"] = enemies, np.uint8(len(enemies))
    seen["enemy_average"][list(lately)] = 1
    return seen


def command(commander, seen, enemies=(), decision=20, agent=0, uniforms=(0.0, 0.0), share=1.0):
    return say(commander, seen, decision, enemies, agent, np.array(uniforms), share)


def test_the_oracle_mines_first_then_makes_peasants_while_there_are_few():
    few = view([HALL, *[PEASANT] * 3])
    assert command("oracle", few, [SPEARMAN], decision=1) == MINE
    assert command("oracle", few, [SPEARMAN]) == "build peasant"
    assert command("oracle", few, [CATAPULT]) == ""


@pytest.mark.parametrize(
    ("enemy", "factory", "unit"),
    [
        (SPEARMAN, "build blacksmith", "build another swordman"),
        (SWORDMAN, "build stable", "build cavalry"),
        (CAVALRY, "build barrack", "build spearman"),
        (DRAGON, "build workshop", "build archer"),
    ],
)
def test_the_oracle_names_the_factory_and_then_five_of_what_beats_the_enemy(enemy, factory, unit):
    from tune_experiments.red.commanders import COUNTER, FACTORY

    kind = COUNTER[enemy]
    assert command("oracle", view(), [enemy]) == factory
    assert command("oracle", view([*MANY, FACTORY[kind]]), [enemy]) == unit
    assert command("oracle", view([*MANY, FACTORY[kind], *[kind] * 5]), [enemy]) == ""


def test_against_archers_the_factory_that_is_there_decides():
    assert command("oracle", view([*MANY, BLACKSMITH]), [ARCHER]) == "build another swordman"
    assert command("oracle", view([*MANY, BLACKSMITH, STABLE]), [ARCHER]) == "build cavalry"
    assert command("oracle", view(), [ARCHER], agent=2) == "build barrack"


def test_agents_follow_a_chain_each_where_the_enemy_trains_several_types():
    commands = [command("oracle", view(), [SPEARMAN, DRAGON], agent=agent) for agent in (0, 1)]
    assert commands == ["build blacksmith", "build workshop"]


def test_the_adversary_names_what_loses():
    assert command("adversarial", view(), [DRAGON]) == command("adversarial", view(), [SPEARMAN]) == "build stable"
    assert command("adversarial", view(), [SWORDMAN]) == "build barrack"
    assert command("adversarial", view(), [CATAPULT]) == MINE_ALL
    dragons = view([*MANY, 11, *[DRAGON] * 9])
    assert command("adversarial", dragons, [ARCHER]) == "build dragon"


def test_the_fair_commander_knows_only_what_was_seen():
    truth = [DRAGON]
    assert command("fair", view(), truth) == SEND_SCOUT
    assert command("fair", view(lately=[SWORDMAN]), truth) == "build stable"
    assert command("fair", view(enemies=[HALL, BLACKSMITH]), truth) == "build stable"
    assert command("fair", view(lately=[SPEARMAN], enemies=[STABLE]), truth) == "build blacksmith"


def test_the_silent_one_says_nothing_and_the_random_one_any_phrase_at_its_share():
    assert command("none", view(), [DRAGON]) == ""
    generator = np.random.default_rng(0)
    commands = [command("random", view(), uniforms=generator.random(2), share=0.5) for _ in range(600)]
    assert set(commands) == {"", *PHRASES} and 240 < commands.count("") < 360
