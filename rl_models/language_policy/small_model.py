"""The default model: a small LLaMA with a tokenizer of its own, made from a corpus in about a minute on one core.

It is an ordinary Hugging Face folder, so it is loaded like any other. This file must not know where such folders are
kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.progress import track
from torch import Tensor

from rl_models.language_policy.settings import SmallModelSettings

PADDING, BEGIN, END = "<pad>", "<begin>", "<end>"
_WARM_UP = 20
"""Steps over which the learning rate rises."""
_CLIP = 1.0


def write_small_model(folder: Path, texts: Sequence[str], settings: SmallModelSettings) -> float:
    """Train tokenizer and model on some texts, and write both.

    Args:
        folder: exists and is empty.
        texts: at least one.
        settings: form and training; the same texts and settings give the same model.

    Returns:
        mean cross-entropy a token over the last tenth of the steps.
    """
    tokenizer = train_tokenizer(texts, settings.vocabulary)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = _blank_model(settings, tokenizer)
        loss = _train(model, _stream(tokenizer, texts), settings)
    _save(folder, model, tokenizer)
    return loss


def _save(folder: Path, model: Any, tokenizer: Any) -> None:
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        if bars:
            logging.enable_progress_bar()


def train_tokenizer(texts: Sequence[str], vocabulary: int) -> Any:
    """A byte-level BPE tokenizer: every text can be written, and comes back as it was."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PADDING, BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PADDING,
        bos_token=BEGIN,
        eos_token=END,
        clean_up_tokenization_spaces=False,
    )


def _blank_model(settings: SmallModelSettings, tokenizer: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.width,
            intermediate_size=settings.feed_forward,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            num_key_value_heads=settings.heads,
            max_position_embeddings=settings.context,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def _stream(tokenizer: Any, texts: Sequence[str]) -> Tensor:
    """All texts behind one another, each with its marks, in an order drawn from the present seed: [L] int64."""
    ids = tokenizer(list(texts))["input_ids"]
    end = int(tokenizer.eos_token_id)
    order = torch.randperm(len(ids)).tolist()
    return torch.tensor([token for place in order for token in (*ids[place], end)])


def _train(model: Any, stream: Tensor, settings: SmallModelSettings) -> float:
    """Learn to predict the next token of random stretches of the stream."""
    length = min(settings.row_tokens + 1, len(stream))
    windows = stream.unfold(0, length, 1)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.95), weight_decay=0.01)
    losses = []
    for step in track(range(settings.steps), "training the small language model", transient=True):
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * _rate(step, settings.steps)
        rows = windows[torch.randint(len(windows), (settings.rows,))]
        logits = model(input_ids=rows[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimiser.step()
        losses.append(float(loss.detach()))
    last = losses[-max(1, settings.steps // 10) :]
    return sum(last) / len(last)


def _rate(step: int, steps: int) -> float:
    """Rises linearly, then falls along a cosine to a tenth."""
    if step < _WARM_UP:
        return (step + 1) / _WARM_UP
    return 0.55 + 0.45 * math.cos(math.pi * (step - _WARM_UP) / max(1, steps - _WARM_UP))
