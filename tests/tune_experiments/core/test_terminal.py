"""What commands print is plain text: names of files are shown as they are."""

import pytest

from tune_experiments.core.terminal import Terminal


@pytest.mark.parametrize("line", ["wrote runs/a[/b]/läuf [red]/table.md", "my_env:A: 3 agents"])
def test_brackets_and_colons_in_a_name_are_no_markup(capsys, line):
    Terminal().print(line)
    assert capsys.readouterr().out == line + "\n"
