"""What a run says of its deviations from a paper is true of the configuration that runs."""

import pytest

from tests.tune_experiments.experiment.paper_numbers import PAPERS
from tests.tune_experiments.experiments import TRAINED
from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.config_path import value_at, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment

CASES = [
    ("verco_salad", {"methods": ("verco",)}, {"model": "a/model"}, "small model"),
    ("verco_salad", {"methods": ("verco",)}, {"methods": ("twosome",)}, "teacher is scripted"),
    ("sama_frozen_lake", {}, {"methods": ("mappo",)}, "planners"),
    ("sama_overcooked", {}, {"methods": ("selfplay",)}, "planner: "),
    ("sama_minirts", {}, {"tests": ("commanders",)}, "planner: "),
    ("overcooked_roles", {}, {"methods": ("selfplay",)}, "Q-learning"),
    ("overcooked_roles", {}, {"methods": ("qmix",)}, "ROMA"),
    ("endi_rtfm", {}, {"methods": ("txt2pi",)}, "masks are"),
    ("endi_messenger", {}, {"methods": ("emma",)}, "masks are"),
    ("messenger_emma", {}, {"methods": ("emma",)}, "contrastive"),
    ("rtfm_rock_paper_scissors", {"methods": ("txt2pi_supervised_attention",)}, {"methods": ("cnn",)}, "supervision"),
    ("matrix_game", {"budget_env_steps": 1024}, {"budget_env_steps": 1_024_000}, "too few"),
]


@pytest.mark.parametrize(("name", "before", "changes", "said"), CASES)
def test_a_changed_flag_takes_back_what_was_noted_of_it(name, before, changes, said):
    experiment = find_experiment(name)
    first = with_overrides(experiment.presets["laptop"], before)
    told = ["\n".join(experiment.deviation_notes(config)) for config in (first, with_overrides(first, changes))]
    assert said in told[0] and said not in told[1]


def test_each_flag_that_differs_from_the_papers_preset_is_said_with_both_values():
    experiment = find_experiment("furnmove_sync")
    paper = experiment.presets["paper"]
    changes = {"learner.gamma": 0.5, "learner.amsgrad": False, "train_rooms": "valid"}
    (said,) = set(experiment.deviations(with_overrides(paper, changes))) - set(experiment.deviations(paper))
    wanted = {"--learner.gamma 0.5 (0.99)", "--learner.no-amsgrad (--learner.amsgrad)", "--train-rooms valid (train)"}
    assert {*said.partition(": ")[2].split(", ")} == wanted


def test_two_language_models_are_one_question():
    laptop = find_experiment("verco_salad").presets["laptop"]
    for flag in ("model", "team.language.model"):
        assert with_overrides(laptop, {flag: "a/model"}).language_team(None).language.model == "a/model"
    with pytest.raises(UserError, match=r"--model a/model .*--team.language.model another/one"):
        with_overrides(laptop, {"model": "a/model", "team.language.model": "another/one"})
    named = with_overrides(laptop, {"team.language.model": "a/model"})
    assert config_from_json(type(named), config_to_json(named), "here") == named


def of_preset(config, path):
    """Value of a setting; of worlds that play at once, which two settings make."""
    group, _, name = path.rpartition(".")
    workers = value_at(config, group) if group else config
    return workers.runners * workers.worlds_per_runner if name == "env_steps_at_once" else value_at(config, path)


def in_words(value):
    """Ways in which a note or a flag writes a value."""
    if isinstance(value, tuple):
        return (" ".join(map(str, value)),)
    return (str(value), f"{value:,}") if isinstance(value, int) else (str(value),)


def unsaid(config, numbers, notes):
    """Settings whose number is not the paper's, and of which no note names both."""
    differing = {path: (of_preset(config, path), paper) for path, paper in numbers.items()}
    notes = [one for note in notes for one in note.split(", --")]
    return [
        path
        for path, both in differing.items()
        if both[0] != pytest.approx(both[1])
        and not any(all(any(word in note for word in in_words(value)) for value in both) for note in notes)
    ]


@pytest.mark.long
def test_every_preset_called_paper_is_compared():
    assert sorted(PAPERS) == [name for name in TRAINED if "paper" in find_experiment(name).presets]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PAPERS))
def test_each_number_that_differs_from_the_paper_is_said(name):
    experiment = find_experiment(name)
    config = experiment.presets["paper"]
    assert unsaid(config, PAPERS[name], experiment.deviations(config)) == []
