"""A language model with an adapter in games of texts of others: what it reads, may choose, and learns."""

import dataclasses

import numpy as np
import pytest

from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers.custom.word_ids import Characters
from rl_models.llm.llm_config import SmallModelSettings
from rl_models.llm.text_game import GameText, TextGame
from tests.rl_models.training.small import ratio_error
from tests.tune_experiments.fragments import unmoved
from tests.tune_experiments.teams.games import Doors
from tests.tune_experiments.teams.played import played
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.teams.language import check_lengths, corpus, text_game
from tune_experiments.teams.worlds import make_world

LAPTOP = find_experiment("train").presets["laptop"]
ERRANDS = dataclasses.replace(LAPTOP, env="examples.errands:parallel_env")
SMALL = SmallModelSettings(layers=2, width=64, feed_forward=128, vocabulary=512, batch_tokens=1024, learning_rate=1e-2)


def config_of(config=ERRANDS, steps=80):
    learner = {"num_epochs": 4, "num_minibatches": 2, "gamma": 0.0, "value_coef": 0.25}
    small = dataclasses.replace(SMALL, steps=steps)
    return with_overrides(
        config, {"language.team.language.small": small, "language.corpus_worlds": 4, "learner": learner}
    )


@pytest.mark.parametrize("method", ["lora", "lora_blind"])
def test_a_prompt_longer_than_the_models_context_is_refused_before_the_run_starts(method):
    config = config_of(steps=1)
    check_lengths(config, method)
    short = with_overrides(config, {"methods": (method,), "language.team.language.small.context": 4})
    with pytest.raises(UserError, match=rf"--methods {method}.*--language\.team\.language\.small\.context"):
        find_experiment("train").check(short)


def test_actions_of_the_same_name_are_refused_for_a_model_that_chooses_by_names(monkeypatch):
    monkeypatch.setattr(Doors, "action_texts", ("open", "open", "wait"))
    config = dataclasses.replace(LAPTOP, env="tests.tune_experiments.teams.games:Doors")
    find_experiment("train").check(dataclasses.replace(config, methods=("ippo",)))
    with pytest.raises(UserError, match="'open'"):
        find_experiment("train").check(dataclasses.replace(config, methods=("lora",)))


@pytest.mark.parametrize("env", ["examples.errands:parallel_env", "tests.tune_experiments.teams.games:Doors"])
def test_learning_sees_the_probabilities_that_acting_drew_with_and_draws_legal_actions_alone(env):
    config = config_of(dataclasses.replace(LAPTOP, env=env), steps=1)
    trial, policy, fragment = played(config, "lora", length=4)
    assert ratio_error(trial.objective, policy, fragment) < 1e-5
    chosen, legal = fragment.steps["actions"][..., None], fragment.obs["legal"][:, :-1]
    assert np.take_along_axis(legal, chosen, -1).all()
    assert not legal.all()
    changed = dict(policy.named_parameters()).keys() - unmoved(trial, policy, fragment)
    assert any("action" in name for name in changed)
    assert not any(".message." in name for name in changed), "nobody writes"


def prompts(method):
    world = make_world(ERRANDS, 8, method=method)
    game, obs = text_game(ERRANDS, world, method == "lora_blind"), world.reset(0)
    look = {key: world.texts[key].look_up(obs[key]).reshape(8, 2, -1) for key in world.texts}
    codes = np.concatenate([obs["agent"], *(look[key] for key in game.situation[1:])], -1)
    return {game.action_prompt(code, ()) for code in codes.reshape(16, -1)}, codes, game


def test_a_prompt_is_the_agents_name_and_its_texts_and_a_blind_one_its_name_alone():
    seen, _, _ = prompts("lora")
    assert "You are first.\nThe cook wants salt.\nAction:" in seen
    assert prompts("lora_blind")[0] == {"You are first.\nAction:", "You are second.\nAction:"}


def test_phrases_are_those_of_the_moment_and_one_that_is_not_there_is_not_legal():
    world = make_world(ERRANDS, 8, method="lora")
    obs = world.reset(0)
    _, codes, game = prompts("lora")
    for code, legal in zip(codes.reshape(16, -1), obs["legal"].reshape(16, -1), strict=True):
        phrases = game.actions(code)
        assert [phrase != "-" for phrase in phrases] == legal.tolist()
        assert all(phrase.startswith("bring the ") for phrase in np.array(phrases)[legal])


def test_fixed_phrases_and_messages_of_a_world_of_ones_own():
    game = TextGame(("a", "b"), [GameText("note", 4)], [["up", "down"], ["left", ""]], Characters().decode)
    code = np.concatenate([[0, 1], Characters().tokens("hi!", 4)])
    assert game.situation == ("agent", "note")
    assert game.action_prompt(code, ["go", ""]) == "You are b.\nhi!\nYou hear: go\nAction:"
    assert game.message_prompt(code) == "You are b.\nhi!\nMessage:"
    assert game.actions(code) == ("left", "-")


def test_the_small_model_reads_texts_of_random_play_and_repeats_their_words():
    pairs = corpus(config_of())
    assert corpus.__wrapped__(config_of()) == pairs, "the same in every process"
    assert all(sorted(said.split()) == sorted(read.replace(".", " ").replace(":", " ").split()) for read, said in pairs)
    assert any(read.startswith("bring the") for read, _ in pairs)


@pytest.mark.parametrize("method", ["ippo", "lora"])
def test_a_game_that_draws_nothing_is_shown_as_the_row_reads_it(method):
    world = find_experiment("train").test_world(ERRANDS, 2, method)
    world.reset(0)
    assert (world.text_spec["note"].vocabulary == Characters.vocabulary) == (method == "lora")
    with pytest.raises(NotImplementedError):
        world.render()


def test_a_text_that_random_play_cannot_read_as_words_is_refused_before_the_run_starts():
    with pytest.raises(CustomEnvError, match="max_words"):
        find_experiment("train").check(dataclasses.replace(ERRANDS, methods=("lora",), max_words=1))
