"""What agents see and remember, and the vector that tells it."""

from rl_envs.salad.symbols import RECIPES
from rl_envs.salad.world import Salad
from tests.rl_envs.salad.scenes import AWAY, LEFT, PLATE, STAY, TOMATO, UP, act, legal, situation, step

SHORT = {"actions": "short", "kitchen": "one_plate"}


def named(vector):
    """The parts of a vector by name."""
    vector = vector.tolist()
    return {
        "tomato": vector[0:3],
        "lettuce": vector[3:6],
        "onion": vector[6:9],
        "plates": [vector[9:11], vector[11:13]],
        "boards": [vector[13:15], vector[15:17]],
        "delivery": vector[17:19],
        "self": vector[19:21],
        "mate": vector[21:23],
        "order": vector[23:],
    }


def test_the_vector_shows_what_is_within_two_cells_and_zeros_for_the_rest():
    world = situation([(1, 4), (1, 1)], chops=(2, 0, 0), recipes=["onion"])
    first, second = (named(row) for row in world.observe()["vector"][0])
    assert first["tomato"] == [0, 5, 2]
    assert first["lettuce"] == [1, 6, 0] and first["onion"] == [2, 6, 0]
    assert first["plates"] == [[0, 0], [0, 0]] and first["boards"] == [[0, 0], [0, 0]]
    assert first["self"] == [1, 4] and first["mate"] == [0, 0]
    assert second["tomato"] == [0, 0, 0]
    assert second["boards"] == [[1, 0], [2, 0]] and second["delivery"] == [3, 0]
    assert first["order"] == second["order"] == [int(name == "onion") for name in RECIPES]


def test_sight_is_a_square_of_the_chosen_size():
    for sight, sees in ((1, False), (2, True)):
        world = situation([(3, 2), (5, 4)], sight=sight)
        assert (named(world.observe()["vector"][0, 0])["mate"] == [5, 4]) == sees


def test_an_order_known_by_one_agent_is_hidden_from_the_other():
    world = Salad(1, layout="B", recipes=["onion"], order_known_by="Alice")
    first, second = (named(row) for row in world.reset(0)["vector"][0])
    assert sum(first["order"]) == 1
    assert sum(second["order"]) == 0


def test_things_are_remembered_where_they_were_last_seen():
    world = situation([(1, 1), (5, 5)], things={TOMATO: (2, 0)}, chops=(3, 0, 0), **SHORT)
    assert world.state["believed_cells"][0, 0, TOMATO] == 14
    act(world, "wait", "get_plate_1")
    assert world.state["believed_cells"][0, 1, TOMATO] == 5, "who did not see it move thinks of its usual place"
    while world.state["held"][0, 1] != PLATE:
        act(world, "wait", "get_plate_1")
    assert "get_tomato" not in legal(world, 1), "and does not know that it is chopped"
    world = situation([(1, 2), (5, 5)], things={TOMATO: (2, 0)}, chops=(3, 0, 0), held=(PLATE, -1), **SHORT)
    for _ in range(4):
        act(world, "wait", "wait")
    assert "get_tomato" in legal(world, 0)


def test_a_thing_seen_to_be_gone_is_thought_to_be_at_home_until_that_is_seen_to_be_empty():
    world = situation([(1, 3), AWAY], things={TOMATO: (5, 0)}, **SHORT)
    assert "get_tomato" not in legal(world, 0), "its usual place is in sight and empty"
    for _ in range(2):
        act(world, "go_to_board_2", "wait")
    assert "get_tomato" in legal(world, 0), "it may be back, now that this is out of sight"


def test_food_last_seen_on_a_plate_is_not_there_when_the_plate_is_seen_without_it():
    world = situation(
        [(5, 4), AWAY],
        things={PLATE: (4, 6)},
        chops=(3, 0, 0),
        in_plate=(0, -1, -1),
        actions="short",
        recipes=["onion"],
    )
    assert world.state["believed_plate"][0, 0, TOMATO] == 0
    state = world.snapshot()
    state["in_plate"][:], state["chops"][:] = -1, 0
    state["thing_cells"][0, [TOMATO, PLATE]] = 5, 41
    del state["lying"]
    world.restore(state)
    assert world.state["believed_plate"][0, 0, TOMATO] == -1
    assert world.state["believed_cells"][0, 0, TOMATO] == 5


def test_agents_see_what_they_carry():
    world = situation([(1, 5), AWAY])
    step(world, UP, STAY)
    step(world, LEFT, STAY)
    assert named(world.observe()["vector"][0, 0])["tomato"] == [1, 4, 0]
