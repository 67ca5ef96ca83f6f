"""What commands print is plain text: names of files are shown as they are."""

from tune_experiments.core.terminal import Terminal


def test_brackets_in_a_name_are_no_markup(capsys):
    Terminal().print("wrote runs/a[/b]/läuf [red]/table.md")
    assert capsys.readouterr().out == "wrote runs/a[/b]/läuf [red]/table.md\n"


def test_a_name_between_colons_is_printed_as_it_is(capsys):
    Terminal().print("my_env:A: 3 agents")
    assert capsys.readouterr().out == "my_env:A: 3 agents\n"
