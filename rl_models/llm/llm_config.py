"""What there is to choose about a language mind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from rl_models.llm.scoring import Normalisation

Adapter = Literal["message", "action"]
SMALLEST_VOCABULARY = 259
"""Number of bytes and marks, with which every text can be written."""


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """Low-rank adapters; both have the same form."""

    rank: PositiveInt = 8
    alpha: PositiveInt = 16
    """An adapter's output is multiplied by alpha / rank."""
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    """Names of the linear layers that get one."""


@dataclass(frozen=True, kw_only=True)
class SmallModelSettings:
    """The default model: its form, and how it learns the corpus."""

    layers: PositiveInt = 4
    width: PositiveInt = 128
    heads: PositiveInt = 4
    feed_forward: PositiveInt = 384
    vocabulary: Annotated[int, Field(ge=SMALLEST_VOCABULARY)] = 1024
    """Tokens at most, 256 bytes and three marks among them."""
    context: PositiveInt = 512
    """Most tokens of a prompt with what follows it."""
    steps: PositiveInt = 900
    batch_tokens: PositiveInt = 2048
    """Tokens of a training step, padding included."""
    prompt_weight: float = 0.1
    """Of predicting a token of a prompt; 1 for a token of what follows it."""
    learning_rate: PositiveFloat = 3e-3
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings:
    """A causal language model with its adapters."""

    model: str = ""
    """Hub id or folder of a causal language model; empty: the small default one."""
    small: SmallModelSettings = field(default_factory=SmallModelSettings)
    lora: LoraSettings = field(default_factory=LoraSettings)
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the base; auto: bfloat16 where there is a GPU, else float32."""
    gradient_checkpointing: bool = False
    """Compute layers anew in the backward pass: less memory, a third more time."""


@dataclass(frozen=True, kw_only=True)
class MessageSettings:
    """How agents write to each other."""

    heard: Literal["messages", "silence", "shuffled"] = "messages"
    """What reaches the others: what was written, nothing (nobody writes), or what was written in another world:
    the one before among those that are played together. A single world has no other, and hears empty messages."""
    most_words: PositiveInt = 10
    most_tokens: PositiveInt = 24
    sampled: bool = False
    """Draw each token instead of taking the likeliest."""


@dataclass(frozen=True, kw_only=True)
class LanguageTeamSettings:
    """A team whose members share one language model."""

    language: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    messages: MessageSettings = field(default_factory=MessageSettings)
    normalisation: Normalisation = "sum"
    """What an action's log-probability is divided by; `sum` is Verco's eq. 3, `word` what its base method runs with."""
    critic_base: Literal["action", "frozen"] = "action"
    """Whose state the critic reads: that of the action adapter's pass, or of the bare model."""
    value_hidden: tuple[PositiveInt, ...] = (1024, 512)
    adapters: str = ""
    """Folder with adapters to begin from, in peft's format (`message/`, `action/`); empty: new ones."""
    situation: tuple[str, ...] = ("situation",)
    """Observation keys of the codes that the narrator puts into words; several are joined."""
