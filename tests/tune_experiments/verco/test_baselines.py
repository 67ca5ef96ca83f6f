"""What a team is worth that looks answers up, that imitates before PPO, or whose answers stand in a record."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from rl_envs.salad.corpus import Corpus, collect_corpus
from rl_envs.salad.symbols import RECIPES
from rl_envs.salad.text import Narrator
from rl_models.schedule import Progress
from tests.tune_experiments.verco.record_scripted_answers import CONFIG, TRIAL
from tune_experiments.core.config_json import config_to_json
from tune_experiments.experiment.plan import Tested
from tune_experiments.launch.launch import trial_requests
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.remote_sync import open_run
from tune_experiments.run.trial import Trial
from tune_experiments.verco import prompted, supervised_stages
from tune_experiments.verco.config import CorpusSettings, ImitationSettings, make_world
from tune_experiments.verco.evaluation import SILENT, TAUGHT, evaluate, evaluate_lookup
from tune_experiments.verco.lookup import Answers, LookupNetwork, distances_to_corpus, lookup_team
from tune_experiments.verco.supervised_stages import read_corpus
from tune_experiments.verco.trials import plan
from tune_experiments.verco_salad import EXPERIMENT, SMOKE

RECORD = Path(__file__).parents[3] / "docs" / "results" / "verco_api_record"
IMITATING = dataclasses.replace(
    SMOKE,
    task="tomato_b",
    corpus=CorpusSettings(kitchens=6, worlds=2, env_steps=40),
    imitation=ImitationSettings(num_epochs=5),
    budget_env_steps=2_000,
)


def test_the_answer_is_that_of_the_nearest_prompt_and_the_most_frequent_one():
    known = Answers([("a b c d", "x"), ("a b c d", "y"), ("a b c d", "y"), ("e f", "z")])
    assert known.answer("a b c") == "y"
    assert known.answer("e") == "z"


def test_a_prompt_none_of_whose_answers_is_legal_is_passed_over():
    known = Answers([("a b c", "x"), ("a b q", "y"), ("e f g", "z")])
    assert known.choose("a b c", ("z", "y")) == "y"
    assert known.choose("a b c", ("z",)) == "z"
    assert known.choose("a b c", ("wait", "w")) == "wait"


@pytest.mark.long
@pytest.mark.parametrize(("task", "said", "solved"), [("tomato_b", SILENT, 1.0), ("secret_order", TAUGHT, 0.9)])
def test_a_memory_suffices_where_the_corpus_holds_the_kitchen_itself(task, said, solved):
    """With scripted decisions in the tested kitchen, which an honest corpus lacks: the row finds what would leak."""
    config = dataclasses.replace(SMOKE, task=task, max_episode_steps=0, test_episodes=6)
    world = make_world(config, 8)
    told = collect_corpus(world, 300, seed=3, expert_share=1.0, follow_share=1.0)
    leaking, honest = (LookupNetwork(Narrator(world), 2, read) for read in (told, read_corpus(config)))
    leaked, kept = (
        dict(evaluate_lookup(config, network))[Tested(task, said)]["success"] for network in (leaking, honest)
    )
    assert leaked.mean() >= solved > kept.mean()


@pytest.mark.long
def test_the_lookup_row_tells_how_far_tested_prompts_are_from_the_corpus():
    found = evaluate(SMOKE, lookup_team(SMOKE, 0))[Tested(SMOKE.task)]
    assert 0 < found["median_prompt_distance"][0] < 1 and found["prompts_in_corpus"][0] == 0
    assert found["prompts_met"][0] > 30


@pytest.mark.long
def test_the_distance_counts_prompts_that_stand_in_the_corpus(monkeypatch):
    """So the zero above could be something else."""
    from tune_experiments.verco import lookup

    met = sorted(lookup.met_prompts(make_world(SMOKE, 8), 2 * SMOKE.max_episode_steps, 0.0))
    assert met
    monkeypatch.setattr(lookup, "read_corpus", lambda config: Corpus((), tuple((prompt, "wait") for prompt in met)))
    found = distances_to_corpus(SMOKE)
    assert found["prompts_in_corpus"][0] > 0.05 and found["median_prompt_distance"][0] < 0.2


@pytest.mark.long
def test_imitation_learns_the_corpus_decisions_and_its_env_steps_count_in_the_budget():
    curriculum = plan(IMITATING, "symbolic_imitation_ppo", 0)
    first, second = (stage.plan for stage in curriculum.stages)
    assert first.budget_env_steps == IMITATING.corpus_env_steps == 480
    assert first.budget_env_steps + second.budget_env_steps == IMITATING.budget_env_steps
    ends = Progress(env_steps=second.budget_env_steps)
    alone = plan(dataclasses.replace(IMITATING, methods=("symbolic_ppo",)), "symbolic_ppo", 0)
    end = Progress(env_steps=IMITATING.budget_env_steps)
    assert second.optimiser.learning_rate.at(ends) == pytest.approx(alone.optimiser.learning_rate.at(end))
    assert second.objective.entropy_coef.at(ends) == pytest.approx(alone.objective.entropy_coef.at(end))
    algorithm = first.make_algorithm(first)
    vectors, legal, chosen = supervised_stages.decisions_in_kitchen(IMITATING)
    assert legal[torch.arange(len(chosen)), chosen].all()
    before = supervised_stages.cross_entropy(algorithm.policy(), vectors, legal, chosen).item()
    algorithm.train()
    assert algorithm.progress().env_steps == first.budget_env_steps
    after = supervised_stages.cross_entropy(algorithm.policy(), vectors, legal, chosen).item()
    assert after < before - 0.05


@pytest.mark.long
def test_the_vectors_of_the_corpus_never_show_a_salad_of_tomato_alone():
    vectors, _, _ = supervised_stages.decisions_in_kitchen(IMITATING)
    orders = vectors[:, -len(RECIPES) :]
    assert orders.any() and not orders[:, RECIPES.index("tomato")].any()


def test_nobody_is_asked_for_a_plan_that_is_only_timed(monkeypatch):
    monkeypatch.setattr(prompted, "client", lambda *_: pytest.fail("a chat model was asked"))
    policy, world = plan(SMOKE, "api", 0).build_policy(), make_world(SMOKE, 2)
    seen = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
    policy(seen, {}, torch.ones(2, 1, dtype=torch.bool))


def test_the_record_in_the_documents_answers_every_question_of_its_table(tmp_path, monkeypatch):
    """Scripted cooks made it (`record_scripted_answers`); no model ever answered there."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prompted.client.cache_clear()
    folder = tmp_path / TRIAL
    Trial(EXPERIMENT, dataclasses.replace(CONFIG, replay=str(RECORD)), "api", 0, folder).run(lambda row: None)
    prompted.client.cache_clear()
    found = {(line.world, line.metric): line.value for line in read_test_results(folder)}
    assert found["tomato_a", "success"] == 1 and found["tomato_a", "chat_fallback"] == 0
    assert np.isclose(found["tomato_a", "return"], 1.18)


def test_a_row_that_learns_nothing_is_played_with_the_first_seed_alone(tmp_path):
    config = dataclasses.replace(SMOKE, methods=("symbolic_ppo", "lookup"))
    with open_run(tmp_path / "run", config_to_json(config), EXPERIMENT.entry_point, (3, 1)) as (folder, _):
        requests = trial_requests(EXPERIMENT, config, (3, 1), folder)
        assert names_of(requests) == ["symbolic_ppo-seed3", "lookup-seed3", "symbolic_ppo-seed1"]
        later = trial_requests(EXPERIMENT, config, (2, 1), folder)
    assert names_of(later) == ["symbolic_ppo-seed2", "lookup-seed3", "symbolic_ppo-seed1"], "a later session, too"


def names_of(requests):
    return [request["name"] for request in requests]
