"""A predicate says exactly what it reads as, for whole batches; what is not of the grammar is refused with a reason."""

import itertools

import numpy as np
import pytest

from rl_models.planners.predicates.grammar import PredicateError, parse
from rl_models.planners.predicates.table import OfferedFeature, compile_predicate, describe_table

WORDS = (("a", "b"),)
TABLE = {
    "x": OfferedFeature("number of a thing", WORDS, lambda words, previous, current: current[words[0]]),
    "rises": OfferedFeature("b has risen", (), lambda words, previous, current: current["b"] > previous["b"]),
}


def batch(seed=0, worlds=200):
    numbers = np.random.default_rng(seed)
    return [{name: numbers.integers(0, 4, (worlds, 2), np.int8) for name in "ab"} for _ in range(2)]


CASES = {
    "x(a) == 2": lambda p, c: c["a"] == 2,
    "x(a) >= x(b) - 1": lambda p, c: c["a"] >= c["b"] - 1,
    "before(x(a)) == 0 and x(a) == 1": lambda p, c: (p["a"] == 0) & (c["a"] == 1),
    "change(x(a)) > 0": lambda p, c: c["a"] > p["a"],
    "change(x(a)) + 2 < 1": lambda p, c: c["a"].astype(int) - p["a"] + 2 < 1,
    "x(a)": lambda p, c: c["a"] > 0,
    "rises": lambda p, c: c["b"] > p["b"],
    "not rises": lambda p, c: c["b"] <= p["b"],
    "before(rises)": lambda p, c: np.zeros_like(c["b"], bool),
    "x(a) == 1 or x(b) == 1 and rises": lambda p, c: (c["a"] == 1) | ((c["b"] == 1) & (c["b"] > p["b"])),
    "(x(a) == 1 or x(b) == 1) and rises": lambda p, c: ((c["a"] == 1) | (c["b"] == 1)) & (c["b"] > p["b"]),
    "not not x(a)": lambda p, c: c["a"] > 0,
    "not x(a) == 1": lambda p, c: c["a"] != 1,
    "(x(a) > 1) + (x(b) > 1) == 1": lambda p, c: (c["a"] > 1) ^ (c["b"] > 1),
    "3 - 1 - 1 == x(a)": lambda p, c: c["a"] == 1,
}


@pytest.mark.parametrize("text", CASES)
def test_a_predicate_means_what_it_reads_as(text):
    previous, current = batch()
    reached = compile_predicate(text, TABLE)(previous, current)
    assert reached.shape == (200, 2)
    assert reached.dtype == bool
    assert (reached == CASES[text](previous, current)).all()


@pytest.mark.parametrize("text", CASES)
def test_worlds_of_a_batch_do_not_know_each_other(text):
    previous, current = batch(1, 5)
    together = compile_predicate(text, TABLE)(previous, current)
    for index in range(5):
        alone = [{name: value[index : index + 1] for name, value in one.items()} for one in (previous, current)]
        assert (compile_predicate(text, TABLE)(*alone)[0] == together[index]).all()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "instead of 'the end'"),
        ("x(a", "'\\)' is wanted"),
        ("x(a))", "nothing may follow before '\\)'"),
        ("x(a) = 1", "the sign '='"),
        ("x(a) ** 9", "the sign '\\*'"),
        ("x[a]", "the sign '\\['"),
        ("x(a).y", "the sign '\\.'"),
        ("__import__(os)", "the sign '_'"),
        ("'a'", "the sign"),
        ("x(a) == 99999", "larger than 9999"),
        ("x(a) == 1 == 1", "nothing may follow"),
        ("1 == 1", "looks at nothing"),
        ("y(a)", "no feature y"),
        ("rise", "did you mean rises"),
        ("x", "takes 1 arguments and is given 0"),
        ("x(a, b)", "takes 1 arguments and is given 2"),
        ("x(c)", "knows no c: known are a, b"),
        ("x(and)", "a word is wanted"),
        ("before x(a)", "'\\(' is wanted"),
        ("and", "instead of 'and'"),
        ("(" * 20 + "x(a)" + ")" * 20, "nested more than 8"),
        ("not " * 20 + "x(a)", "nested more than 8"),
        ("x(a)" + " or x(a)" * 40, "more than 80 words"),
        ("x(a)" + " " * 400, "longer than 400"),
        ("x(a) > ١", "the sign"),
        ("before(change(x(a))) != 0", "within each other"),
        ("change(" * 8 + "x(a)" + ")" * 8, "within each other"),
        ("change(1 + (not before(x(a)))) > 0", "within each other"),
    ],
)
def test_what_is_not_of_the_grammar_is_refused_with_a_reason(text, reason):
    with pytest.raises(PredicateError, match=reason):
        compile_predicate(text, TABLE)


def test_no_mixture_of_signs_does_anything_but_parse_or_be_refused():
    signs = ("x(a)", "(", ")", "not", "and", "before(", "+", "==", "3", ",")
    outcomes = set()
    for number in (1, 2, 3, 4):
        for mixture in itertools.product(signs, repeat=number):
            try:
                outcomes.add(type(parse(" ".join(mixture))).__name__)
            except PredicateError:
                outcomes.add("refused")
    assert outcomes == {"Number", "Feature", "Operation", "refused"}


def test_the_table_describes_itself_for_a_prompt():
    assert describe_table(TABLE) == "- x(a|b): number of a thing\n- rises: b has risen"
