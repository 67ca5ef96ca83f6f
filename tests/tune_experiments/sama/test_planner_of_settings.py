"""The planner that settings name: rules, scores of a model, a record of their answers, and a manual of its own."""

import dataclasses
import shutil
from contextlib import closing

import pytest
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from rl_models.errors import InputError
from rl_models.llm.phrase_scorer import PhraseScorer
from rl_models.llm.small_model import train_tokenizer
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.rounds import RoundEnd
from rl_models.text.weights_identity import pretrained_models
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.results.rows import Result
from tune_experiments.sama import planning
from tune_experiments.sama.overcooked import evaluation, trials
from tune_experiments.sama.overcooked.domain import KitchenDomain
from tune_experiments.sama.overcooked.tables import tables, training_results
from tune_experiments.sama.planned_experiment import format_transcript
from tune_experiments.sama.planner_config import ModelSettings, as_loaded
from tune_experiments.sama.planning import RECORD, check_planner, make_planner, make_planning_loop
from tune_experiments.sama.play import TeamWithSeed, planner_seed
from tune_experiments.sama_overcooked import SMOKE

LAYOUT = "cramped_room"
METHOD = f"sama-{LAYOUT}"
STATES = dict(enumerate(KitchenDomain(LAYOUT).diverse_states(40, seed=1)))
NOISY = dataclasses.replace(SMOKE, planner="noisy", noise="weaker")


def plans(config, **changes):
    return [
        plan.commands
        for plan in make_planning_loop(dataclasses.replace(config, **changes), LAYOUT, 0).begin(STATES).values()
    ]


def test_rules_that_err_also_answer_what_their_record_does_not_hold(tmp_path):
    erring, exact = plans(NOISY), plans(SMOKE)
    assert sum(one != other for one, other in zip(erring, exact, strict=True)) > 10
    (tmp_path / RECORD).touch()
    assert plans(NOISY, replay=str(tmp_path)) == erring
    assert plans(SMOKE, replay=str(tmp_path)) == exact


def test_a_record_answers_for_the_rules_that_wrote_it(tmp_path):
    recorded = plans(NOISY, record=str(tmp_path))
    assert plans(NOISY, replay=str(tmp_path)) == recorded


def test_questions_of_retries_are_in_the_transcript_too():
    loop = make_planning_loop(dataclasses.replace(NOISY, after_failure="retry", reflections=2), LAYOUT, 0)
    loop.begin({0: STATES[0]})
    for _ in range(2):
        loop.end_rounds({0: RoundEnd(STATES[0], (False, False))})
    assert format_transcript(loop).count("### Call: ") == loop.question_counts["asked"]


def test_training_data_that_rules_prepared_in_a_models_place_is_told(tmp_path):
    (tmp_path / RECORD).touch()
    config = dataclasses.replace(SMOKE, planner="replay", model=ModelSettings(folder=str(tmp_path)))
    plan = trials.plan(config, METHOD, 0).in_one_process()
    with pytest.warns(UserWarning, match="by rules"), closing(plan.make_algorithm(plan)) as algorithm:
        rows = [{"env_steps": number} | algorithm.train() for number in range(3)]
    (metrics,) = training_results(METHOD, rows).values()
    assert metrics["prepared_by_rule"] == 1.0
    tested = metrics | {"soups": 0.0}
    lines = [Result("E", "T", METHOD, LAYOUT, "train", 0, name, value) for name, value in tested.items()]
    (table,) = tables(lines, "C")
    assert "100.0 %" in table.caption


@pytest.mark.parametrize("goals", ["sama", "deps"])
def test_every_question_shows_the_manual_that_was_written_from_a_paper(goals, tmp_path, monkeypatch):
    paper = tmp_path / "game.tex"
    paper.write_text("Onions are cooked in pots. A ZEBRA stands beside the pot.\n\nDishes hold soups.")
    loop = make_planning_loop(dataclasses.replace(SMOKE, goals=goals, manual=str(paper)), LAYOUT, 0, tmp_path)
    asked, complete = [], OfflineBackend.complete
    monkeypatch.setattr(OfflineBackend, "complete", lambda self, one: asked.append(one) or complete(self, one))
    loop.begin({0: STATES[0]})
    stages = {request.stage for request in asked}
    assert stages == {"decomposition", "allocation"} | ({"goals"} if goals == "deps" else set())
    shown = [loop.planner.manual in " ".join(one.content for one in request.messages) for request in asked]
    assert all(shown) and loop.planner.manual != loop.planner.domain.manual


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Settings of a planner that scores with a model that knows nothing."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer(list(KitchenDomain(LAYOUT).subgoals), 320)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=4096, **sizes)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return dataclasses.replace(SMOKE, planner="scored", model=ModelSettings(name=str(folder)))


@pytest.mark.long
def test_a_record_of_scores_is_replayed_without_the_model(scored, tmp_path, monkeypatch):
    recorded = plans(scored, record=str(tmp_path))
    assert (tmp_path / RECORD).read_text().count('"stage": "subgoal"') == 2 * len(STATES)
    monkeypatch.setattr(PhraseScorer, "__call__", None)
    replayed = make_planning_loop(dataclasses.replace(scored, replay=str(tmp_path)), LAYOUT, 0)
    assert [plan.commands for plan in replayed.begin(STATES).values()] == recorded
    assert not replayed.question_counts["fallback"]


def test_scores_of_other_weights_are_not_taken_from_a_record_and_replayed_with_a_warning(scored, tmp_path):
    shutil.copytree(scored.model.name, tmp_path / "model")
    config = dataclasses.replace(scored, model=ModelSettings(name=str(tmp_path / "model")), record=str(tmp_path))
    make_planning_loop(config, LAYOUT, 0).begin({0: STATES[0]})
    weights = tmp_path / "model/model.safetensors"
    save_file({name: weight + 1 for name, weight in load_file(weights).items()}, weights, {"format": "pt"})
    planning.scorer.cache_clear()
    with pytest.warns(UserWarning, match="not reused"):
        loop = make_planning_loop(config, LAYOUT, 0)
    with pytest.warns(UserWarning, match="other weights"):
        make_planning_loop(dataclasses.replace(config, record="", replay=str(tmp_path)), LAYOUT, 0)
    loop.begin({0: STATES[0]})
    assert not loop.question_counts["recorded"]


def test_a_loaded_team_is_scored_for_as_in_its_run_and_records_nothing(scored, tmp_path):
    loaded = as_loaded(dataclasses.replace(scored, record=str(tmp_path / "record")))
    assert plans(loaded) == plans(scored)
    assert not (tmp_path / "record").exists()


def test_a_run_records_which_model_scores_and_of_an_endpoint_or_a_replay_none(scored):
    assert pretrained_models(scored) == (scored.model.name,)
    for changes in ({"planner": "openai"}, {"replay": "record"}):
        assert pretrained_models(dataclasses.replace(scored, **changes)) == ()


def test_a_model_that_is_not_here_is_refused_before_a_run(scored, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="nobody/has-this"):
        check_planner(dataclasses.replace(scored, model=ModelSettings(name="nobody/has-this")))


ABLATIONS = find_experiment("sama_ablations")


def team(seed):
    made = ABLATIONS.plan(ABLATIONS.presets["smoke"], METHOD, seed)
    return made.stages[-1].plan.build_policy() if hasattr(made, "stages") else made.build_policy()


@pytest.mark.long
def test_each_trial_and_each_retry_has_a_planner_of_its_own(monkeypatch):
    seeds = []
    monkeypatch.setattr(
        planning,
        "make_planner",
        lambda config, task, seed, *others: seeds.append(seed) or make_planner(config, task, seed, *others),
    )
    config = dataclasses.replace(ABLATIONS.presets["smoke"], planner="noisy", after_failure="retry", reflections=3)
    for seed in (0, 1, 2):
        evaluation.planned_episodes(config, METHOD, team(seed), 1)
    assert len(seeds) == len(set(seeds)) == 3 * 4


def test_a_team_that_is_loaded_again_has_the_same_planner():
    first, again = team(3), team(3)
    assert isinstance(first, TeamWithSeed)
    assert planner_seed(first, 400) == planner_seed(again, 400) != planner_seed(team(4), 400)
