"""Teams that read or divide compute the same while acting and while learning, and encode each text once a fragment."""

import functools

import numpy as np
import pytest
import torch

from rl_envs.messenger.symbols import AVATARS, SIDE, SYMBOLS
from rl_envs.rock_paper_scissors.world import RockPaperScissors
from rl_envs.rtfm.world import Rtfm
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Fragment, forward, to_batch
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider import ENTITIES, MASK
from rl_models.networks.matching import MatchingConfig
from rl_models.networks.network_config import SilgConfig
from rl_models.runtime.texts import TextCache
from rl_models.teams.endi_team import silg_entities_team
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.training.evaluation import Evaluation
from rl_models.training.loop import Learner
from tests.rl_models.networks import small_emma, small_endi, small_matching
from tests.rl_models.networks.small import NETWORKS, narrow, sizes_of
from tests.rl_models.networks.small_endi import BACKBONES
from tests.rl_models.training.small import begun, ratio_error, second_fragment

LENGTH = 11


def world(num_worlds=6, **arguments):
    return Rtfm(num_worlds, **({"group": True, "dyna": True, "nl": True} | arguments))


def team(place, name="released"):
    return reader_team(ReaderTeamConfig(narrow(NETWORKS[name])), sizes_of(place), place.action_spec)


def reading(name):
    place = world(max_episode_steps=6)
    return place, team(place, name)


def emma(frames=3, arguments=None, **stage):
    place = small_emma.world(max_episode_steps=6, frames=frames, **stage)
    return place, small_emma.team_in(place, frames=frames, **(arguments or {}))


def silg(shares_network):
    place = small_emma.world(stage=3, num_agents=2, max_episode_steps=6)
    config = SilgConfig(hidden_size=3, word_features=4, channels=(4, 3), features=5)
    shown = EmmaSizes(2, len(SYMBOLS), len(AVATARS), SIDE)
    texts = (place.sentences, place.sentences)
    return place, silg_entities_team(config, shown, place.action_spec, texts, shares_network)


def matching(place, shares_network=True):
    config = ReaderTeamConfig(MatchingConfig(), shares_network=shares_network)
    return place, reader_team(config, small_matching.sizes_of(place), place.action_spec)


def divided(backbone, agents, shares_network):
    place = small_endi.world(backbone, agents=agents)
    return place, small_endi.team_for(backbone, place, shares_network)


FULL = {"group": True, "dyna": True, "max_episode_steps": 9}
ROLES = {"stage": 2, "num_agents": 2, "shows_roles": True}
TEAMS = {
    **{f"reading, {name}": functools.partial(reading, name) for name in NETWORKS},
    **{f"emma, stage {stage}": functools.partial(emma, stage=stage) for stage in (1, 2, 3)},
    "emma, two agents": lambda: emma(stage=3, num_agents=2),
    "emma, one frame": lambda: emma(frames=1),
    "emma, private": lambda: emma(arguments={"shares_network": False}, **ROLES),
    "game id": lambda: emma(arguments={"reads": "roles"}, **ROLES),
    "game id, private": lambda: emma(arguments={"reads": "roles", "shares_network": False}, **ROLES),
    "silg over entities": lambda: silg(True),
    "silg over entities, private": lambda: silg(False),
    "matching, letters": lambda: matching(RockPaperScissors(6, setting="ten_letters", max_episode_steps=9)),
    "matching": lambda: matching(Rtfm(6, nl=True, **FULL)),
    "matching, private": lambda: matching(Rtfm(6, num_agents=2, **FULL), shares_network=False),
    "matching, three agents": lambda: matching(
        Rtfm(6, num_agents=3, nl=True, resample_text="step", names_per_cell=2, **FULL)
    ),
    **{
        f"divided {backbone}, {shares}": functools.partial(divided, backbone, agents, shares == "shared")
        for backbone, agents in (("reading", 3), ("matching", 3), ("emma", 2))
        for shares in ("shared", "private")
    },
}


@pytest.mark.long
@pytest.mark.parametrize("name", TEAMS)
def test_rollout_equals_train(name):
    place, policy = TEAMS[name]()
    fragment = second_fragment(begun(place, policy, LENGTH))
    for objective in (Ppo(joint_ratio=False), Ppo(), Impala()):
        assert ratio_error(objective, policy, fragment) < 1e-5


def test_a_document_is_encoded_once_a_fragment_while_acting():
    place, encoded = world(), []
    one = begun(place, team(place), 25)
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


def test_a_sentence_is_read_once_an_episode_while_acting_and_anew_after_an_update():
    place = small_emma.world(stage=3)
    one, read = begun(place, small_emma.team_in(place), 30, needs_values=False), []
    one.policy.network.encoder.register_forward_hook(lambda _, inputs, __: read.extend(inputs[0].tolist()))
    for _ in range(2):
        read.clear()
        fragment = one.collect()
        shown = fragment.obs["manual"][:, :-1]
        assert set(read) == set(np.unique(shown).tolist())
        episodes = fragment.is_first[:, 1:-1].sum() + len(shown)
        assert len(read) <= episodes * shown.shape[-1] < shown.size / 2


def test_new_weights_read_texts_anew():
    """Two fragments with an update between them, whose second begins in the middle of episodes."""
    place = world(dyna=False)
    one = begun(place, team(place), 10, needs_values=False)
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


both = pytest.mark.parametrize("backbone", BACKBONES)
often = pytest.mark.parametrize(
    "backbone", [one if one == "reading" else pytest.param(one, marks=pytest.mark.slow) for one in BACKBONES]
)


def collected(backbone, place=None):
    place = place or small_endi.world(backbone)
    return begun(place, small_endi.team_for(backbone, place), LENGTH)


@both
def test_the_first_update_sees_the_masks_that_acted_to_the_last_entity(backbone):
    one, acted = collected(backbone), []
    hook = one.policy.register_forward_hook(lambda _, __, output: acted.append(output.extras[MASK]))
    fragment = one.collect()
    hook.remove()
    learned = forward(one.policy, to_batch(fragment)).extras
    masks = torch.cat(acted[:LENGTH], 1)
    assert torch.equal(learned[MASK][:, :LENGTH], masks)
    assert 0.2 < masks[learned[ENTITIES][:, :LENGTH]].mean() < 0.8


@both
def test_noise_is_the_worlds_and_each_agents_own(backbone):
    """It is uniform, differs between agents, worlds and steps, and disturbs no action's draw."""
    one = collected(backbone)
    noise = one.collect().obs["noise"]
    assert noise.dtype == np.float32
    assert noise.mean() == pytest.approx(0.5, abs=0.03)
    assert noise.std() == pytest.approx(12**-0.5, abs=0.03)
    assert len(np.unique(noise)) > 0.99 * noise.size
    uniforms = one.world.chance.policy_uniforms(3)
    assert not np.isin(uniforms.astype(np.float32), noise[:, -1]).any()


@pytest.mark.long
@often
def test_how_worlds_are_spread_changes_no_mask_and_no_action(backbone):
    whole = collected(backbone, small_endi.world(backbone, 6))
    halves = [collected(backbone, small_endi.world(backbone, 3, first_world=first)) for first in (0, 3)]
    for _ in range(2):
        parts = [half.collect() for half in halves]
        ours, theirs = whole.collect(), Fragment.join(parts)
        np.testing.assert_array_equal(ours.obs["noise"], theirs.obs["noise"])
        np.testing.assert_array_equal(ours.steps["actions"], theirs.steps["actions"])
        np.testing.assert_array_equal(ours.steps["reward"], theirs.steps["reward"])
        np.testing.assert_allclose(ours.steps["log_prob"], theirs.steps["log_prob"], atol=1e-5)


@both
def test_values_of_stopped_episodes_are_those_of_their_last_observation(backbone):
    """A world that stops where it would end: there noise is that of the next episode's first moment."""
    place, final = small_endi.world(backbone), []
    one, step = collected(backbone, place), place.step

    def stop(actions):
        seen, reward, terminated, truncated, info = step(actions)
        final.append(info)
        return seen, reward, np.zeros_like(terminated), terminated | truncated, info

    place.step = stop
    fragment = one.collect()
    world_row, moment = (axis[0] for axis in fragment.steps["truncated"].nonzero())
    info = final[moment]
    row = int(np.flatnonzero(info["done_worlds"] == world_row)[0])
    obs = {name: torch.from_numpy(value[row : row + 1])[:, None] for name, value in info["final_obs"].items()}
    obs["noise"] = torch.from_numpy(fragment.obs["noise"][world_row : world_row + 1, moment + 1])[:, None]
    obs |= {f"texts/{key}": torch.from_numpy(texts.table) for key, texts in place.texts.items()}
    with torch.no_grad():
        values = one.policy(obs, {}, torch.zeros(1, 1, dtype=torch.bool)).values[0, 0]
    np.testing.assert_allclose(fragment.steps["final_values"][world_row, moment], values, atol=1e-5)
