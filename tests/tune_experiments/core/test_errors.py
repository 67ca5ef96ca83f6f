"""What errors say in one line."""

from tune_experiments.core.errors import first_line, one_line


def test_the_first_line_of_an_error_is_short_and_never_empty():
    assert first_line(ValueError("  no room\nat all")) == "no room"
    assert first_line(KeyError()) == "KeyError"
    assert len(first_line(ValueError("x" * 500))) == 200


def test_an_error_of_several_lines_is_said_in_one():
    assert one_line(ValueError("no\n  room  at all\n")) == "no room at all"
    assert one_line(" two\nlines ") == "two lines"
