"""Messages of a language team: who hears whom, and what the learner reads."""

import copy
import functools

import numpy as np
import pytest
import torch

from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import forward, select_worlds, to_batch
from rl_models.llm.messages import PADDING
from rl_models.llm.narration import PHRASES, PROMPT, Narration, TokenTable, situations
from rl_models.llm.network import ACTION_SCORES
from rl_models.policy import all_deciding
from rl_models.runtime.added_observations import MESSAGES, narrated
from rl_models.runtime.texts import MissingTextsError
from rl_models.schedule import Schedule
from rl_models.training.loop import Learner
from tests.rl_models.llm.small import BY_AGENT, HintNarrator, Hints, collector, narrated_again, stir, stirred
from tests.rl_models.training.small import begun, ratio_error


@pytest.mark.long
def test_the_learner_reads_the_messages_that_were_heard():
    """Whatever its own message adapter would say by then."""
    one = stirred()
    fragment = one.collect()
    stir(one.policy.network.language.message.values(), 2.0, seed=4)
    assert ratio_error(BY_AGENT, one.policy, fragment) < 1e-5
    batch = to_batch(fragment)
    others = narrated_again(one.policy, batch, **{MESSAGES: torch.full_like(batch[f"obs/{MESSAGES}"], PADDING)})
    before, after = (forward(one.policy, each).extras[ACTION_SCORES] for each in (batch, others))
    assert float((before - after).detach().abs().max()) > 1e-3


@pytest.mark.long
def test_drawn_messages_follow_the_worlds_chance_and_greedy_ones_do_not():
    drawn, greedy = (stirred(form).collect().obs[MESSAGES] for form in ("drawn_messages", "word"))
    assert len(np.unique(drawn.reshape(-1, 8), axis=0)) > len(np.unique(greedy.reshape(-1, 8), axis=0))
    np.testing.assert_array_equal(stirred("drawn_messages").collect().obs[MESSAGES], drawn)


def test_who_plays_without_a_collector_draws_the_same_messages():
    one = stirred("drawn_messages")
    obs = {key: torch.from_numpy(value)[:, None] for key, value in one.world.observe().items()}
    drawn, greedy = (narrated(one.policy.network, obs, chance)[MESSAGES] for chance in (one.world.chance, None))
    assert (drawn != greedy).any()
    np.testing.assert_array_equal(drawn[:, 0], one.collect().obs[MESSAGES][:, 0])


def test_a_learner_asks_for_no_words():
    """It reads the token ids that travel with the fragment, each text once."""
    one = stirred(num_worlds=12)
    fragment = one.collect()
    for table in fragment.texts.values():
        assert len(np.unique(table, axis=0)) == len(table)
    assert len(fragment.texts[PROMPT]) < fragment.obs[PROMPT].size
    learner = copy.copy(one.policy.network)
    learner.narrator = None
    one.policy.network = learner
    assert ratio_error(BY_AGENT, one.policy, fragment) < 1e-5


def test_each_agent_hears_the_others_in_order_and_never_itself():
    one = stirred("three_agents")
    network, heard = one.policy.network, []

    class Listening(HintNarrator):
        def action_prompt(self, code, heard_now):
            heard.append((int(code[0]), tuple(heard_now)))
            return super().action_prompt(code, heard_now)

    network.narrator = Listening()
    obs = {key: torch.from_numpy(value)[:1, None] for key, value in one.world.observe().items()}
    obs[MESSAGES] = torch.from_numpy(network.writer.from_texts(["take zero", "take one", "take two"]))[None, None]
    obs["decides"][:] = True
    one.policy(narrated(network, obs), {}, torch.zeros(1, 1, dtype=torch.bool))
    assert sorted(heard) == [
        (0, ("take one", "take two")),
        (1, ("take two", "take zero")),
        (2, ("take zero", "take one")),
    ]


@pytest.mark.parametrize("form", ["sum", "drawn_messages", "three_agents"])
def test_messages_that_nobody_reads_are_not_written_and_nothing_learns_from_them(form):
    """A team that writes every message plays and learns the same."""

    class WritesAll(Narration):
        def narrate(self, obs, uniforms=None):
            return super().narrate(all_deciding(obs), uniforms)

    written, weights, fragments = [], [], []
    for speech in (Narration, WritesAll):
        one = stirred(form, length=5)
        network = one.policy.network
        parts = (network.narrator, network.writer, network.language.tokens, network.settings)
        network.speech = functools.partial(speech, *parts)
        one.reset(3)
        fragments.append([one.collect() for _ in range(2)])
        written.append(sum((fragment.obs[MESSAGES][..., 0] != PADDING).sum() for fragment in fragments[-1]))
        objective = Ppo(joint_ratio=False, value_loss_at="decisions", num_epochs=2, num_minibatches=2)
        Learner(one.policy, objective, OptimiserSettings(learning_rate=Schedule.constant(1e-2))).update(fragments[-1])
        weights.append(one.policy.state_dict())
    assert written[0] < written[1]
    for fewer, all_written in zip(*fragments, strict=True):
        np.testing.assert_array_equal(fewer.steps["actions"], all_written.steps["actions"])
        np.testing.assert_array_equal(fewer.steps["reward"], all_written.steps["reward"])
    torch.testing.assert_close(*weights)


def test_shuffled_messages_are_those_of_another_world():
    policy = stirred().policy
    policy.network.writer.write = lambda prompts: [prompt[8:12] for prompt in prompts]  # repeats what it sees
    own = collector(3, policy=policy).collect().obs[MESSAGES][:, 0]
    policy.network.settings = stirred("shuffled").policy.network.settings
    shuffled = collector(3, policy=policy).collect().obs[MESSAGES][:, 0]
    np.testing.assert_array_equal(shuffled, np.roll(own, 1, axis=0))
    assert (own != shuffled).any()


def test_shuffled_messages_at_a_final_observation_are_those_of_another_world():
    """Also where one world alone is stopped: here world b after 3 + b ticks."""

    class StoppedInTurns(Hints):
        def _advance(self, actions, recorded):
            reward, over, _ = super()._advance(actions, recorded)
            return reward, over, self.state["episode_length"] + 1 >= 3 + np.arange(self.num_worlds)

    policy = stirred("shuffled").policy
    network, asked = policy.network, []
    policy.register_forward_pre_hook(lambda module, inputs: asked.append(inputs[0]))
    network.writer.write = lambda prompts: [prompt[8:12] for prompt in prompts]  # repeats what it sees
    one = begun(StoppedInTurns(3), policy, 5)
    fragment = one.collect()

    network.settings = stirred().policy.network.settings

    def written(obs):
        unheard = {key: torch.from_numpy(seen)[:, None] for key, seen in obs.items() if key != MESSAGES}
        return narrated(network, unheard)[MESSAGES][:, 0].numpy()

    assert fragment.steps["truncated"].sum(0).tolist() == [0, 0, 1, 1, 1]
    values_of = asked[5]  # after the actions of five steps, the values of all final observations in one batch
    for world in range(3):
        final = {key: seen[world : world + 1, 0].numpy() for key, seen in values_of.items()}
        beside = written({key: seen[:, 3 + world] for key, seen in fragment.obs.items()})
        np.testing.assert_array_equal(final[MESSAGES][0], beside[world - 1])
        assert (final[MESSAGES] != written(final)).any()


def test_shuffled_messages_are_empty_where_there_is_no_other_world():
    assert (stirred("shuffled", num_worlds=1).collect().obs[MESSAGES] == PADDING).all()


def test_messages_of_the_world_are_heard_instead_of_own_ones():
    one = stirred()
    taught = one.policy.network.writer.from_texts(["take the blue ball"])[0]

    class Teacher(Hints):
        def _observe(self, rows):
            seen = super()._observe(rows)
            return seen | {MESSAGES: np.broadcast_to(taught, (*seen["decides"].shape, 8)).copy()}

    other = collector(policy=one.policy)
    other.world = Teacher(3)
    other.world.observation_spec[MESSAGES] = None
    other.reset(0)
    assert (other.collect().obs[MESSAGES] == taught).all()


def test_without_messages_in_the_observation_the_team_speaks_for_itself():
    """Decoding is greedy to the same end, as in a loaded policy's `act`."""
    one = stirred()
    fragment = one.collect()
    batch = select_worlds(to_batch(fragment), slice(0, 2))
    added = {f"obs/{key}" for key in (MESSAGES, PROMPT, PHRASES)}
    bare = {key: value for key, value in batch.items() if key not in added and not key.startswith("texts/")}
    with pytest.raises(MissingTextsError, match="'prompt'"):
        forward(one.policy, bare)
    with torch.no_grad():
        torch.testing.assert_close(
            forward(one.policy, narrated_again(one.policy, bare)).extras[ACTION_SCORES],
            forward(one.policy, batch).extras[ACTION_SCORES],
        )


def test_codes_of_several_keys_are_joined_and_told_once_each():
    sentences = torch.tensor([[[[1, 300], [2, 300]]], [[[1, 300], [1, 300]]]])  # [2, 1, 2, 2]
    phrases = torch.tensor([[[[7], [7]]], [[[7], [8]]]])
    codes, rows = situations({"sentences": sentences, "phrases": phrases}, ("sentences", "phrases"))
    np.testing.assert_array_equal(codes, [[1, 300, 7], [1, 300, 8], [2, 300, 7]])
    np.testing.assert_array_equal(rows, [[[0, 2]], [[0, 1]]])


def test_rows_of_a_table_mean_what_the_table_says():
    obs = {"situation": torch.tensor([[[2, 0]], [[2, 2]]]), "texts/situation": torch.tensor([[5, 6], [0, 0], [3, 4]])}
    codes, rows = situations(obs, ("situation",))
    np.testing.assert_array_equal(codes, [[3, 4], [5, 6]])
    np.testing.assert_array_equal(rows, [[[0, 1]], [[0, 0]]])
    with pytest.raises(MissingTextsError, match="row numbers"):
        situations({"situation": obs["situation"]}, ("situation",))


def test_a_table_holds_each_text_once_however_long_it_is():
    table = TokenTable()
    np.testing.assert_array_equal(table.add([(5, 6), (7,), (5, 6)]), [0, 1, 0])
    np.testing.assert_array_equal(table.table, [[5, 6], [7, -1]])
    np.testing.assert_array_equal(table.add([(7,), (1, 2, 3)]), [1, 2])
    np.testing.assert_array_equal(table.table, [[5, 6, -1], [7, -1, -1], [1, 2, 3]])


def test_texts_that_nothing_shows_are_dropped_and_the_others_found_again():
    table, again = TokenTable(), TokenTable()
    rows = table.add([(9,), (5, 6), (1, 2, 3), (7,)])[[3, 1, 3]].reshape(3, 1)
    kept = table.keep(rows)
    np.testing.assert_array_equal(table.table[kept[:, 0]], [[7, -1], [5, 6], [7, -1]])
    assert len(table.table) == 2
    # Numbers hang on the texts alone, so whoever continues elsewhere comes to the same ones.
    np.testing.assert_array_equal(again.keep(again.add([(7,), (5, 6), (7,)]))[:, None], kept)
