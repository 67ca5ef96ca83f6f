"""The message adapter learns what the teacher writes, and nothing else changes."""

import copy

import numpy as np
import pytest
import torch

from rl_models.llm.distillation import MessageDistillation, is_held_out
from rl_models.llm.llm_config import DistillationSettings
from tests.rl_models.llm.small import THINGS, HintNarrator, stir, team


def pairs(ticks):
    """What a teacher writes in every situation: the thing that the friend wants."""
    narrator = HintNarrator()
    codes = [np.array([who, thing, tick]) for who in range(3) for thing in range(4) for tick in ticks]
    return [(narrator.message_prompt(code), f"take the {THINGS[code[1]]}") for code in codes]


def stage(**changed):
    network = team().network
    return network, MessageDistillation(network.language, network.writer, DistillationSettings(**changed))


def watch_learned(language):
    """Pairs of token ids from which gradients are computed, as they come."""
    learned, score = [], language.score

    def watched(adapter, prompts, messages):
        if torch.is_grad_enabled():
            learned.extend((prompt, *message) for prompt, message in zip(prompts, messages, strict=True))
        return score(adapter, prompts, messages)

    language.score = watched
    return learned


def test_the_loss_is_the_cross_entropy_of_the_messages_tokens_and_their_end():
    network, distillation = stage(num_epochs=1, held_out=0.0)
    stir(network.language.message.values())
    text, message = pairs([0])[3]
    tokens = network.language.tokens
    prompt, said = tokens.prompt(text), (*tokens.completion(message), tokens.end)
    with network.language.using("message"):
        logits = network.language.base(torch.tensor([prompt + said])).logits[0]
    wanted = torch.nn.functional.cross_entropy(logits[len(prompt) - 1 : -1], torch.tensor(said), reduction="sum")
    scores = network.language.score("message", [prompt], [(said,)])
    torch.testing.assert_close(-scores.log_probs.mean(), wanted, atol=1e-4, rtol=0)
    learned = distillation.learn([(text, message)], shows_progress=False).loss
    assert learned == pytest.approx(float(wanted) / len(said), rel=1e-4)


@pytest.mark.long
def test_the_student_learns_to_write_what_the_teacher_would():
    """In prompts that it has never read, over two rounds; the last one is exact."""
    network, distillation = stage(num_epochs=20, batch_size=8, learning_rate=1e-2, held_out=0.2)
    before = copy.deepcopy(network.language.state_dict())
    base = copy.deepcopy({k: v for k, v in network.language.base.state_dict().items() if "lora_" not in k})
    first = distillation.learn(pairs(range(3)), shows_progress=False)
    second = distillation.learn(pairs(range(3, 6)), shows_progress=False)
    assert distillation.reports == [first, second]
    assert first.pairs + first.held_out == 36
    assert second.pairs + second.held_out == 72
    assert second.held_out > 5
    assert second.held_out_loss < 0.15
    assert second.exact_match > 0.9
    changed = {name for name, value in network.language.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if name.startswith("message.")}
    assert all(torch.equal(value, network.language.base.state_dict()[name]) for name, value in base.items())
    assert network.language.trains == "action"


def test_a_prompt_is_learned_from_or_held_out_never_both():
    network, distillation = stage(num_epochs=1, held_out=0.5)
    some, watched = pairs(range(4)), watch_learned(network.language)
    report = distillation.learn([*some, *some], shows_progress=False)
    prompt_ids = {prompt: network.language.tokens.prompt(prompt) for prompt, _ in some}
    held_out = [prompt for prompt in prompt_ids if is_held_out(prompt, 0.5)]
    assert held_out and report.held_out == 2 * len(held_out)
    learned = {prompt for prompt, _ in watched}
    assert learned == {ids for prompt, ids in prompt_ids.items() if prompt not in held_out}
    share = np.mean([is_held_out(f"prompt {number}", 0.3) for number in range(4000)])
    assert abs(share - 0.3) < 0.03


def test_losses_of_learned_and_of_held_out_messages_are_both_a_tokens(monkeypatch):
    """With weights that stay as they are, and batches of unlike sizes; of all nats and tokens, not of batches."""
    some, other = pairs(range(2)), pairs([2])
    _, distillation = stage(num_epochs=1, batch_size=5, learning_rate=1e-12, held_out=0.0)
    learned = distillation.learn(some, shows_progress=False).loss
    monkeypatch.setattr("rl_models.llm.distillation.is_held_out", lambda prompt, share: prompt in dict(some))
    _, distillation = stage(num_epochs=1, batch_size=5, learning_rate=1e-12)
    report = distillation.learn(some + other, shows_progress=False)
    assert report.held_out == len(some)
    assert learned == pytest.approx(report.held_out_loss, rel=1e-4)


def test_without_pairs_there_is_nothing_to_learn():
    _, distillation = stage()
    with pytest.raises(ValueError, match="pair"):
        distillation.learn([], shows_progress=False)
    _, distillation = stage(held_out=0.0, num_epochs=1)
    report = distillation.learn(pairs([0]), shows_progress=False)
    assert np.isnan(report.held_out_loss)
    assert np.isnan(report.exact_match)


def test_a_message_that_is_too_long_is_learned_as_far_as_it_travels_and_a_warning_says_so():
    network, distillation = stage(num_epochs=1, held_out=0.0)
    watched = watch_learned(network.language)
    long = "take the red apple and the blue ball and the green apple"
    with pytest.warns(UserWarning, match="--team.messages.max-tokens"):
        distillation.learn([("guest 0", long)], shows_progress=False)
    ((_, said),) = watched
    assert len(said) == network.settings.messages.max_tokens + 1
    assert said[-1] == network.language.tokens.end
