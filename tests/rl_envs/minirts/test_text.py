"""States in words come back without loss, other texts are refused, and sentences about units are those of the lists."""

import numpy as np
import pytest

from rl_envs.minirts.facts import FACTS, VOCABULARY, encode_text, text_tables
from rl_envs.minirts.phrases import PHRASES
from rl_envs.minirts.text import DESCRIBED, UnreadableStateError, describe, read, team_view
from rl_envs.registry import make

TEXT = """You have 250 money, you see 200 of 1024 cells, and you have seen 100 others before.
own 0 of agent 1: peasant at x 4, y 5, hp 30 of 30; gathers resource 0.
own 1 of agent 0: peasant at x 6, y 5, hp 9 of 30; builds a guard tower at x 7, y 9.
own 2 of agent 0: archer at x 8, y 8, hp 75 of 75; attacks enemy 1, a town hall.
own 3 of agent 1: dragon at x 8, y 3, hp 100 of 100; moves to x 30, y 31.
own 4 of agent 0: town hall at x 5, y 7, hp 350 of 350; trains a peasant.
enemy 0: swordman at x 9, y 9, hp 51 of 100; in sight.
enemy 1: town hall at x 20, y 28, hp 350 of 350; out of sight.
resource 0: at x 3, y 3, hp 990 of 1000; in sight."""


def test_the_text_of_a_state_comes_back_as_it_was():
    found = read(TEXT)
    assert describe(found) == TEXT
    assert found["owner"][:5].tolist() == [1, 0, 0, 1, 0]
    assert found["count"][2 + 1] == 2 and found["count"][17 + 3] == 1 and found["count"][-1] == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("own 1 of", "own 2 of"),
        ("hp 51 of 100", "hp 51 of 75"),
        ("hp 51 of 100", "hp 151 of 100"),
        ("x 20, y 28", "x 20, y 32"),
        ("x 20, y 28", "x 020, y 28"),
        ("enemy 1, a town hall", "enemy 0, a town hall"),
        ("enemy 1, a town hall", "enemy 2, a town hall"),
        ("gathers resource 0", "gathers resource 300"),
        ("idle", "sleeps"),
        ("trains a peasant", "trains a resource"),
        ("peasant at x 6", "griffin at x 6"),
        ("200 of 1024", "1000 of 1024"),
        ("\nresource 0", "\n\nresource 0"),
        ("; in sight.\nenemy 1", "; in sight.\nresource 1: at x 1, y 1, hp 1 of 1000; in sight.\nenemy 1"),
        ("of agent 1: dragon", "of agent 999: dragon"),
    ],
    ids=str,
)
def test_a_text_that_is_no_state_is_refused(old, new):
    changed = TEXT.replace(old, new) if old in TEXT else TEXT.replace("trains a peasant", new)
    assert changed != TEXT
    with pytest.raises(UnreadableStateError):
        read(changed)


def test_the_tables_hold_the_words_of_facts_and_phrases():
    tables = text_tables()
    for name, texts in (("facts", FACTS), ("phrases", ("", *PHRASES))):
        words = [" ".join(VOCABULARY[token] for token in row if token) for row in tables[name]]
        assert words == list(texts)
    assert len(PHRASES) == 17 and len(set(FACTS)) == len(FACTS)
    assert encode_text("build dragon", 5).tolist() == tables["phrases"][1 + PHRASES.index("build dragon")].tolist()


@pytest.mark.slow
def test_played_states_come_back_with_every_described_number():
    world = make("minirts-v0", 4, opponents=["strong", "medium"], agents_per_side=2, extra_units=6, facts=True)
    random, observations, kinds = np.random.default_rng(3), world.reset(5), set()
    for _ in range(40):
        shape = (4, 2)
        actions = {name: random.integers(size, size=shape) for name, size in world.action_spec.items()}
        observations = world.step(actions)[0]
        for row in range(world.num_worlds):
            view = team_view(observations, row)
            again = read(describe(view))
            kinds |= set(view["command_type"].tolist())
            for name in DESCRIBED:
                np.testing.assert_array_equal(again[name], view[name], err_msg=name)
                assert again[name].dtype == view[name].dtype
            _check_facts(view, describe(view).split("\n"))
    assert {0, 1, 2, 5} <= kinds


def _check_facts(view, lines):
    """Each object's fact names the type and what the state's line about it says."""
    lines = iter(lines[1:])
    for name in ("own", "enemy", "resource"):
        number = int(view[f"num_{name}"])
        assert not view[f"{name}_fact"][number:].any()
        for fact in view[f"{name}_fact"][:number]:
            line, words = next(lines), FACTS[fact]
            assert words.startswith(f"{name} ")
            activity = line.rpartition("; ")[2]
            assert name == "resource" or line.partition(": ")[2].partition(" at ")[0] in words
            hp, most = (int(part) for part in line.partition("hp ")[2].partition(";")[0].split(" of "))
            assert ("unhurt" in words) == (hp == most)
            if name == "own":
                assert ("idle" in words) == (activity == "idle.") and ("gathers" in words) == ("gathers" in activity)
            else:
                assert ("visible" in words) == (activity == "in sight.")
