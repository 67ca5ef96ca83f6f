"""Teams that the package brings: each plays exactly as its card says, and together they are small."""

import json
import re
import shutil

import numpy as np
import pytest
import yaml

from rl_models.hub.catalog import CATALOG
from rl_models.training.checkpoint import load_state
from tune_experiments import load_policy
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_json
from tune_experiments.experiment.plan import Tested
from tune_experiments.play.loading import find_checkpoint
from tune_experiments.play.pretrained import (
    MAX_BYTES,
    MODEL_CARD,
    first_actions,
    folder_bytes,
    model_card,
    pack,
    read_card,
)
from tune_experiments.play.team_paths import PRETRAINED, pretrained_names, stored_path
from tune_experiments.results.rows import Result, replace_rows
from tune_experiments.run.run_folder import LANGUAGE_MODEL

NAMES = pretrained_names()
MAIN_METRICS = {"win_rate", "reward", "success", "sampled_soups"}


def load(name):
    """A team of the package; skips the test where its pretrained model was not fetched."""
    for model in load_state(find_checkpoint(PRETRAINED / name)).get("models", ()):
        if not CATALOG[model["name"]].is_present:
            pytest.skip(f"{model['name']} is not on this machine: run `concord models fetch {model['name']}`")
    return load_policy(f"pretrained/{name}")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_it_acts_exactly_as_its_card_says(name):
    card = read_card(name)
    assert first_actions(load(name), card["actions"]["seed"]) == card["actions"]["joint"]


@pytest.mark.parametrize("name", NAMES)
def test_its_card_is_whole_and_names_no_folder_of_a_machine(name):
    card = read_card(name)
    assert (PRETRAINED / name / MODEL_CARD).read_text() == model_card(card)
    assert card["given"].endswith(".") and re.fullmatch("[0-9a-f]{40}", card["commit"])
    assert card["seed_choice"].endswith(".")
    assert MAIN_METRICS & {row["metric"] for row in card["numbers"]}
    for path in (PRETRAINED / name).rglob("*"):
        if path.suffix in (".json", ".md"):
            assert not re.search(r"(?<![\w.])/(work|home|root|tmp|mnt|Users)\b|--out", path.read_text()), path


def test_all_of_them_together_are_small_and_hold_weights_alone():
    assert len(NAMES) >= 4
    assert folder_bytes(PRETRAINED) <= MAX_BYTES
    suffixes = {path.suffix for path in PRETRAINED.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".md", ".safetensors"}
    weights = {path.name for path in PRETRAINED.rglob("*.safetensors")}
    assert weights <= {"weights.safetensors", "model.safetensors"}


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(UserError, match=r"nobody.*overcooked_selfplay"):
        load_policy("pretrained/nobody")


def test_a_folder_of_ones_own_of_that_name_comes_first(tmp_path, monkeypatch):
    (tmp_path / "pretrained" / NAMES[0]).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="checkpoint"):
        load_policy(f"pretrained/{NAMES[0]}")


TEAM = PRETRAINED / "overcooked_selfplay"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": TEAM.name, "folder": PRETRAINED}, TEAM.name),
        ({"name": "a-b"}, "NAME .*'a-b'"),
        ({"folder": TEAM / MODEL_CARD}, "--out"),
        ({}, "results of selfplay with seed 0"),
        ({"given": " "}, "--given"),
        ({"seed_choice": " "}, "--seed-choice"),
    ],
)
def test_what_cannot_be_packed_is_refused_and_leaves_nothing(change, named, tmp_path):
    arguments = {"name": "another", "given": "Nothing.", "seed_choice": "The only one.", "folder": tmp_path} | change
    with pytest.raises(UserError, match=named):
        pack(TEAM, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_packed_team_names_all_sessions_of_its_seed_and_brings_no_logs(tmp_path):
    trial = tmp_path / "run/trials/selfplay-seed0"
    shutil.copytree(TEAM, trial)
    for name in (LANGUAGE_MODEL, "wandb", "adapters"):
        (trial / name).mkdir()
    results = [Result("overcooked_selfplay", "soups", "selfplay", "cramped_room", "test", 0, "soups", 9.5)]
    replace_rows(tmp_path / "run/results.jsonl", results)
    kept = {"python": "3.11", "torch": "2", "numpy": "2"}
    sessions = [
        {"command": f"python x.py --out run --seeds {n}", "seeds": [n], "versions": kept if git else {}, "git": git}
        for n, git in ((0, {"commit": "a", "dirty": True}), (1, {"commit": "b", "dirty": False}), (0, None))
    ]
    write_json(tmp_path / "run/manifest.json", {"sessions": sessions})
    packed = pack(trial, "mine", "Nothing.", "The only one.", folder=tmp_path)
    card = json.loads((packed / "card.json").read_text())
    assert {path.name for path in packed.iterdir() if path.is_dir()} == {"checkpoints", LANGUAGE_MODEL}
    assert (card["command"], card["commit"]) == ("python x.py --seeds 0", "a+, unknown")
    assert card["versions"] == {name: f"{version}, unknown" for name, version in kept.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_hundred_episodes_agree_with_the_interval_of_its_card(name):
    card, loaded = read_card(name), load(name)
    changes = {"test_starts_per_room": 40} if hasattr(loaded.config, "test_starts_per_room") else {"test_episodes": 200}
    config = with_overrides(loaded.config, changes)
    found = loaded.experiment.evaluate(config, loaded.method, loaded.policy)
    checked = 0
    for row in card["numbers"]:
        test = Tested(row["world"], row.get("condition", ""), row.get("method", ""))
        values = found.get(test, found.get(row["world"] if test == Tested(row["world"]) else "", {})).get(row["metric"])
        if row["metric"] in MAIN_METRICS and row["ci_low"] is not None and values is not None and len(values) == 200:
            margin = 1.96 * float(np.std(values)) / np.sqrt(200)
            assert row["ci_low"] - margin <= np.mean(values) <= row["ci_high"] + margin, row["world"]
            checked += 1
    assert checked


def test_a_run_stores_a_team_of_the_package_by_name_and_any_other_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert stored_path(f"pretrained/{NAMES[0]}") == f"pretrained/{NAMES[0]}"
    assert stored_path("runs/one") == str(tmp_path / "runs/one")
    assert stored_path("") == ""
    (tmp_path / "pretrained" / "mine").mkdir(parents=True)
    assert stored_path("pretrained/mine") == str(tmp_path / "pretrained/mine")


def test_the_metadata_of_a_card_keeps_each_condition_apart():
    card = read_card("verco_secret_order")
    (results,) = yaml.safe_load(model_card(card).split("---")[1])["model-index"]
    found = {one["dataset"]["name"]: [each["value"] for each in one["metrics"]] for one in results["results"]}
    rows = [row for row in card["numbers"] if row["metric"] == "success" and "method" not in row]
    assert found == {f"{row['world']} {row.get('condition', '')}".strip(): [row["value"]] for row in rows}
