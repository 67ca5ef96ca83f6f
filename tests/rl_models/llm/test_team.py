"""A team of language-model policies: acting and learning read the same prompts, and only what should learn does."""

import copy

import numpy as np
import pytest
import torch

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.batch import Fragment, decision_mask, forward, to_batch, valued_mask
from rl_models.llm.network import ACTION_SCORES
from rl_models.schedule import Progress, Schedule
from rl_models.training.loop import Learner
from tests.rl_models.llm.small import (
    BY_AGENT,
    FORMS,
    ROUNDING,
    THINGS,
    HintNarrator,
    collector,
    shown_texts,
    stir,
    stirred,
    team,
)
from tests.rl_models.training.small import ratio_error


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_rollout_equals_train(form):
    """With messages that are not the same twice, macro actions, and episodes that end inside the fragment."""
    one = stirred(form)
    one.collect()
    fragment = one.collect()
    assert 0.3 < fragment.obs["decides"].mean() < 0.95
    assert fragment.is_first[:, 1:-1].any(1).all()
    for objective in (BY_AGENT, Impala(joint_ratio=False, value_loss_at="decisions")):
        assert ratio_error(objective, one.policy, fragment) < 1e-5
    stir(one.policy.network.language.action.values(), seed=7)
    assert ratio_error(BY_AGENT, one.policy, fragment) > 1e-2


@pytest.mark.long
def test_recorded_values_are_those_that_training_computes():
    """Values of deciding agents at every step; values of all agents after the last step and at time limits."""
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


@pytest.mark.parametrize("decision_minibatches", [False, True])
def test_values_of_agents_that_carry_on_at_a_first_step_are_computed_and_learned(decision_minibatches):
    one = stirred(length=5)
    fragment = next(found for found in (one.collect() for _ in range(9)) if not found.obs["decides"][:, 0].all())
    objective = Ppo(
        joint_ratio=False,
        value_loss_at="decisions",
        decision_minibatches=decision_minibatches,
        num_minibatches=1,
        num_epochs=1,
    )
    (batch,) = objective.minibatches(objective.prepare(to_batch(fragment)), seed=0)
    values = forward(one.policy, batch).values
    carries_on = valued_mask(batch) & ~decision_mask(batch)
    assert carries_on.sum() == (~fragment.obs["decides"][:, 0]).sum() > 0
    wanted = forward(one.policy, batch | {"obs/decides": torch.ones_like(batch["obs/decides"])}).values
    torch.testing.assert_close(values.detach()[carries_on], wanted.detach()[carries_on])
    assert (values[carries_on] != 0).all()


@pytest.mark.parametrize("objective", [Ppo, Impala])
def test_agents_that_carry_on_have_no_value_to_sum_or_to_learn(objective):
    one = stirred()
    fragment = one.collect()
    with pytest.raises(ValueError, match=r"joint_ratio"):
        ratio_error(objective(), one.policy, fragment)
    with pytest.raises(ValueError, match=r"value_loss_at"):
        ratio_error(objective(joint_ratio=False), one.policy, fragment)
    fragment.obs["decides"][:] = True
    objective().loss(forward(one.policy, batch := objective().prepare(to_batch(fragment))), batch, Progress())


@pytest.mark.long
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
                shown = zip(shown_texts(one, key), shown_texts(other, key), strict=True)
                assert all(np.array_equal(own, others) for own, others in shown), key
            elif key != "situation" or not by_row:
                np.testing.assert_array_equal(value, found, err_msg=key)


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
    computed = one.policy.network.score_cache.computed
    with torch.set_grad_enabled(learns):
        assert not forward(one.policy, batch).values.detach().any()
    assert one.policy.network.score_cache.computed == computed


def test_equal_moments_are_computed_once():
    """In a learner's batch, and from step to step while acting, until a weight changes."""
    one = stirred(num_worlds=12)
    fragment, network = one.collect(), one.policy.network
    computed = network.score_cache.computed
    asked = int(fragment.obs["decides"][:, :-1].sum())
    assert computed < asked
    one.restore(one.snapshot())
    collector(policy=one.policy, num_worlds=12).collect()  # the same fragment again
    assert network.score_cache.computed == computed
    stir(network.language.action.values())
    collector(policy=one.policy, num_worlds=12).collect()
    assert network.score_cache.computed > computed
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
            torch.testing.assert_close(of_token * len(tokens.completion(phrase)), of_sum, atol=1e-4, rtol=1e-5)
    assert len(THINGS) == len(phrases)
    assert bool(found["sum"].any())


@pytest.mark.parametrize("form", ["word", "frozen_critic"])
def test_ppo_changes_the_action_adapter_and_the_critic_alone(form):
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
    np.testing.assert_equal(fragments[0].steps, fragments[1].steps)
