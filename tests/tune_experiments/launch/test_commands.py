"""What `python -m tune_experiments` says to words that it cannot take."""

import pytest

from tune_experiments.__main__ import main
from tune_experiments.experiment.finding import known_experiments


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("furnmove_snyc", "unknown command 'furnmove_snyc'; did you mean furnmove_sync?"),
        ("evalute", "unknown command 'evalute'; did you mean evaluate?"),
        ("qqqq", "unknown command 'qqqq'; write python -m tune_experiments EXPERIMENT"),
    ],
)
def test_an_unknown_word_is_told_with_the_nearest_command_or_experiment(word, said, capsys):
    assert main([word]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize("command", ["evaluate", "play", "show", "render", "export", "pack", "doctor"])
def test_a_command_without_a_path_asks_for_one(command, capsys):
    assert main([command]) == 2
    assert capsys.readouterr().err.startswith(f"error: {command} needs a PATH: a run, a trial or a checkpoint")


def test_no_word_at_all_is_told_what_to_write(capsys):
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("error: write python -m tune_experiments EXPERIMENT [flags], or ")


def test_help_lists_the_experiments(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert ", ".join(known_experiments()) in " ".join(capsys.readouterr().out.split())
