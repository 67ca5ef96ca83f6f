"""A relative path in a configuration means the same file wherever a trial runs, and no other word becomes a path."""

import dataclasses

import pytest

from rl_envs.messenger.corpus_file import FOLDER_VARIABLE
from tune_experiments.core.config_path import value_at, with_overrides
from tune_experiments.experiment.finding import find_experiment

PATHS = {
    "furnmove_sync": {"train_rooms": "mine.json", "test_rooms": ("test", "mine.json")},
    "furnlift": {"train_rooms": "mine.json"},
    "messenger_emma": {"texts": "mine", "encoder.name": "mine", "encoder.folder": "mine"},
    "train": {"language.team.language.model": "mine"},
    "sama_overcooked": {"model.name": "mine", "model.folder": "mine", "planner": "scored"},
    "verco_salad": {"model": "mine", "team.adapters": "mine"},
}
NAMES = [
    ("furnmove_sync", "train_rooms", "train_stream"),
    *(("messenger_emma", "encoder.name", name) for name in ("words", "auto", "lab/model")),
    ("messenger_emma", "texts", "published"),
    ("verco_salad", "model", "somebody/model"),
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The current folder, with folders of these names."""
    for name in ("mine", "words", "auto"):
        (tmp_path / name).mkdir()
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("script", PATHS)
def test_a_relative_path_is_the_same_file_from_every_folder(script, tmp_path, monkeypatch):
    config = with_overrides(find_experiment(script).presets["smoke"], PATHS[script])
    monkeypatch.chdir("/")
    again = dataclasses.replace(config)
    whole = {"mine": str(tmp_path / "mine"), "mine.json": str(tmp_path / "mine.json")}
    for path, given in PATHS[script].items():
        wanted = tuple(whole.get(one, one) for one in given) if isinstance(given, tuple) else whole.get(given, given)
        assert value_at(again, path) == wanted


@pytest.mark.parametrize(("script", "path", "name"), NAMES)
def test_a_name_is_no_path_even_if_a_folder_is_called_so(script, path, name):
    assert value_at(with_overrides(find_experiment(script).presets["smoke"], {path: name}), path) == name
