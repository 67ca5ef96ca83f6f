"""Whom the scripts attack, rule by rule: by what each object likes, from where it stands, and what it may know."""

import pytest

from rl_envs.minirts.symbols import (
    ARCHER,
    ATTACK,
    BARRACK,
    BLACKSMITH,
    BUILD,
    CATAPULT,
    CAVALRY,
    DRAGON,
    HALL,
    MEDIUM,
    NOWHERE,
    PASSIVE,
    PEASANT,
    SPEARMAN,
    STABLE,
    SWORDMAN,
    TOWER,
    WORKSHOP,
)
from tests.rl_envs.minirts.meadow import Meadow

ME, FOE = 0, 1
FIGHTER = (10, 15)
"""Where the fighter stands: too far from both halls to defend, and from the enemy's to attack it."""


def meadow_of(*things):
    """A game in which side 0 is the script; its base attack begins with the first fighter."""
    meadow = Meadow(things)
    game = meadow.game
    game["script_types"][ME, 0], game["script_least"][ME], game["script_most"][ME] = SPEARMAN, 1, 1
    game["money"] = 0
    return meadow


def build(meadow, kind, made, place=0):
    """Let an enemy have a build order, as one that trains has; nothing is made of it within the test."""
    meadow.game["money"][FOE] = 500
    meadow.order(meadow.number(kind, FOE, place), BUILD, made=made, x=NOWHERE, y=NOWHERE)
    meadow.play(1)


def target_of(meadow, kind, place=0):
    """(type, x, y) of what an own object attacks after the script's decision; None for nothing."""
    game = meadow.game
    game["script_kind"] = MEDIUM, PASSIVE
    meadow.player.decide(meadow.games.records, ME)
    ids = game["unit_id"][: game["num_units"]].tolist()
    row, scratch = ids.index(meadow.number(kind, ME, place)), meadow.player.scratch[0]
    if scratch["give_kind"][row] != ATTACK:
        return None
    other = ids.index(scratch["give_target"][row])
    return int(game["unit_type"][other]), int(game["unit_x"][other]), int(game["unit_y"][other])


LIKED = {
    SPEARMAN: (CAVALRY, TOWER, ARCHER, CATAPULT, SPEARMAN, SWORDMAN, PEASANT, HALL),
    SWORDMAN: (SPEARMAN, TOWER, ARCHER, CATAPULT, SWORDMAN, CAVALRY, PEASANT, HALL),
    CAVALRY: (SWORDMAN, TOWER, ARCHER, CATAPULT, CAVALRY, SPEARMAN, PEASANT, HALL),
    ARCHER: (DRAGON, TOWER, ARCHER, CATAPULT, CAVALRY, SWORDMAN, SPEARMAN, PEASANT, HALL),
    DRAGON: (DRAGON, TOWER, ARCHER, CATAPULT, CAVALRY, SWORDMAN, SPEARMAN, PEASANT, HALL),
    TOWER: (DRAGON, TOWER, ARCHER, CATAPULT, CAVALRY, SWORDMAN, SPEARMAN, PEASANT, HALL),
    CATAPULT: (TOWER, HALL),
}


@pytest.mark.parametrize("kind", LIKED)
def test_an_attacker_takes_its_most_preferred_target(kind):
    """One enemy of each type around it; the best liked ones are taken away one after the other."""
    x, y = FIGHTER
    spots = [(x + dx, y + dy) for dx in (-3, -1, 1, 3) for dy in (-3, -1, 1, 3)]
    others = (PEASANT, SPEARMAN, SWORDMAN, CAVALRY, DRAGON, ARCHER, CATAPULT, TOWER, HALL, BARRACK)
    liked = LIKED[kind]
    for number, best in enumerate(liked):
        there = [other for other in others if other not in liked[:number]]
        foes = [(FOE, other, *spot) for other, spot in zip(there, spots, strict=False)]
        target = target_of(meadow_of((ME, kind, x, y), *foes), kind)
        assert target is not None
        assert target[0] == best


@pytest.mark.parametrize("kind", [SPEARMAN, TOWER])
def test_of_equally_preferred_targets_the_first_by_id_is_taken(kind):
    x, y = FIGHTER
    assert target_of(meadow_of((ME, kind, x, y), (FOE, ARCHER, x, y + 4), (FOE, ARCHER, x + 1, y)), kind) == (
        ARCHER,
        x,
        y + 4,
    )


@pytest.mark.parametrize("kind", [SPEARMAN, ARCHER, TOWER])
@pytest.mark.parametrize("kinds", [(BARRACK, WORKSHOP), (WORKSHOP, BARRACK), (STABLE, BLACKSMITH, WORKSHOP)])
def test_of_those_without_a_preference_the_first_by_id_is_taken_whatever_its_type(kind, kinds):
    x, y = FIGHTER
    foes = [(FOE, other, x + 3, y - 2 + 2 * place) for place, other in enumerate(kinds)]
    target = target_of(meadow_of((ME, kind, x, y), *foes), kind)
    assert target == (kinds[0], x + 3, y - 2)


def test_a_preferred_target_comes_before_one_without_preference():
    x, y = FIGHTER
    foes = [(FOE, BARRACK, x + 2, y), (FOE, HALL, x, y + 4), (FOE, WORKSHOP, x - 2, y)]
    assert target_of(meadow_of((ME, SPEARMAN, x, y), *foes), SPEARMAN) == (HALL, x, y + 4)


def test_a_target_that_cannot_be_damaged_is_not_attacked():
    x, y = FIGHTER
    meadow = meadow_of((ME, SPEARMAN, x, y), (FOE, DRAGON, x + 3, y))
    assert target_of(meadow, SPEARMAN) is None


# A peasant is spared for the nearest enemy that builds.

FAR_HALL = (26, 15)
"""A hall farther from the fighter than the square root of 200."""


def field(*things):
    """A fighter with an enemy's peasant in reach, and an enemy's hall out of reach."""
    x, y = FIGHTER
    return meadow_of((ME, ARCHER, x, y), (FOE, PEASANT, x + 3, y), (FOE, HALL, *FAR_HALL), *things)


def test_the_field_attack_spares_a_peasant_for_a_hall_that_trains_in_sight_but_out_of_reach():
    watch = (ME, SPEARMAN, FAR_HALL[0] - 5, FAR_HALL[1])
    meadow = field(watch)
    assert target_of(meadow, ARCHER) == (PEASANT, 13, 15)
    build(meadow, HALL, PEASANT, place=1)
    assert target_of(meadow, ARCHER) == (HALL, *FAR_HALL)


def test_the_field_attack_does_not_know_what_a_hall_out_of_sight_does():
    meadow = field()
    meadow.game["unit_remembered"][: meadow.game["num_units"]] |= 1 << ME
    build(meadow, HALL, PEASANT, place=1)
    assert target_of(meadow, ARCHER) == (PEASANT, 13, 15)


def test_the_nearest_of_those_that_build_is_taken_and_the_first_by_id_if_equally_near():
    x, y = FIGHTER
    meadow = field((FOE, WORKSHOP, x, y - 6), (FOE, BARRACK, x, y + 6), (FOE, STABLE, x + 7, y))
    for kind, made in ((STABLE, CAVALRY), (BARRACK, SPEARMAN), (WORKSHOP, DRAGON)):
        build(meadow, kind, made)
    assert target_of(meadow, ARCHER) == (WORKSHOP, x, y - 6)


def test_a_target_that_is_no_peasant_is_not_exchanged():
    x, y = FIGHTER
    meadow = field((FOE, SWORDMAN, x + 5, y), (FOE, WORKSHOP, x, y - 6))
    build(meadow, WORKSHOP, DRAGON)
    assert target_of(meadow, ARCHER) == (SWORDMAN, x + 5, y)


def test_a_tower_spares_a_peasant_only_for_what_builds_within_its_reach():
    x, y = FIGHTER
    beyond = meadow_of((ME, TOWER, x, y), (FOE, PEASANT, x + 3, y), (FOE, WORKSHOP, x, y - 6))
    build(beyond, WORKSHOP, DRAGON)
    assert target_of(beyond, TOWER) == (PEASANT, x + 3, y)
    within = meadow_of((ME, TOWER, x, y), (FOE, PEASANT, x + 3, y), (FOE, WORKSHOP, x, y - 5))
    build(within, WORKSHOP, DRAGON)
    assert target_of(within, TOWER) == (WORKSHOP, x, y - 5)


def test_the_defence_spares_a_peasant_only_for_what_builds_near_home():
    home, guard = (3, 28), (6, 20)
    beyond = meadow_of((ME, SPEARMAN, *guard), (FOE, PEASANT, home[0] + 4, home[1]), (FOE, WORKSHOP, 6, 18))
    build(beyond, WORKSHOP, DRAGON)
    assert target_of(beyond, SPEARMAN) == (PEASANT, home[0] + 4, home[1])
    near = meadow_of(
        (ME, SPEARMAN, *guard), (FOE, PEASANT, home[0] + 4, home[1]), (FOE, WORKSHOP, home[0], home[1] - 5)
    )
    build(near, WORKSHOP, DRAGON)
    assert target_of(near, SPEARMAN) == (WORKSHOP, home[0], home[1] - 5)


# Reach, sight, and which attack comes first.


def test_the_field_attack_reaches_to_the_square_root_of_200_and_only_what_is_in_sight():
    near, far = (20, 25), (20, 26)  # squares of distances 200 and 221
    for place, expected in ((near, (SWORDMAN, *near)), (far, None)):
        meadow = meadow_of((ME, SPEARMAN, *FIGHTER), (FOE, SWORDMAN, *place), (ME, PEASANT, place[0], place[1] - 2))
        assert target_of(meadow, SPEARMAN) == expected
    assert target_of(meadow_of((ME, SPEARMAN, *FIGHTER), (FOE, SWORDMAN, *near)), SPEARMAN) is None


def test_the_defence_comes_before_the_field_and_takes_enemies_at_any_distance():
    x, y = 20, 6
    intruder = (6, 26)
    meadow = meadow_of((ME, SPEARMAN, x, y), (FOE, CAVALRY, x + 1, y), (FOE, SWORDMAN, *intruder))
    assert target_of(meadow, SPEARMAN) == (SWORDMAN, *intruder)


def test_the_base_attack_takes_the_known_hall_else_the_first_known_building_by_id_but_no_tower():
    def known(*foes):
        meadow = meadow_of((ME, SPEARMAN, *FIGHTER), *foes)
        game = meadow.game
        rows = range(game["num_units"])
        for row in rows:
            if (game["unit_player"][row], game["unit_x"][row], game["unit_y"][row]) != (FOE, 28, 28):
                game["unit_remembered"][row] |= 1 << ME
        return target_of(meadow, SPEARMAN)

    tower, workshop, stable, hall = (TOWER, 28, 2), (WORKSHOP, 28, 4), (STABLE, 24, 4), (HALL, 28, 8)
    foes = [(FOE, *thing) for thing in (tower, workshop, stable)]
    assert known(*foes, (FOE, *hall)) == hall
    assert known(*foes) == workshop
    assert known(foes[0]) is None


def test_idle_peasants_hunt_peasants_that_build_within_8_and_any_within_3_but_no_factory():
    x, y = FIGHTER
    for away, builds, expected in ((3, False, True), (4, False, False), (8, True, True), (9, True, False)):
        meadow = meadow_of((ME, PEASANT, x, y), (FOE, PEASANT, x, y - away), (ME, SPEARMAN, x - 4, y - 8))
        if builds:
            meadow.game["money"][FOE] = 500
            meadow.order(meadow.number(PEASANT, FOE), BUILD, made=BARRACK, x=x, y=y - away - 2)
            meadow.play(1)
        assert (target_of(meadow, PEASANT) is not None) == expected, (away, builds)
    meadow = meadow_of((ME, PEASANT, x, y), (FOE, WORKSHOP, x, y - 3))
    build(meadow, WORKSHOP, DRAGON)
    assert target_of(meadow, PEASANT) is None
