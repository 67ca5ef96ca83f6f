"""Reading teams compute the same while acting and while learning, and encode each text once while they act."""

import numpy as np
import pytest
import torch

from rl_envs.rtfm.world import Rtfm
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.runtime.texts import TextCache
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.training.evaluation import Evaluation
from rl_models.training.loop import Learner
from tests.rl_models.networks.small import NETWORKS, narrow, sizes_of
from tests.rl_models.training.small import begun, ratio_error, second_fragment

FULL = {"group": True, "dyna": True, "nl": True}


def world(num_worlds=6, first_world=0, **arguments):
    return Rtfm(num_worlds, first_world, **(FULL | arguments))


def team(place, name="released", **arguments):
    return reader_team(ReaderTeamConfig(narrow(NETWORKS[name]), **arguments), sizes_of(place), place.action_spec)


def collector(place, policy=None, length=10, **arguments):
    return begun(place, policy or team(place), length, **arguments)


@pytest.mark.long
@pytest.mark.parametrize(("name", "objective"), [*((name, Ppo()) for name in sorted(NETWORKS)), ("released", Impala())])
def test_rollout_equals_train(name, objective):
    place = world(max_episode_steps=6)
    one = collector(place, team(place, name))
    assert ratio_error(objective, one.policy, second_fragment(one)) < 1e-5


def test_a_document_is_encoded_once_a_fragment_while_acting():
    one, encoded = collector(world(), length=25), []
    encode = one.policy.network.encode_text

    def watched(key, tokens):
        encoded.extend((key, *row) for row in tokens.tolist())
        return encode(key, tokens)

    one.policy.network.encode_text = watched
    for _ in range(2):
        encoded.clear()
        fragment = one.collect()
        documents = [text for text in encoded if text[0] == "document"]
        assert len(documents) == len(set(documents)) == len(np.unique(fragment.obs["document"]))
        assert len(documents) > 6  # more than fit at once: old ones made room


def test_new_weights_read_texts_anew():
    """Two fragments with an update between them, whose second begins in the middle of episodes."""
    place = world(dyna=False)
    one = collector(place, needs_values=False)
    learner = Learner(one.policy, Impala(), OptimiserSettings())
    learner.update([one.collect()])
    fragment = one.collect()
    assert not fragment.is_first[:, 0].all()
    assert ratio_error(Impala(), one.policy, fragment) < 1e-5


def test_an_evaluation_drops_texts_that_nothing_shows_and_plays_the_same_games(monkeypatch):
    policy = team(world())
    whole = Evaluation(world(), policy).run(3, episodes_per_world=4)
    monkeypatch.setattr("rl_models.training.evaluation.TEXTS_KEPT_FOR", 2)
    evaluation = Evaluation(world(), policy)
    dropped = evaluation.run(3, episodes_per_world=4)
    for name, values in whole.items():
        np.testing.assert_allclose(values, dropped[name], atol=1e-6)
    assert len(evaluation.world.texts["document"]) <= 3 * evaluation.world.num_worlds


# ------------------------------------------------------------------------------------------- cache


def cache(slots):
    """A cache of texts whose encoding is their row number, and the rows that it encoded."""
    asked = []

    def encode(rows):
        asked.extend(rows.tolist())
        return {"twice": torch.from_numpy(np.stack([rows, rows], -1))}

    return TextCache(encode, slots), asked


def test_a_cache_finds_every_row_and_encodes_each_once_while_it_is_shown():
    kept, asked = cache(slots=4)
    generator = np.random.default_rng(0)
    shown = np.array([[0], [1], [2], [3]])
    for step in range(50):
        shown[generator.integers(4)] = step + 4  # one text goes, a new one comes
        slots, encoded = kept.look_up(shown)
        np.testing.assert_array_equal(encoded["twice"][slots], np.repeat(shown[..., None], 2, -1))
        assert encoded["twice"].shape == (4, 2)
    assert len(asked) == len(set(asked))
