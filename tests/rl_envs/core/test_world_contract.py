"""The contract of the base class for stepping, recording and restoring, on a toy world that uses all of it."""

import numpy as np
import pytest

from rl_envs.core.texts import TextStore
from tests.toy_worlds import Errands

REST, WALK, RUN = 0, 1, 2


def acts(world, go, say=0):
    """The same action for everybody, or an array that broadcasts to [B, N]."""
    shape = (world.num_worlds, world.num_agents)
    return {"go": np.broadcast_to(go, shape).copy(), "say": np.broadcast_to(say, shape).copy()}


def calm(num_worlds=1, **arguments):
    """Worlds without wind, everybody on cell 0 at the start."""
    world = Errands(num_worlds, gusts=0.0, **arguments)
    world.reset(0)
    world.restore({"cell": np.zeros((num_worlds, world.num_agents))})
    return world


def test_a_world_without_a_game_refuses_to_go_on():
    for act in (lambda: Errands().step({}), lambda: Errands().next_episode()):
        with pytest.raises(RuntimeError, match="reset"):
            act()


@pytest.mark.parametrize("worlds", [[True, False], [0, 2], [-1], [0.0]])
def test_the_next_episode_of_worlds_that_do_not_exist_loses_nothing(worlds):
    world = calm(2)
    before = world.snapshot()
    with pytest.raises(ValueError, match="worlds"):
        world.next_episode(np.array(worlds))
    np.testing.assert_equal(world.snapshot(), before)


def test_entries_of_agents_that_do_not_choose_may_be_any_number_and_those_of_others_may_not():
    """One runs and carries on, one was blown away, one chooses."""
    world, other = (calm(num_agents=3, max_episode_steps=50) for _ in range(2))
    gust = np.array([[False, True, False]])
    for each in (world, other):
        observations, *_ = each.step(acts(each, [[RUN, WALK, REST]]), chance={"gust": gust})
    assert (observations["decides"] & observations["alive"]).tolist() == [[False, False, True]]
    before = world.snapshot()
    for go, say in (([[0, 0, -1]], 0), ([[0, 0, 3]], 0), ([[-1, 99, 1]], [[0, 0, 5]])):
        with pytest.raises(ValueError, match=r"actions .*\.\."):
            world.step(acts(world, go, say))
    np.testing.assert_equal(world.snapshot(), before)
    world.step(acts(world, [[-1, 99, WALK]], [[5, -7, 1]]))
    other.step(acts(other, [[0, 0, WALK]], [[0, 0, 1]]))
    np.testing.assert_equal(world.snapshot(), other.snapshot())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_rules_get_int64_whatever_integers_the_actions_are(dtype):
    given = []

    class Noting(Errands):
        def _advance(self, actions, recorded):
            given.extend(part.dtype for part in actions.values())
            return super()._advance(actions, recorded)

    world = Noting()
    world.reset(0)
    world.step({name: part.astype(dtype) for name, part in acts(world, WALK).items()})
    assert given == [np.int64] * 2


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({}, r"missing \['cell'\]"),
        ({"cell": np.zeros((1, 2))}, r"cell.*\(2, 2\).*\(1, 2\)"),
        ({"cell": np.zeros((2, 2)), "chance_key": np.zeros(3)}, "chance_key.*shape"),
        ({"cell": np.array([[0, 1], [2, 300]])}, "cell.*300"),
        ({"cell": np.full((2, 2), -1)}, "cell.*-1"),
        ({"cell": np.zeros((2, 2)), "chance_key": np.array([0, -1])}, "chance_key.*-1"),
        ({"cell": np.zeros((2, 2)), "episode_return": np.full((2, 2), 2**53 + 1)}, "9007199254740993"),
        ({"cell": np.array([["0", "1"], ["2", "3"]])}, "cell.*uint8.*<U1"),
        ({"cell": np.zeros((2, 2)), "texts/sentences": np.full((1, 4), 1.5)}, "texts/sentences.*1.5"),
        ({"cell": np.zeros((2, 2)), "texts/sentences": np.full((1, 4), 99)}, "token ids"),
    ],
)
def test_a_state_that_cannot_be_restored_is_refused_and_loses_nothing(state, sentence):
    world = Errands(2)
    world.reset(0)
    world.step(acts(world, WALK))
    before = world.snapshot()
    with pytest.raises(ValueError, match=sentence):
        world.restore(state)
    np.testing.assert_equal(world.snapshot(), before)


class Numbered(Errands):
    """Keeps a number, of which a negative one is found to be impossible only after everything was restored."""

    def _blank_state(self, num_worlds):
        return super()._blank_state(num_worlds) | {"number": np.zeros(num_worlds, np.int64)}

    def _derive(self, rows, given):
        if (self.state["number"] < 0).any():
            self.texts["sentences"].add(np.full((1, 4), 7))
            self.chance.next_step()
            raise ValueError("number")


def test_a_state_that_is_refused_at_last_loses_nothing_either():
    world, other = Numbered(2), Numbered(2)
    for each in (world, other):
        each.reset(3)
        each.step(acts(each, WALK))
    before = world.snapshot()
    for spoilt in ({"number": np.array([0, -1])}, {"number": np.array([-1, 0]), "texts/sentences": np.ones((1, 4))}):
        with pytest.raises(ValueError, match="number"):
            world.restore({"cell": np.zeros((2, 2))} | spoilt)
        np.testing.assert_equal(world.snapshot(), before)
    np.testing.assert_equal(world.next_episode(), other.next_episode())
    np.testing.assert_equal(world.snapshot(), other.snapshot())


def test_a_state_in_which_agents_would_observe_what_nobody_can_is_refused():
    world = calm()
    before = world.snapshot()
    with pytest.raises(ValueError, match="cell"):
        world.restore({"cell": np.full((1, 2), 7)})
    np.testing.assert_equal(world.snapshot(), before)


def test_a_bad_text_table_leaves_the_other_tables_as_they_were():
    world = Errands(1)
    world.reset(0)
    world.texts["manuals"] = TextStore(world.texts["sentences"].spec)
    before = world.texts["sentences"].table.copy()
    state = {"texts/sentences": np.ones((1, 4)), "texts/manuals": np.full((1, 4), 99)}
    for order in (state, dict(reversed(state.items()))):
        with pytest.raises(ValueError, match="token ids"):
            world.restore({"cell": np.zeros((1, world.num_agents))} | order)
        np.testing.assert_array_equal(world.texts["sentences"].table, before)


class Letters(Errands):
    """Keeps the rows of what was said instead of composing them at every observation."""

    def _blank_state(self, num_worlds):
        return super()._blank_state(num_worlds) | {"sentences": np.zeros((num_worlds, self.num_agents, 2), np.int16)}

    def _observe(self, rows):
        return super()._observe(rows) | {"sentences": self.state["sentences"][rows].astype(np.int32)}


def test_rows_of_texts_are_restored_with_their_table_or_not_at_all():
    world = Letters(1)
    world.texts["sentences"].add(np.arange(12).reshape(3, 4))
    world.reset(0)
    before, table = world.snapshot(), np.arange(8).reshape(2, 4)
    texts = {"texts/sentences": table}
    start, rows = {"cell": np.zeros((1, 2))}, np.ones((1, 2, 2))
    for wrong in (
        {"sentences": rows},
        {"sentences": rows + 1} | texts,
        {"sentences": -rows} | texts,
        {"sentences": 0 * rows, "texts/sentences": table[:0]},
        {"sentences": rows, "texts/sentences": table[[0, 0, 1]]},
    ):
        with pytest.raises(ValueError, match="sentences"):
            world.restore(start | wrong)
        np.testing.assert_equal(world.snapshot(), before)
    seen = world.restore(start | {"sentences": rows} | texts)["sentences"]
    np.testing.assert_array_equal(world.texts["sentences"].look_up(seen)[0, 0, 0], table[1])


def test_compacting_texts_keeps_what_is_shown_and_drops_the_rest():
    world = calm(3)
    for word in range(4):
        before = world.step(acts(world, REST, say=word))[0]
    texts, size = world.texts["sentences"].look_up(before["sentences"]), len(world.texts["sentences"].table)
    world.compact_texts()
    after = world.observe()
    np.testing.assert_array_equal(world.texts["sentences"].look_up(after["sentences"]), texts)
    assert len(world.texts["sentences"].table) == len(np.unique(texts.reshape(-1, texts.shape[-1]), axis=0)) < size


def test_compacting_texts_renumbers_the_rows_that_a_world_keeps():
    world = Letters(2)
    world.reset(0)
    store = world.texts["sentences"]
    lines = np.arange(12).reshape(3, 4) + 1
    rows = store.add(lines)
    world.state["sentences"][...] = rows[2]
    world.compact_texts()
    assert world.state["sentences"].dtype == np.int16
    np.testing.assert_array_equal(store.look_up(world.state["sentences"]), np.broadcast_to(lines[2], (2, 2, 2, 4)))
    assert len(store.table) == 1
