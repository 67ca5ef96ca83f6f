"""Ready-made teams on a language model (Verco): base model, adapters, network and heads."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import torch

from rl_models.llm.adapters import AdaptedModel
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import LanguageModelSettings, LanguageTeamSettings
from rl_models.llm.model_cache import small_model
from rl_models.llm.narration import Narrator
from rl_models.llm.network import CandidateHead, LanguageNetwork, PromptValueHead
from rl_models.llm.shared_base import shared_base
from rl_models.llm.small_model import Pair
from rl_models.policy import TeamPolicy, seeded
from rl_models.runtime.device import building_device

Corpus: TypeAlias = Callable[[], Iterable[Pair]]
"""Returns the training texts of the default model, each a prompt and its continuation; equal in every process."""


def adapted_model(settings: LanguageModelSettings, corpus: Corpus | None = None, seed: int = 0) -> AdaptedModel:
    """A language model with fresh adapters; `corpus` trains the default model, other models need none.

    Raises LanguageModelError where the model cannot be loaded or trained.
    """
    if not settings.model and corpus is None:
        raise LanguageModelError("the default language model needs a training corpus: pass one or name a model")
    half = settings.dtype == "bfloat16" or (settings.dtype == "auto" and building_device().type == "cuda")
    name = settings.model
    if not name and corpus is not None:
        name = str(small_model(corpus, settings.small))
    base = shared_base(name, torch.bfloat16 if half else torch.float32)
    cache_bytes = settings.state_cache_megabytes * 2**20
    language = AdaptedModel(base, settings.lora, seed, cache_bytes, settings.chat_template)
    if settings.gradient_checkpointing:
        language.checkpoint_layers()
    return language


def language_team(
    settings: LanguageTeamSettings,
    narrator: Narrator,
    num_agents: int,
    actions: int,
    corpus: Corpus | None = None,
    seed: int = 0,
) -> TeamPolicy:
    """A team on one language model, with a trained action adapter and critic.

    Raises LanguageModelError where the model or its adapters cannot be loaded.
    """
    language = adapted_model(settings.language, corpus, seed)
    if settings.adapters:
        language.load_adapters(Path(settings.adapters))
    network = LanguageNetwork(language, narrator, settings, num_agents, actions)
    with seeded(seed):
        critic = PromptValueHead(network.features, settings.value_hidden_sizes)
    return TeamPolicy(network, CandidateHead(actions), critic)
