"""SAMA's manual from a paper: written once a trial, read by prompts and policies, and by whoever loads the team."""

import dataclasses

import pytest

from rl_models.chat.exchange import ChatReply
from rl_models.planners.offline import OfflineBackend
from tests.tune_experiments.sama.kitchens import PAPER
from tune_experiments.core.errors import UserError
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.trials import plan, prepare_training_data, with_training_data
from tune_experiments.sama.planner_config import ModelSettings
from tune_experiments.sama.planning import MANUAL_FILE, RECORD, make_planner
from tune_experiments.sama_overcooked import SMOKE

LAYOUT = "cramped_room"
WEATHER = "It will rain in the morning, and the afternoon is going to be sunny and warm."


@pytest.fixture
def trial(tmp_path):
    """A trial's settings, `trial(text, **changes)`; its folder is `tmp_path / "trial"`."""

    def settings(text=PAPER, **changes):
        (tmp_path / "paper.tex").write_text(text)
        (tmp_path / "trial").mkdir(exist_ok=True)
        return dataclasses.replace(SMOKE, manual=str(tmp_path / "paper.tex"), **changes)

    return settings


def counted(monkeypatch):
    """Stages of all questions that rules answer from now on."""
    stages, complete = [], OfflineBackend.complete
    monkeypatch.setattr(
        OfflineBackend, "complete", lambda self, one: (stages.append(one.stage), complete(self, one))[1]
    )
    return stages


def test_the_rules_are_the_papers_and_the_map_is_the_kitchens(trial, tmp_path, monkeypatch):
    stages = counted(monkeypatch)
    planner = make_planner(trial(), LAYOUT, 0, tmp_path / "trial")
    assert {"relevance", "facts", "summary", "objects"} == set(stages)
    written = (tmp_path / "trial" / MANUAL_FILE).read_text().strip()
    assert "three onions into the pot" in written
    assert "Deep networks" not in written
    assert planner.manual == f"{written}\n{get_domain(LAYOUT).map}"


def test_it_is_written_once_and_then_read(trial, tmp_path, monkeypatch):
    make_planner(trial(), LAYOUT, 0, tmp_path / "trial")
    (tmp_path / "trial" / MANUAL_FILE).write_text("A chef puts an onion into a pot.\n")
    (tmp_path / "paper.tex").unlink()
    stages = counted(monkeypatch)
    config = dataclasses.replace(SMOKE, manual=str(tmp_path / "paper.tex"))
    assert make_planner(config, LAYOUT, 1, tmp_path / "trial").manual.startswith("A chef puts an onion")
    assert stages == ["objects"]


def test_rules_in_a_models_place_write_it_again_until_there_are_weights_that_depend_on_it(trial, tmp_path):
    (tmp_path / RECORD).touch()
    config = trial(planner="replay", model=ModelSettings(folder=str(tmp_path)))
    folder = tmp_path / "trial"
    for name, is_kept in (("before", False), ("checkpoints", True)):
        (folder / name).mkdir()
        make_planner(config, LAYOUT, 0, folder)
        (folder / MANUAL_FILE).write_text("An earlier manual.\n")
        assert make_planner(config, LAYOUT, 0, folder).manual.startswith("An earlier manual.") == is_kept


def test_policies_read_it_with_and_without_the_trials_folder(trial, tmp_path):
    config, folder = trial(), tmp_path / "trial"
    manual = make_planner(config, LAYOUT, 0, folder).manual
    method = f"sama-{LAYOUT}"
    shapes = {name: value.shape for name, value in plan(config, method, 0, folder).build_policy().state_dict().items()}
    own = {name: value.shape for name, value in plan(SMOKE, method, 0).build_policy().state_dict().items()}
    assert shapes != own  # other sentences have other words
    elsewhere = with_training_data(plan(config, method, 0, folder), manual, (), ())
    (folder / MANUAL_FILE).unlink()
    assert {name: value.shape for name, value in elsewhere.build_policy().state_dict().items()} == shapes
    with pytest.raises(UserError, match="checkpoints"):
        plan(config, method, 0, folder).build_policy()
    plan(config, f"mappo-{LAYOUT}", 0, folder).build_policy()  # has no planner, and the kitchen's own manual


def test_a_paper_about_something_else_ends_the_trial_with_a_sentence(trial, tmp_path):
    with pytest.raises(UserError, match=r"paper\.tex"):
        make_planner(trial(WEATHER), LAYOUT, 0, tmp_path / "trial")


def test_states_are_put_into_sentences_with_the_games_code_at_hand(monkeypatch):
    stages = counted(monkeypatch)
    planner = make_planner(dataclasses.replace(SMOKE, translates_states=True), LAYOUT, 0)
    planner.plan(get_domain(LAYOUT).diverse_states(1, 0))
    assert "translation" in stages
    assert ".py: " in planner.caller.transcript.text


@pytest.mark.processes
def test_rewards_are_written_for_what_is_planned_and_for_what_says_the_same_once(monkeypatch):
    def rewards():
        return prepare_training_data(make_planner(SMOKE, LAYOUT, 0), LAYOUT, 6, "code", 0)

    data = rewards()
    planned = {text for _, commands in data.pairs for text in commands}
    assert {one.subgoal for one in data.rewards if one.code} == planned
    assert 1 < len(planned) == len(data.rewards)

    complete = OfflineBackend.complete

    def all_the_same(self, one):
        if one.stage != "groups":
            return complete(self, one)
        return ChatReply(f'{{"groups": [{list(range(1, len(planned) + 1))}]}}')

    monkeypatch.setattr(OfflineBackend, "complete", all_the_same)
    merged = rewards().rewards
    assert sum(bool(one.code) for one in merged) == 1
    assert {one.subgoal for one in merged} == planned
