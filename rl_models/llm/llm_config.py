"""Settings of a language-model policy."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from rl_models.configuration import MAY_CHANGE
from rl_models.hub.catalog import absolute_model_name

Normalisation = Literal["sum", "token", "word"]


@dataclass(frozen=True, kw_only=True)
class DistillationSettings:
    """Settings of the training of the message adapter."""

    num_epochs: PositiveInt = 3
    """Number of epochs over all pairs so far, in each round."""
    batch_size: PositiveInt = 16
    """Number of pairs in a minibatch."""
    learning_rate: PositiveFloat = 2e-3
    """Learning rate, above 0; models with billions of parameters need about a tenth of the default."""
    max_grad_norm: PositiveFloat = 1.0
    """Maximum global gradient norm, above 0."""
    held_out: Annotated[float, Field(ge=0, le=0.9)] = 0.1
    """Share of the prompts, from 0 to 0.9, that are held out for the test of the message adapter."""
    seed: int = 0
    """Seed of the order in which pairs are learned."""


Adapter = Literal["message", "action"]


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """Low-rank adapters; both have the same form."""

    rank: PositiveInt = 8
    """Rank of the two matrices of an adapter."""
    alpha: PositiveInt = 16
    """Numerator of an adapter's scale: its output is multiplied by alpha / rank."""
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    """Names of the linear layers that get an adapter."""
    last_layers: NonNegativeInt = 0
    """Number of layers, counted from the last, that get adapters; 0: all. The states of the layers below are computed
    once for each prompt with its candidates, and kept."""


@dataclass(frozen=True, kw_only=True)
class SmallModelSettings:
    """The default model: its form, and how it learns the corpus."""

    layers: PositiveInt = 4
    """Number of layers of the small model."""
    width: PositiveInt = 128
    """Width of the small model, a multiple of twice the number of heads."""
    heads: PositiveInt = 4
    """Number of attention heads in each layer."""
    feed_forward: PositiveInt = 384
    """Width of the hidden layer in each feed-forward block."""
    vocabulary: Annotated[int, Field(ge=259)] = 1024
    """Largest number of tokens in the vocabulary, at least 259: 256 bytes and three marks, which write every text."""
    context: PositiveInt = 512
    """Largest number of tokens of a prompt with what follows it."""
    steps: PositiveInt = 900
    """Number of optimiser steps in which the model learns the corpus."""
    batch_tokens: PositiveInt = 2048
    """Number of tokens in a training step, padding included."""
    prompt_weight: float = 0.1
    """Weight of predicting a token of a prompt; a token of what follows the prompt has 1."""
    learning_rate: PositiveFloat = 3e-3
    """Largest learning rate of the small model's training, above 0."""
    seed: int = 0
    """Seed of the small model's weights and of its batches."""


@dataclass(frozen=True, kw_only=True)
class LanguageModelSettings:
    """A causal language model with its adapters."""

    model: str = ""
    """Causal language model: a name of `concord models`, a folder or a hub id; empty: the small default one."""
    small: SmallModelSettings = field(default_factory=SmallModelSettings)
    """Form and training of the small default model."""
    lora: LoraSettings = field(default_factory=LoraSettings)
    """Rank, scale and layers of the adapters."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Data type (dtype) of the base model: float32, bfloat16, or auto, which is bfloat16 where it runs on a GPU, else
    float32."""
    state_cache_megabytes: PositiveInt = field(default=1024, metadata=MAY_CHANGE)
    """Largest memory for states of the layers below the adapters, in each process; read with --lora.last-layers."""
    chat_template: bool = False
    """Whether a prompt is the user's turn in the model's chat template, and what follows it the assistant's answer."""
    gradient_checkpointing: bool = field(default=False, metadata=MAY_CHANGE)
    """Whether the backward pass computes layers again; it needs less memory and a third more time."""

    def __post_init__(self) -> None:
        """Make the model's folder absolute."""
        object.__setattr__(self, "model", absolute_model_name(self.model))

    @property
    def pretrained_model(self) -> str:
        """The model that a run records, if one is named."""
        return self.model


@dataclass(frozen=True, kw_only=True)
class MessageSettings:
    """Settings of the agents' messages."""

    heard: Literal["messages", "silence", "shuffled"] = "messages"
    """Messages that the other agents read: messages, those that were written; silence, none, and no agent writes; or
    shuffled, those that were written in the previous one of the worlds that are played together. A single world then
    has empty messages."""
    max_words: PositiveInt = 10
    """Largest number of words in a message."""
    max_tokens: PositiveInt = 24
    """Largest number of tokens in a message."""
    sampled: bool = False
    """Whether each token is drawn instead of taking the most likely."""


@dataclass(frozen=True, kw_only=True)
class LanguageTeamSettings:
    """A team whose members share one language model."""

    language: LanguageModelSettings = field(default_factory=LanguageModelSettings)
    """The language model that the team shares, and its adapters."""
    messages: MessageSettings = field(default_factory=MessageSettings)
    """How messages are written, and what reaches the others."""
    normalisation: Normalisation = "sum"
    """Divisor of an action's log-probability: sum, none, as in Verco's eq. 2; token, its number of tokens; word, its
    number of words, as in Verco's base method."""
    critic_base: Literal["action", "frozen"] = "action"
    """Hidden state that the critic reads: action, that of the action adapter's pass; frozen, that of the base model
    without an adapter."""
    value_hidden_sizes: tuple[PositiveInt, ...] = (1024, 512)
    """Widths of the hidden layers of the value head."""
    adapters: str = ""
    """Folder with adapters to begin from, in peft's format (`message/`, `action/`); empty: new ones."""
    situation: tuple[str, ...] = ("situation",)
    """Observation keys of the codes from which the narrator writes texts; several are joined."""
