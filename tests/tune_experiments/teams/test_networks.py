"""Networks by name: what each reads of an observation, what it refuses, and that memory, names and texts reach it."""

import dataclasses
import functools
import typing

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_envs.rtfm.world import Rtfm
from rl_models.batch import forward, to_batch
from rl_models.networks.network_config import NetworkName, TextReaderConfig
from rl_models.networks.network_needs import NETWORKS, fitted
from rl_models.networks.parts import Part
from rl_models.text.pretrained import PretrainedError
from rl_models.training.loop import Learner
from tests.rl_models.text.small import save_bert
from tests.rl_models.training.small import ratio_error
from tests.tune_experiments import fragments
from tests.tune_experiments.teams.played import played
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.teams.trials import build_policy, plan, play
from tune_experiments.teams.worlds import make_world
from tune_experiments.train import EXPERIMENT, SMOKE

SIGNPOSTS = "examples.signposts:parallel_env"
MANY_SENTENCES = {SIGNPOSTS: 4}


def config_of(env, name, **changes):
    network = dataclasses.replace(SMOKE.network, name=name)
    return dataclasses.replace(SMOKE, env=env, network=network, max_sentences=MANY_SENTENCES.get(env, 1), **changes)


def trained(config, row, length=5):
    trial, policy, fragment = played(config, row, length)
    told = Learner(policy, trial.objective, trial.optimiser).update([fragment])
    assert np.isfinite(float(told["loss/total"]))
    return trial, policy, fragment


LEARNED = [
    ("rtfm-v0", "emma", "ippo"),
    ("messenger-v0", "matching", "mappo"),
    ("overcooked-v0", "cnn", "sync_2"),
    ("furnmove-v0", "mlp", "qmix"),
    ("rtfm-v0", "lstm", "ippo"),
    ("matrix_game-v0", "lstm", "mappo"),
    ("salad-v0", "mlp", "mappo"),
    (SIGNPOSTS, "words", "tbone"),
]


@pytest.mark.parametrize(("env", "name", "row"), LEARNED)
def test_every_weight_of_a_network_learns(env, name, row):
    """In other environments, and with other methods, test_combinations.py trains them."""
    _, policy, _ = trained(config_of(env, name), row)
    without = [key for key, weights in policy.named_parameters() if weights.requires_grad and weights.grad is None]
    talking = ("network.talk", "network.reply")
    assert [key for key in without if policy.num_agents > 1 or not key.startswith(talking)] == []


REFUSED = {
    ("overcooked-v0", "film2"): "texts",
    ("mpe2.simple_spread_v3", "cnn"): "images",
    ("messenger-v0", "cnn"): "images",
    ("matrix_game-v0", "emma"): "texts",
}


@pytest.mark.parametrize(("env", "name"), REFUSED)
def test_a_network_says_what_it_lacks_before_the_run(env, name):
    with pytest.raises(UserError, match=f"--network {name} in {env}.*needs {REFUSED[env, name]}"):
        EXPERIMENT.check(config_of(env, name, methods=("ippo",)))


def test_a_reader_of_sentences_and_a_network_without_texts_are_refused_what_they_cannot_use():
    text = Part("note", (), vocabulary=9)
    with pytest.raises(ValueError, match="--max-sentences"):
        fitted(config_of(SIGNPOSTS, "emma").network, [text])
    with pytest.raises(ValueError, match="nothing else"):
        fitted(config_of(SIGNPOSTS, "mlp").network, [text, Part("agent", (2,))])
    with pytest.raises(ValueError, match=r"commnet.*--network"):
        plan(config_of("overcooked-v0", "lstm"), "commnet", 0).build_policy()
    encoder = dataclasses.replace(SMOKE.network, text_encoder="some/encoder")
    with pytest.raises(UserError, match=r"--network\.text-encoder.*vocabulary"):
        build_policy(dataclasses.replace(SMOKE, env=f"{__name__}:Wordless", network=encoder), "ippo", 0)
    with pytest.raises(PretrainedError, match="some/encoder"):
        build_policy(dataclasses.replace(SMOKE, env="rtfm-v0", network=encoder), "ippo", 0)


class Wordless(Rtfm):
    """A world that does not say what its words are."""

    def __init__(self, *numbers, **arguments):
        super().__init__(*numbers, **arguments)
        del self.vocabulary


@pytest.mark.parametrize("env", ["rtfm-v0", "messenger-v0"])
@pytest.mark.parametrize("name", ["film2", "emma", "matching"])
def test_a_frozen_encoder_reads_words_and_names_of_worlds_that_number_words(env, name, tmp_path):
    save_bert(tmp_path, positions=64, more_words=make(env).vocabulary[1:60])
    config = config_of(env, name)
    config = dataclasses.replace(config, network=dataclasses.replace(config.network, text_encoder=str(tmp_path)))
    trial, policy, fragment = trained(config, "mappo")
    batch = trial.objective.prepare(to_batch(fragment))
    read = forward(policy, batch).values
    for key in [key for key in batch if key.startswith("texts/")]:
        batch[key] = torch.where(batch[key] > 0, 1, 0)
    if env == "rtfm-v0":  # MESSENGER's sentences are the network's own
        assert not torch.allclose(forward(policy, batch).values, read), "other words give other values"
    assert not [key for key in policy.state_dict() if "embeddings" in key]


def test_every_name_has_a_network_and_its_flag_may_leave_out_the_name_of_the_field():
    assert set(NETWORKS) == set(typing.get_args(NetworkName))
    read = functools.partial(parse, EXPERIMENT.presets, description="")
    for words in (["--network", "emma"], ["--network.name", "emma"], ["--network=emma"]):
        config, _ = read(arguments=[*words, "--network.reader.features", "8"])
        assert (config.network.name, config.network.reader.features) == ("emma", 8)


@pytest.mark.parametrize(
    ("words", "near"),
    [(["--methods", "mappo", "ipo"], "ippo"), (["--network", "ema"], "emma"), (["--network.name=ema"], "emma")],
)
def test_an_unknown_name_is_refused_with_the_nearest_one_and_where_they_are_listed(words, near):
    flag = words[0].partition(".")[0]
    with pytest.raises(UserError, match=f"^{flag}.*{near}"):
        parse(EXPERIMENT.presets, words, "")


@pytest.mark.parametrize("row", ["ippo", "mappo"])
def test_an_lstm_remembers_and_learning_sees_what_acting_drew_with(row):
    config = config_of("overcooked-v0", "lstm", env_arguments='{"max_episode_steps": 4}')
    trial, policy, fragment = played(config, row, 9)
    assert fragment.steps["truncated"].any()
    assert ratio_error(trial.objective, policy, fragment) < 1e-5
    assert set(policy.initial_state(2)) == {"belief", "memory"}


def test_names_in_cells_words_of_a_manual_and_kinds_of_things_reach_the_policy():
    for env, keys in (("rtfm-v0", ("grid", "document", "goal")), ("messenger-v0", ("symbols", "manual"))):
        world = make_world(config_of(env, "matching"), 2)
        policy = build_policy(config_of(env, "matching"), "ippo", 0)
        shown = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
        shown |= {f"texts/{key}": torch.from_numpy(store.table) for key, store in world.texts.items()}
        first = torch.ones(2, 1, dtype=torch.bool)
        before = policy(shown, {}, first).policy.marginals()
        for key in keys:
            other = shown | {key: shown[key].flip(0)}
            assert not torch.equal(policy(other, {}, first).policy.marginals(), before), (env, key)


LAPTOP = EXPERIMENT.presets["laptop"]


def reader_of_signposts(encoder=""):
    reader = TextReaderConfig("emma", word_features=16, features=32)
    network = dataclasses.replace(LAPTOP.network, reader=reader, text_encoder=encoder, hidden_sizes=(32,))
    constants = {"learning_rate": 0.02, "value_coef": 0.25, "num_epochs": 4, "num_minibatches": 1}
    learner = dataclasses.replace(LAPTOP.learner, **constants)
    game = {"env": SIGNPOSTS, "env_arguments": '{"colours": 2}', "max_sentences": 2, "max_words": 16}
    return dataclasses.replace(LAPTOP, **game, network=network, learner=learner, budget_env_steps=12_000)


@pytest.mark.long
def test_a_reader_learns_by_reward_what_only_the_text_tells():
    config = reader_of_signposts()
    policy = fragments.learn(plan(config, "ippo", 0), updates=20, worlds=64, length=4)
    assert play(config, 128, 7, policy)["return"].mean() > 0.8, "1.0 is perfect, and without reading it is 0"


def test_what_a_frozen_encoder_reads_reaches_the_policy(tmp_path):
    save_bert(tmp_path, more_words=("red", "green", "door", "safe", "deadly"))
    policy, fragment = fragments.play(plan(reader_of_signposts(str(tmp_path)), "ippo", 0), worlds=32, length=1)
    batch = to_batch(fragment)
    doors = batch["obs/door"][:, 0].argmax(-1)
    alike = (doors == doors[0]).all(-1)
    assert len(torch.unique(batch["texts/manual"], dim=0)) == 4
    waiting = forward(policy, batch).policy.first_steps(1).log_prob(torch.zeros_like(batch["actions"]))
    assert len(torch.unique(waiting[alike].detach())) > 1, "before equal doors, it depends on the manual"
