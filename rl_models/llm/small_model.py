"""The default model: a small LLaMA with a tokenizer of its own, made from a corpus in under two minutes on one core.

It is an ordinary Hugging Face folder, so it is loaded like any other.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
from rich.progress import track
from torch import Tensor

from rl_models.hub.quiet import quiet_transformers
from rl_models.llm.llm_config import SmallModelSettings
from rl_models.policy import seeded
from rl_models.runtime.device import chosen_device, move

Pair: TypeAlias = tuple[str, str]
"""A prompt and what follows it."""
PADDING, BEGIN, END = "<pad>", "<begin>", "<end>"
_WARM_UP = 20
"""Steps over which the learning rate rises."""
_CLIP, _DECAY = 1.0, 0.01
_SORTED_TOGETHER = 1024
"""Texts among which those of like length are put together."""


def write_small_model(folder: Path, pairs: Sequence[Pair], settings: SmallModelSettings) -> float:
    """Train tokenizer and model on pairs of prompt and answer, and write both into an empty folder.

    The same pairs and settings give the same model. Returns the mean cross-entropy a token over the last tenth of the
    steps, a prompt's tokens weighed as in training.
    """
    tokenizer = train_tokenizer([f"{prompt} {answer}" for prompt, answer in pairs], settings.vocabulary)
    with seeded(settings.seed):
        model = _blank_model(settings, tokenizer).to(chosen_device())
        loss = _train(model, _tokenised(tokenizer, pairs), settings)
    with quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return loss


def train_tokenizer(texts: Sequence[str], vocabulary: int) -> Any:
    """A byte-level BPE tokenizer: every text can be encoded and is decoded unchanged."""
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


def _tokenised(tokenizer: Any, pairs: Sequence[Pair]) -> list[tuple[Tensor, int]]:
    """Ids of each text as it will be met, prompt and answer tokenised apart, with its end; and the prompt's length."""
    prompts = tokenizer([prompt for prompt, _ in pairs])["input_ids"]
    answers = tokenizer([f" {answer}" for _, answer in pairs], add_special_tokens=False)["input_ids"]
    end = [int(tokenizer.eos_token_id)]
    return [(torch.tensor(prompt + answer + end), len(prompt)) for prompt, answer in zip(prompts, answers, strict=True)]


def _train(model: Any, texts: list[tuple[Tensor, int]], settings: SmallModelSettings) -> float:
    """Learn to predict the next token, what follows a prompt above all."""
    batches = _batches(torch.tensor([len(ids) for ids, _ in texts]), settings.batch_tokens)
    optimisers = _optimisers(model, settings.learning_rate)
    losses = []
    for step in track(range(settings.steps), "training the small language model", transient=True):
        for group in [group for optimiser in optimisers for group in optimiser.param_groups]:
            group["lr"] = settings.learning_rate * _rate(step, settings.steps)
        loss = _loss(model, [texts[row] for row in next(batches).tolist()], settings.prompt_weight)
        model.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        for optimiser in optimisers:
            optimiser.step()
        losses.append(loss.detach())
    return float(torch.stack(losses[-max(1, settings.steps // 10) :]).double().mean())


def _optimisers(model: torch.nn.Module, learning_rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, which learn from half as many texts with it, AdamW for the rest."""
    layers = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and ".layers." in name]
    inside = set(map(id, layers))
    rest = [weight for weight in model.parameters() if id(weight) not in inside]
    return [
        torch.optim.Muon(layers, lr=learning_rate, weight_decay=_DECAY, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=learning_rate, betas=(0.9, 0.95), weight_decay=_DECAY),
    ]


def _batches(lengths: Tensor, tokens: int) -> Iterator[Tensor]:
    """Rows of texts of like length, about so many tokens each, endlessly."""
    while True:
        for some in torch.randperm(len(lengths)).split(_SORTED_TOGETHER):
            some = some[lengths[some].argsort(stable=True)]
            parts = some.split(max(1, tokens // int(lengths[some].max())))
            yield from (parts[place] for place in torch.randperm(len(parts)).tolist())


def _loss(model: Any, texts: list[tuple[Tensor, int]], prompt_weight: float) -> Tensor:
    """Weighted mean of the cross-entropy a token."""
    ids = torch.nn.utils.rnn.pad_sequence([ids for ids, _ in texts], batch_first=True)
    place, starts = torch.arange(1, ids.shape[1]), torch.tensor([[start] for _, start in texts])
    ends = torch.tensor([[len(ids)] for ids, _ in texts])
    weights = torch.where(place < starts, prompt_weight, 1.0) * (place < ends)
    ids, weights = move({"ids": ids, "weights": weights}, model.device).values()
    logits = model(input_ids=ids[:, :-1], use_cache=False).logits
    entropies = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return (entropies * weights.flatten()).sum() / weights.sum()


def _rate(step: int, steps: int) -> float:
    """Rises linearly, then falls along a cosine to a tenth."""
    if step < _WARM_UP:
        return (step + 1) / _WARM_UP
    return 0.55 + 0.45 * math.cos(math.pi * (step - _WARM_UP) / max(1, steps - _WARM_UP))
