"""What a run says of its deviations from a paper is true of the configuration that runs."""

import re

import pytest

from rl_models.text.choice import BERT, WORDS
from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment, known_experiments

UNTRAINED = {"overcooked_crossplay", "overcooked_returns", "sama_retest"}
TEXTS = {"encoder.name": BERT}
_DIFFERENCE = re.compile(r": ([^:]+), (?:the paper has|published is|the release has) (.+)$")
CASES = [
    ("verco_salad", {"methods": ("verco",)}, {"model": "a/model"}, "small"),
    ("verco_salad", {"methods": ("verco",)}, {"team.language.model": "a/model"}, "small"),
    ("verco_salad", {"methods": ("verco",)}, {"team.language.model": "huggyllama/llama-7b"}, "language model"),
    ("verco_salad", {"methods": ("verco",)}, {"methods": ("symbolic_ppo",)}, "language model"),
    ("verco_salad", {"methods": ("verco",)}, {"methods": ("twosome",)}, "teacher"),
    ("verco_salad", {"methods": ("verco",)}, {"methods": ("twosome",)}, "warm start"),
    ("verco_salad", {"methods": ("verco",)}, {"warm_start.error": 0.1}, "40%"),
    ("rtfm_matching", {}, {"task.max_episode_steps": 1000}, "horizon"),
    ("sama_frozen_lake", {}, {"methods": ("mappo",)}, "planners"),
    ("sama_frozen_lake", {}, {"methods": ("mappo",)}, "sub-goal"),
    ("sama_overcooked", {"encoder.name": WORDS}, TEXTS, BERT),
    ("sama_overcooked", {"encoder.name": WORDS}, {"methods": ("selfplay",)}, BERT),
    ("sama_overcooked", {}, {"methods": ("selfplay",)}, "planner"),
    ("sama_minirts", {}, {"tests": ("commanders",)}, "planner: "),
    ("overcooked_roles", {}, {"methods": ("selfplay",)}, "Q-learning"),
    ("overcooked_roles", {}, {"methods": ("selfplay",)}, "replay"),
    ("overcooked_roles", {}, {"methods": ("qmix",)}, "ROMA"),
    ("overcooked_roles", {}, {"methods": ("qmix",)}, "overcooked_selfplay"),
    ("endi_rtfm", {}, {"methods": ("txt2pi",)}, "masks"),
    ("endi_messenger", {}, {"methods": ("emma",)}, "masks"),
    ("endi_messenger", {"encoder.name": WORDS}, TEXTS, BERT),
    ("messenger_emma", {"encoder.name": WORDS}, TEXTS, BERT),
    ("messenger_emma", {}, {"methods": ("emma",)}, "contrastive"),
    ("rtfm_rock_paper_scissors", {"methods": ("txt2pi_supervised_attention",)}, {"methods": ("cnn",)}, "supervision"),
    ("matrix_game", {"budget_env_steps": 1024}, {"budget_env_steps": 1_024_000}, "too few"),
    ("train", {"budget_env_steps": 1024}, {"budget_env_steps": 1_024_000}, "too few"),
    ("train", {}, {"env_arguments": '{"max_cycles": 7}'}, '{"N": 3'),
]


@pytest.mark.parametrize(("name", "before", "changes", "said"), CASES)
def test_a_changed_flag_takes_back_what_was_said_of_it(name, before, changes, said):
    experiment = find_experiment(name)
    first = with_overrides(experiment.presets["laptop"], before)
    second = with_overrides(first, changes)
    told = ["\n".join(experiment.deviations(config)) for config in (first, second)]
    if name == "train" and "env_arguments" in changes:
        said = first.env_arguments
    assert said in told[0]
    assert said not in told[1]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*known_experiments()} - UNTRAINED))
def test_no_statement_of_a_difference_names_equal_values(name):
    experiment = find_experiment(name)
    for config in experiment.presets.values():
        found = (_DIFFERENCE.search(said) for said in experiment.deviations(config))
        assert all(match[1] != match[2] for match in found if match)


def test_two_language_models_are_one_question():
    laptop = find_experiment("verco_salad").presets["laptop"]
    for flag in ("model", "team.language.model"):
        assert with_overrides(laptop, {flag: "a/model"}).language_team(None).language.model == "a/model"
    with pytest.raises(UserError, match=r"--model a/model .*--team.language.model another/one"):
        with_overrides(laptop, {"model": "a/model", "team.language.model": "another/one"})
    named = with_overrides(laptop, {"team.language.model": "a/model"})
    assert config_from_json(type(named), config_to_json(named), "here") == named
