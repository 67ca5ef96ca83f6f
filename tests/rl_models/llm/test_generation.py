"""Writing in batches with kept keys and values is writing token by token, alone and from scratch."""

import copy

import pytest
import torch

from rl_models.distributions.joint_policy import inverse_cdf
from rl_models.llm import messages
from rl_models.llm.llm_config import LanguageModelSettings, LoraSettings, MessageSettings
from rl_models.llm.messages import Writer, generate, to_message
from rl_models.teams.llm_team import adapted_model
from tests.emulated_device import DEVICE, emulated_device
from tests.rl_models.llm.small import SMALL, corpus, stir

MOST = 9


@pytest.fixture
def language():
    one = adapted_model(LanguageModelSettings(small=SMALL, lora=LoraSettings(rank=4)), corpus)
    stir(one.parameters(), 0.05)
    return one


def prompts(language):
    """Beginnings of the corpus's texts, of many lengths, which are continued in different ways."""
    whole = [language.tokens.prompt(" ".join(pair)) for pair in corpus()][::7]
    return [text[: 3 + place % len(text[3:])] for place, text in enumerate(whole)]


@torch.no_grad()
def alone(base, prompt, end, uniforms=None):
    """One token at a time, everything read anew."""
    text = []
    while len(text) < MOST:
        logits = base(torch.tensor([[*prompt, *text]]), use_cache=False).logits[0, -1]
        drawn = None if uniforms is None else inverse_cdf(logits.log_softmax(-1), uniforms[len(text)])
        token = int(logits.argmax() if drawn is None else drawn)
        if token == end:
            break
        text.append(token)
    return tuple(text)


@pytest.mark.long
@pytest.mark.parametrize("draws", [False, True], ids=["greedy", "drawn"])
def test_a_batch_writes_what_each_prompt_would_alone(language, draws):
    some = prompts(language)
    end = language.tokens.end if not draws else alone(language.base, some[0], -1)[2]  # one that is met
    uniforms = torch.rand(len(some), MOST, generator=torch.Generator().manual_seed(0)) if draws else None
    written = generate(language.base, some, MOST, end, uniforms)
    wanted = [
        alone(language.base, prompt, end, None if uniforms is None else uniforms[row])
        for row, prompt in enumerate(some)
    ]
    assert written == wanted
    assert len(set(written)) > 2
    assert len({len(text) for text in written}) > draws


def test_greedy_messages_are_written_once_until_the_adapter_changes(language):
    writer = Writer(language, MessageSettings(max_tokens=MOST))
    some = prompts(language)[:4]
    first = writer.write(some)
    assert writer.write([*some, *some]) == [*first, *first]
    assert writer.memory.computed == 4
    stir(language.action.values())
    writer.write(some)
    assert writer.memory.computed == 4
    stir(language.message.values(), 0.9)
    assert writer.write(some) != first
    assert writer.memory.computed == 8


def test_a_copy_of_a_team_reads_the_messages_that_the_team_has_written(language, monkeypatch):
    """A policy is copied for validation, and meets the prompts of training."""
    some, settings = prompts(language)[:4], MessageSettings(max_tokens=MOST)
    first = Writer(language, settings).write(some)
    again = copy.deepcopy(language)
    stir(again.action.values())
    monkeypatch.setattr(messages, "generate", None)
    assert Writer(again, settings).write(some) == first
    monkeypatch.undo()
    stir(again.message.values(), 0.9)
    assert Writer(again, settings).write(some) != first


def test_a_message_is_one_line_of_ten_words_at_most(language):
    writer = Writer(language, MessageSettings())
    ids = language.tokens.completion("one two three four five six seven eight nine ten eleven")
    assert writer.text(ids) == "one two three four five six seven eight nine ten"
    assert writer.text(language.tokens.completion("  take   the red\n brick")) == "take the red"
    assert writer.text(()) == ""


@pytest.mark.parametrize("draws", [False, True], ids=["greedy", "drawn"])
def test_writing_ends_where_the_text_is_cut_and_the_text_stays(language, draws):
    some, settings = prompts(language)[:12], MessageSettings(max_words=2, max_tokens=16)
    writer = Writer(language, settings)
    uniforms = torch.rand(len(some), 16, generator=torch.Generator().manual_seed(0)) if draws else None
    with language.using("message"):
        whole = generate(language.base, some, 16, language.tokens.end, uniforms)
    written = writer.write(some, uniforms)
    assert [writer.text(text) for text in written] == [writer.text(text) for text in whole]
    assert all(text == other[: len(text)] for text, other in zip(written, whole, strict=True))
    assert sum(map(len, written)) < sum(map(len, whole))
    with emulated_device():  # which is asked seldom whether a text is whole
        assert Writer(language.to(DEVICE), settings).write(some, uniforms) == written


def test_messages_keep_their_ids_on_the_way(language):
    writer = Writer(language, MessageSettings())
    table = writer.from_texts(["take the red apple", "", "no"])
    assert table.shape == (3, 24)
    assert [writer.text(to_message(row)) for row in table] == ["take the red apple", "", "no"]
    long = tuple(range(3, 40))
    assert to_message(writer.table([long])[0]) == long[:24]
