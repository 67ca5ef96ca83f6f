"""Each of the 17 phrases makes units do what it says, with legal commands, and a planner can win with them alone."""

import numpy as np
import pytest

from rl_envs.minirts.factored import C_ATTACK, C_BUILDING, C_CONTINUE, C_GATHER, C_MOVE, C_UNIT
from rl_envs.minirts.phrases import MADE, PHRASES, collective_action, commands_for, obeyable, per_unit_action
from rl_envs.minirts.symbols import (
    ARMY,
    BARRACK,
    BUILDER,
    DRAGON,
    FIRST_BUILDING,
    HALL,
    NUM_TYPES,
    PEASANT,
    SPEARMAN,
    SWORDMAN,
)
from rl_envs.registry import make

FORMS = {"collective": collective_action, "per_unit": per_unit_action}


def view_of(own, enemies=(), commands=(), money=1000):
    """What an agent sees on a known meadow: (type, x, y) of its units and of enemies in sight, their commands."""
    view = {"map": np.zeros((42, 32, 32), np.uint8), "money": np.array(money)}
    view["map"][2], view["map"][7] = 1, 1
    for name, things in (("own", own), ("enemy", enemies), ("resource", [(0, 3, 3), (0, 8, 8)])):
        for column, part in enumerate(("type", "x", "y")):
            view[f"{name}_{part}"] = np.zeros(50, np.uint8)
            view[f"{name}_{part}"][: len(things)] = [thing[column] for thing in things]
        view[f"num_{name}"] = np.array(len(things), np.uint8)
    view["enemy_in_sight"] = np.arange(50) < len(enemies)
    view |= {f"command_{part}": np.zeros(50, np.uint8) for part in ("type", "unit_type", "x", "y", "gather", "attack")}
    view["command_type"][: len(commands)] = commands
    view["owned"] = np.arange(50) < len(own)
    kinds = np.where(view["owned"], view["own_type"], 0)
    view["legal_unit_type"] = (kinds[:, None] == BUILDER) & (np.arange(NUM_TYPES) < FIRST_BUILDING)
    view["legal_building_type"] = BUILDER == PEASANT
    view["legal_command"] = np.zeros((50, 7), bool)
    view["legal_command"][:, C_BUILDING] = (kinds == PEASANT) & (view["command_type"] != C_BUILDING)
    return view


def orders(phrase, view):
    """Places of the units that do something, and their rows of the table."""
    table = commands_for(phrase, view)
    acting = np.flatnonzero(table[:, 0] != C_CONTINUE)
    return acting.tolist(), table[acting].tolist()


def test_idle_peasants_mine_at_the_resource_next_to_their_hall_and_all_peasants_if_all_are_sent():
    view = view_of([(PEASANT, 5, 5), (PEASANT, 6, 6), (HALL, 7, 7)], commands=[C_MOVE])
    units, rows = orders("mine with all idle peasant", view)
    assert units == [1] and rows[0][:2] == [C_GATHER, 1]
    assert orders("send all peasant to mine", view)[0] == [0, 1]


def test_a_building_is_begun_by_the_nearest_free_peasant_on_a_free_cell_and_only_once():
    own = [(PEASANT, 20, 20), (PEASANT, 9, 9), (PEASANT, 8, 9), (HALL, 7, 7)]
    units, [row] = orders("build barrack", view_of(own, commands=[0, 0, C_BUILDING]))
    assert units == [1] and row[0] == C_BUILDING and row[4] == BARRACK
    x, y = row[5] % 32, row[5] // 32
    assert max(abs(x - 7), abs(y - 7)) <= 3 and (x, y) not in {(7, 7), (8, 9), (9, 9), (8, 8), (3, 3)}
    under_way = view_of(own, commands=[0, 0, C_BUILDING])
    under_way["command_unit_type"][2] = BARRACK
    assert orders("build barrack", under_way) == ([], [])


def test_one_unit_is_trained_where_it_is_made():
    view = view_of([(PEASANT, 5, 5), (BARRACK, 6, 6), (BARRACK, 9, 9), (HALL, 7, 7)])
    assert orders("build spearman", view) == ([1], [[C_UNIT, 0, 0, SPEARMAN, 0, 0, 0]])
    assert orders("build peasant", view)[0] == [3]
    assert orders("build another swordman", view) == ([], [])


def test_fighters_attack_their_most_preferred_target_that_they_can_damage():
    enemies = [(SWORDMAN, 9, 9), (DRAGON, 8, 8), (HALL, 30, 30)]
    units, rows = orders("attack", view_of([(PEASANT, 5, 5), (SPEARMAN, 6, 6), (HALL, 2, 2)], enemies))
    assert units == [1] and rows[0][:3] == [C_ATTACK, 0, 0]
    far = view_of([(SPEARMAN, 6, 6), (HALL, 2, 2)], [(DRAGON, 8, 8), (HALL, 30, 30)])
    assert orders("attack", far)[1][0][:3] == [C_ATTACK, 0, 1]


def test_a_scout_goes_to_the_first_unseen_point_and_one_is_enough():
    view = view_of([(PEASANT, 5, 5), (SPEARMAN, 9, 9), (HALL, 4, 4)])
    assert orders("keep scouting", view) == ([], [])
    view["map"][2, 20:], view["map"][4, 20:] = 0, 1
    units, [row] = orders("send one peasant to scout", view)
    assert units == [0] and row[0] == C_MOVE and row[6] // 32 >= 20
    view["command_type"][0], view["command_x"][0], view["command_y"][0] = C_MOVE, row[6] % 32, row[6] // 32
    assert orders("send one peasant to scout", view) == ([], [])


def test_units_of_others_are_not_commanded():
    view = view_of([(PEASANT, 5, 5), (PEASANT, 6, 6), (HALL, 7, 7)])
    view["owned"][0] = False
    assert orders("send all peasant to mine", view)[0] == [1]


def test_the_collective_form_takes_the_commonest_command():
    table = commands_for("", view_of([(PEASANT, 5, 5)]))
    assert collective_action(table)["continue_all"] == 1
    table[[2, 3, 5], 0], table[[2, 3], 1] = C_GATHER, 4
    action = collective_action(table)
    assert (action["continue_all"], action["command"], action["gather"]) == (0, C_GATHER, 4)
    assert [name for name, flag in action.items() if name.startswith("unit_") and flag == 1] == ["unit_02", "unit_03"]
    assert per_unit_action(table)["command_05"] == C_GATHER


def test_an_unknown_phrase_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"dance.*attack"):
        commands_for("dance", view_of([]))


def next_phrase(view):
    """A planner of a few lines: peasants, a workshop, dragons, and then an attack."""
    count = np.bincount(view["own_type"][: int(view["num_own"])], minlength=NUM_TYPES)
    if (view["command_type"][view["owned"] & (view["own_type"] == PEASANT)] == 0).any():
        return "mine with all idle peasant"
    if count[PEASANT] < 5:
        return "build peasant"
    if not count[BUILDER[DRAGON]]:
        return "build workshop"
    if count[DRAGON] < 3:
        return "build dragon"
    return "attack" if count[list(ARMY)].sum() and view["num_enemy"] else "keep scouting"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_phrases_are_legal_and_win_against_an_enemy_that_does_nothing(form):
    world = make("minirts-v0", 2, opponents="passive", actions=form)
    observations, seen = world.reset(1), set()
    for _ in range(world.max_episode_steps):
        actions = []
        for row in range(world.num_worlds):
            view = {name: value[row, 0] for name, value in observations.items()}
            phrase = next_phrase(view)
            table = commands_for(phrase, view)
            for k in np.flatnonzero(table[:, 0] != C_CONTINUE):
                assert view["legal_command"][k, table[k, 0]], phrase
                assert table[k, 0] != C_UNIT or view["legal_unit_type"][k, table[k, 3]]
            possible = obeyable(view)
            seen |= {PHRASES[number] for number in np.flatnonzero(possible)}
            actions.append(FORMS[form](table))
        joined = {name: np.array([[action[name]] for action in actions]) for name in world.action_spec}
        observations, reward, terminated, _, _ = world.step(joined)
        if terminated.any():
            assert reward[terminated].tolist() == [[1.0]] * int(terminated.sum())
            break
    else:
        pytest.fail("nobody won")
    made = {f"build {name}" for name in ("workshop", "peasant", "dragon", "stable", "barrack", "blacksmith")}
    assert seen >= {"attack", "mine with all idle peasant", "keep scouting"} | made and made <= set(MADE)
