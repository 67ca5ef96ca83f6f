"""Methods `lora` and `lora_blind`: a language model with an adapter plays a game of texts by choosing among phrases.

Worlds of these methods use character ids, so texts reach the model unchanged. The action adapter and a value head learn
by PPO; agents share the model and write no messages. `lora_blind` has the names of actions, but no texts: the
difference to `lora` is due to reading. Without a model by name, a small one is first trained on texts of random play,
to repeat the words of a text; its corpus contains no chosen action and no reward.
"""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch

from rl_envs import World
from rl_envs.wrappers.custom.layout import ACTION_TEXTS
from rl_envs.wrappers.custom.word_ids import Characters
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import MessageSettings
from rl_models.llm.model_cache import keep_copy, small_model
from rl_models.llm.narration import situations
from rl_models.llm.small_model import Pair, train_tokenizer
from rl_models.llm.text_game import GameText, TextGame
from rl_models.llm.tokens import Tokens, load_tokenizer
from rl_models.policy import TeamPolicy
from rl_models.runtime.texts import TEXTS
from rl_models.teams.llm_team import language_team
from tune_experiments.core.errors import UserError
from tune_experiments.run.run_folder import LANGUAGE_MODEL
from tune_experiments.teams.config import BLIND, LANGUAGE_METHODS, Config
from tune_experiments.teams.worlds import make_world

_FIRST_WORLD, _SEED, _TIMES = 10_000, 0, 6
"""First world and seed of the small model's corpus, whose games are not in training; repeats of each text."""


def language_policy(config: Config, method: str, seed: int, trial_folder: Path | None = None) -> TeamPolicy:
    """The team of `lora` or `lora_blind` with its initial weights.

    Raises UserError where the game has no texts or no names of actions, or the model cannot be loaded.
    """
    with contextlib.closing(make_world(config, method=method)) as world:
        game = text_game(config, world, method == BLIND)
    row = config.language
    team = dataclasses.replace(row.team, situation=game.situation, messages=MessageSettings(heard="silence"))
    kept = trial_folder / LANGUAGE_MODEL if trial_folder is not None and not team.language.model else None
    if kept is not None and kept.is_dir():
        team = dataclasses.replace(team, language=dataclasses.replace(team.language, model=str(kept)))
    texts = functools.partial(corpus, config)
    return language_team(team, game, world.num_agents, cast(int, world.action_spec), texts, seed)


def text_game(config: Config, world: World, is_blind: bool = False) -> TextGame:
    """Texts of a game for the language model; UserError for a world without texts, or without names of actions."""
    found = {
        key: GameText(key, spec.length, int(np.prod(spec.rows, dtype=int))) for key, spec in world.text_spec.items()
    }
    phrases = found.pop(ACTION_TEXTS, getattr(world, ACTION_TEXTS, None))
    if phrases is None or not found:
        lacking = "texts" if phrases is not None else f"{ACTION_TEXTS}, a tuple of texts, one per action"
        raise UserError(
            f"the methods {' and '.join(LANGUAGE_METHODS)} need a game with texts and names of "
            f"actions, and the observations of {config.env} have no {lacking}: leave these methods out, or let the "
            f"environment provide them (constant names may be in its attribute {ACTION_TEXTS})"
        )
    if not isinstance(phrases, GameText):
        for agent, names in zip(world.agents, phrases, strict=True):
            if repeated := next((name for name in names if name and names.count(name) > 1), None):
                raise UserError(
                    f"{ACTION_TEXTS} of {config.env} has {repeated!r} for two actions of {agent!r}, and a language "
                    "model chooses by the text: let each action have a text of its own"
                )
    return TextGame(world.agents, () if is_blind else tuple(found.values()), phrases, Characters().decode)


@functools.lru_cache(maxsize=2)
def corpus(config: Config) -> tuple[Pair, ...]:
    """Corpus of the small model: texts of random play, each followed by its words in several orders."""
    texts, draws = dict[str, None](), np.random.default_rng(_SEED)
    for prompt, phrases in _situations(config, LANGUAGE_METHODS[0], draws):
        texts |= dict.fromkeys((prompt, *phrases))
    words = {text: re.findall(r"\w+", text) or [text] for text in texts}
    return tuple((text, " ".join(draws.permutation(words[text]).tolist())) for text in texts for _ in range(_TIMES))


def check_lengths(config: Config, method: str) -> None:
    """Check that a language model can read the texts of random play; later texts may be longer.

    Raises UserError for a prompt longer than the model's context, or a model that cannot be loaded.
    """
    language = config.language.team.language
    try:
        if language.model:
            tokens = load_tokenizer(language.model, language.chat_template)
            flag = "--language.team.language.model"
        else:
            texts = [f"{prompt} {answer}" for prompt, answer in corpus(config)]
            tokenizer = train_tokenizer(texts, language.small.vocabulary)
            tokens = Tokens(tokenizer, language.small.context, language.chat_template)
            flag = "--language.team.language.small.context"
        for prompt, phrases in _situations(config, method, np.random.default_rng(_SEED)):
            tokens.check_length(tokens.prompt(prompt), max(len(tokens.completion(phrase)) for phrase in phrases))
    except LanguageModelError as error:
        raise UserError(f"--methods {method}: {error}: see {flag}") from error


def _situations(config: Config, method: str, draws: np.random.Generator) -> Iterator[tuple[str, Sequence[str]]]:
    """Prompts of agents in random play, each with the phrases of its actions."""
    language = config.language
    made = make_world(config, language.corpus_worlds, _FIRST_WORLD, method=method)
    with contextlib.closing(made) as world:
        game, obs = text_game(config, world, method == BLIND), world.reset(_SEED)
        for _ in range(language.corpus_env_steps):
            shown = {key: torch.from_numpy(value)[:, None] for key, value in obs.items()}
            shown |= {f"{TEXTS}{key}": torch.from_numpy(store.table) for key, store in world.texts.items()}
            for code in situations(shown, game.situation)[0]:
                yield game.action_prompt(code, ()), game.actions(code)
            chances = np.where(obs["legal"], draws.random(obs["legal"].shape), -1.0)
            obs = world.step(chances.argmax(-1))[0]


def save_model(config: Config, method: str, folder: Path) -> None:
    """Copy the small model into a trial's folder; UserError where it cannot be trained or written."""
    if method not in LANGUAGE_METHODS or config.language.team.language.model:
        return
    small = config.language.team.language.small
    keep_copy(folder / LANGUAGE_MODEL, lambda: small_model(functools.partial(corpus, config), small))
