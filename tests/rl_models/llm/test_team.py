"""A team of language-model policies: acting and learning read the same prompts, and only what should learn does."""

import copy

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import decision_mask, forward, select_worlds, to_batch, valued_mask
from rl_models.fragment import Fragment
from rl_models.llm.llm_config import MessageSettings
from rl_models.llm.messages import PADDING, message_of
from rl_models.llm.narration import PHRASES, PROMPT
from rl_models.llm.network import ACTION_SCORES
from rl_models.networks.speech import MESSAGES, narrated
from rl_models.networks.texts import MissingTextsError
from rl_models.schedule import Progress, Schedule
from rl_models.training.collector import Collector
from rl_models.training.loop import Learner
from tests.rl_models.llm.small import THINGS, HintNarrator, Hints, collector, stir, team
from tests.rl_models.networks.weight_changes import CHANGES

BY_AGENT = Ppo(is_joint=False)
DRAWN = MessageSettings(max_tokens=8, sampled=True)
FORMS = {
    "sum": {},
    "token": {"normalisation": "token"},
    "word": {"normalisation": "word"},
    "frozen_critic": {"critic_base": "frozen"},
    "drawn_messages": {"messages": DRAWN},
    "silence": {"messages": MessageSettings(heard="silence")},
    "shuffled": {"messages": MessageSettings(max_tokens=8, heard="shuffled")},
    "rows_of_a_table": {"by_row": True},
    "three_agents": {"num_agents": 3},
}
ROUNDING = ("log_prob", "agent_log_prob", "values", "final_values", "last_values")


def stirred(form="sum", **changed):
    """A collector whose adapters differ from the base and from each other."""
    one = collector(**(FORMS[form] | changed))
    language = one.policy.network.language
    stir(language.action.values())
    stir(language.message.values(), 0.03)  # little, so that what is said still depends on what is seen
    one.reset(3)
    return one


def narrated_again(policy, batch, **changed):
    """A batch whose agents are told what they see once more, some of it changed."""
    obs = {key.removeprefix("obs/"): value for key, value in batch.items() if key.startswith("obs/")}
    found = narrated(policy.network, obs | changed)
    return batch | {key if key.startswith("texts/") else f"obs/{key}": value for key, value in found.items()}


def texts_of(fragment, key):
    """Token ids at every place, without what is behind their ends."""
    return [row[row != PADDING] for row in fragment.texts[key][fragment.obs[key].ravel()]]


def error_at_first_update(objective, policy, fragment):
    """Largest |ratio - 1| before any step was taken."""
    batch = objective.prepare(to_batch(fragment))
    _, statistics = objective.loss(forward(policy, batch), batch, Progress())
    return float(statistics["policy/ratio_error"])


@pytest.mark.parametrize("form", FORMS)
def test_rollout_equals_train(form):
    """With messages that are not the same twice, macro actions, and episodes that end inside the fragment."""
    one = stirred(form)
    one.collect()
    fragment = one.collect()
    assert 0.3 < fragment.obs["decides"].mean() < 0.95
    assert fragment.is_first[:, 1:-1].any(1).all()
    for objective in (BY_AGENT, Impala(is_joint=False)):
        assert error_at_first_update(objective, one.policy, fragment) < 1e-5
    stir(one.policy.network.language.action.values(), seed=7)
    assert error_at_first_update(BY_AGENT, one.policy, fragment) > 1e-2


def test_recorded_values_are_those_that_training_computes():
    """Of deciding agents at every step; after the last one and at time limits of everybody."""
    one = stirred(length=6)
    one.collect()
    fragment = one.collect()
    batch = to_batch(fragment)
    values = forward(one.policy, batch).values.detach()
    acting = decision_mask(batch)
    torch.testing.assert_close(
        torch.from_numpy(fragment.steps["values"])[acting], values[:, :-1][acting], atol=1e-5, rtol=0
    )
    torch.testing.assert_close(torch.from_numpy(fragment.ends["last_values"]), values[:, -1], atol=1e-5, rtol=0)
    assert (fragment.ends["last_values"] != 0).all()
    stopped = fragment.steps["truncated"]
    assert stopped.any()
    assert (fragment.steps["final_values"][stopped] != 0).all()
    assert not fragment.steps["values"][~acting.numpy()].any()


@pytest.mark.parametrize("by_decisions", [False, True])
def test_values_of_agents_that_carry_on_at_a_first_step_are_computed_and_learned(by_decisions):
    one = stirred(length=5)
    fragment = next(found for found in (one.collect() for _ in range(9)) if not found.obs["decides"][:, 0].all())
    objective = Ppo(is_joint=False, regressed="decisions", by_decisions=by_decisions, num_minibatches=1, num_epochs=1)
    (batch,) = objective.minibatches(objective.prepare(to_batch(fragment)), seed=0)
    values = forward(one.policy, batch).values
    carries_on = valued_mask(batch) & ~decision_mask(batch)
    assert carries_on.sum() == (~fragment.obs["decides"][:, 0]).sum() > 0
    torch.testing.assert_close(
        values.detach()[carries_on],
        forward(one.policy, {**batch, "obs/decides": torch.ones_like(batch["obs/decides"])}).values.detach()[
            carries_on
        ],
    )
    assert (values[carries_on] != 0).all()


@pytest.mark.parametrize("objective", [Ppo, Impala])
def test_the_joint_form_is_refused_where_agents_that_carry_on_have_no_value(objective):
    one = stirred()
    fragment = one.collect()
    with pytest.raises(ValueError, match=r"none for agents that carry on .* set is_joint=False"):
        error_at_first_update(objective(), one.policy, fragment)
    fragment.obs["decides"][:] = True
    objective().loss(forward(one.policy, batch := objective().prepare(to_batch(fragment))), batch, Progress())


def test_the_learner_reads_the_messages_that_were_heard():
    """Whatever its own message adapter would say by then."""
    one = stirred()
    fragment = one.collect()
    stir(one.policy.network.language.message.values(), 2.0, seed=4)
    assert error_at_first_update(BY_AGENT, one.policy, fragment) < 1e-5
    batch = to_batch(fragment)
    others = narrated_again(one.policy, batch, **{MESSAGES: torch.full_like(batch[f"obs/{MESSAGES}"], PADDING)})
    before, after = (forward(one.policy, each).extras[ACTION_SCORES] for each in (batch, others))
    assert float((before - after).detach().abs().max()) > 1e-3


@pytest.mark.parametrize("form", ["word", "drawn_messages", "rows_of_a_table"])
def test_worlds_can_be_spread_over_collectors(form):
    policy = stirred(form).policy
    by_row = form == "rows_of_a_table"
    whole = collector(4, policy=policy, by_row=by_row)
    halves = [collector(2, first_world=first, policy=policy, by_row=by_row) for first in (0, 2)]
    for _ in range(2):
        one, other = whole.collect(), Fragment.join([half.collect() for half in halves])
        for key, value in (one.obs | one.steps | one.ends).items():
            found = (other.obs | other.steps | other.ends)[key]
            if key in ROUNDING:
                np.testing.assert_allclose(value, found, atol=1e-5, err_msg=key)
            elif key in one.texts:  # rows of joined tables have other numbers
                shown = zip(texts_of(one, key), texts_of(other, key), strict=True)
                assert all(np.array_equal(own, others) for own, others in shown), key
            elif key != "situation" or not by_row:
                np.testing.assert_array_equal(value, found, err_msg=key)


def test_drawn_messages_follow_the_worlds_chance_and_greedy_ones_do_not():
    drawn, greedy = (stirred(form).collect().obs[MESSAGES] for form in ("drawn_messages", "word"))
    assert len(np.unique(drawn.reshape(-1, 8), axis=0)) > len(np.unique(greedy.reshape(-1, 8), axis=0))
    np.testing.assert_array_equal(stirred("drawn_messages").collect().obs[MESSAGES], drawn)


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
    assert error_at_first_update(BY_AGENT, one.policy, fragment) < 1e-5


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
    network, finals = policy.network, []
    network.writer.write = lambda prompts: [prompt[8:12] for prompt in prompts]  # repeats what it sees
    one = Collector(StoppedInTurns(3), policy, 5)
    one.reset(3)
    value = one._values_of
    one._values_of = lambda obs, *rest: finals.append(obs) or value(obs, *rest)
    fragment = one.collect()

    network.settings = stirred().policy.network.settings

    def written(obs):
        unheard = {key: torch.from_numpy(seen)[:, None] for key, seen in obs.items() if key != MESSAGES}
        return network.speech().narrate(unheard)[MESSAGES][:, 0].numpy()

    assert fragment.steps["truncated"].sum(0).tolist() == [0, 0, 1, 1, 1]
    for world, final in enumerate(finals[:3]):
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
    """As in a loaded policy's `act`: greedily, to the same end."""
    one = stirred()
    fragment = one.collect()
    batch = select_worlds(to_batch(fragment), slice(0, 2))
    added = {f"obs/{key}" for key in (MESSAGES, PROMPT, PHRASES)}
    bare = {key: value for key, value in batch.items() if key not in added and not key.startswith("texts/")}
    with pytest.raises(MissingTextsError, match="lack 'prompt'"):
        forward(one.policy, bare)
    with torch.no_grad():
        torch.testing.assert_close(
            forward(one.policy, narrated_again(one.policy, bare)).extras[ACTION_SCORES],
            forward(one.policy, batch).extras[ACTION_SCORES],
        )


def test_illegal_actions_are_neither_scored_nor_drawn():
    one = stirred()
    fragment = one.collect()
    legal = np.take_along_axis(fragment.obs["legal"][:, :-1], fragment.steps["actions"][..., None], -1)[..., 0]
    assert legal.all()
    output = forward(one.policy, to_batch(fragment))
    illegal = ~torch.from_numpy(fragment.obs["legal"])
    assert float(output.policy.marginals().detach()[illegal].max()) == 0
    assert not output.extras[ACTION_SCORES].detach()[illegal].any()


@pytest.mark.parametrize("learns", [True, False])
def test_a_step_at_which_nobody_decides_is_nothing_to_compute(learns):
    one = stirred()
    whole = to_batch(one.collect())
    batch = {key: value[:, :1] for key, value in whole.items() if key.startswith(("obs/", "is_first"))}
    batch |= {key: value for key, value in whole.items() if key.startswith("texts/")}
    batch["obs/decides"] = torch.zeros_like(batch["obs/decides"])
    computed = one.policy.network.moments.computed
    with torch.set_grad_enabled(learns):
        assert not forward(one.policy, batch).values.detach().any()
    assert one.policy.network.moments.computed == computed


@pytest.mark.parametrize("change", CHANGES)
def test_no_moment_is_scored_with_weights_that_were(change):
    one = stirred()
    batch = to_batch(one.collect())
    change(one.policy.network.language.action)
    with torch.no_grad():
        kept = forward(one.policy, batch).extras[ACTION_SCORES]
    torch.testing.assert_close(kept, forward(one.policy, batch).extras[ACTION_SCORES].detach())


def test_equal_moments_are_computed_once():
    """In a learner's batch, and from step to step while acting, until a weight changes."""
    one = stirred(num_worlds=12)
    fragment, network = one.collect(), one.policy.network
    computed = network.moments.computed
    asked = int(fragment.obs["decides"][:, :-1].sum())
    assert computed < asked
    one.restore(one.snapshot())
    collector(policy=one.policy, num_worlds=12).collect()  # the same fragment again
    assert network.moments.computed == computed
    stir(network.language.action.values())
    collector(policy=one.policy, num_worlds=12).collect()
    assert network.moments.computed > computed
    scored = []
    score = network.language.scorer
    network.language.scorer = lambda base, prompts, some: scored.append((prompts, some)) or score(base, prompts, some)
    forward(one.policy, to_batch(fragment))
    ((prompts, some),) = scored
    assert len(set(zip(prompts, some, strict=True))) == len(prompts) < asked


def test_normalisation_divides_by_words_tokens_or_nothing():
    found = {}
    for form in ("sum", "word", "token"):
        one = stirred(form)
        found[form] = forward(one.policy, to_batch(stirred().collect())).extras[ACTION_SCORES].detach()
    narrator, tokens = HintNarrator(), one.policy.network.language.tokens
    for agent in range(2):
        phrases = narrator.actions([agent])
        for action, phrase in enumerate(phrases):
            of_sum, of_word, of_token = (found[form][..., agent, action] for form in ("sum", "word", "token"))
            torch.testing.assert_close(of_word * len(phrase.split()), of_sum, atol=1e-4, rtol=1e-5)
            torch.testing.assert_close(of_token * len(tokens.behind(phrase)), of_sum, atol=1e-4, rtol=1e-5)
    assert len(THINGS) == len(phrases)
    assert bool(found["sum"].any())


@pytest.mark.parametrize("form", ["word", "frozen_critic"])
def test_ppo_changes_the_action_adapter_and_the_critic_alone(form):
    """Tensor by tensor; every one of those changes."""
    one = stirred(form)
    policy = one.policy
    base = copy.deepcopy(policy.network.language.base.state_dict())
    before = copy.deepcopy(policy.state_dict())
    learner = Learner(policy, BY_AGENT, OptimiserSettings(learning_rate=Schedule.constant(1e-2)))
    learner.update([one.collect()])
    changed = {name for name, value in policy.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if ".action." in name or name.startswith("value_head.")}
    after = policy.network.language.base.state_dict()
    assert all(torch.equal(after[name], base[name]) for name in base if ".action." not in name)


def test_the_critics_gradient_stays_out_of_the_language_model():
    one = stirred()
    forward(one.policy, to_batch(one.collect())).values.sum().backward()
    assert all(weight.grad is None for weight in one.policy.network.parameters())
    assert all(weight.grad is not None for weight in one.policy.value_head.parameters())


def test_the_frozen_critic_reads_the_bare_model():
    """Its states do not change with the action adapter; those of the other form do."""
    for form, changes in (("frozen_critic", False), ("word", True)):
        one = stirred(form)
        batch = to_batch(one.collect())
        before = forward(one.policy, batch).values.detach()
        stir(one.policy.network.language.action.values(), seed=9)
        assert torch.equal(forward(one.policy, batch).values.detach(), before) != changes


def test_a_policys_state_is_adapters_and_heads_and_moves_to_another_process():
    one = stirred()
    state = one.policy.state_dict()
    assert {name.split(".")[2] for name in state if name.startswith("network.")} == {"message", "action"}
    assert sum(value.numel() for value in state.values()) < 0.5 * one.policy.network.language.base.num_parameters()
    other = team()
    other.load_state_dict(state)
    fragments = [collector(policy=policy).collect() for policy in (one.policy, other)]
    for key, value in fragments[0].steps.items():
        np.testing.assert_array_equal(value, fragments[1].steps[key], err_msg=key)


def test_a_collector_continues_exactly_where_it_was(tmp_path):
    one = stirred("drawn_messages")
    one.collect()
    snapshot = one.snapshot()
    other = collector(policy=one.policy, **FORMS["drawn_messages"])
    other.restore(snapshot)
    wanted, found = one.collect(), other.collect()
    for key, value in (wanted.obs | wanted.steps).items():
        np.testing.assert_array_equal(value, (found.obs | found.steps)[key], err_msg=key)


def test_what_is_said_can_be_shown():
    one = stirred()
    fragment, writer = one.collect(), one.policy.network.writer
    texts = [writer.text(message_of(row)) for row in fragment.obs[MESSAGES].reshape(-1, 8)]
    assert all(len(text.split()) <= 10 for text in texts)
    assert any(texts)
