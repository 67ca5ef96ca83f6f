"""Worlds of the configured environment, as each row reads them."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from rl_envs.wrappers import from_pettingzoo, hangs
from rl_envs.wrappers.custom.build import named_env, play_at_random
from rl_envs.wrappers.custom.word_ids import Characters
from rl_envs.wrappers.custom.world import PettingZooWorld
from rl_models.text.token_states import ModelTokens
from tune_experiments.teams.config import LANGUAGE_ROWS, Config

_ALL_CHARACTERS = 2**20


def training_world(config: Config, method: str, num_worlds: int = 1, first_world: int = 0) -> PettingZooWorld:
    """Worlds of training, which play in processes if the configuration says so.

    A process that Ray has started and that hangs in its environment says where, and ends; it is started again.
    """
    if (ray := sys.modules.get("ray")) and ray.is_initialized() and ray.get_runtime_context().get_actor_id():
        hangs.watch(lambda said: None)  # a trial's own process has a watch already
    return make_world(config, num_worlds, first_world, method=method, num_processes=config.env_processes)


def make_world(
    config: Config, num_worlds: int = 1, first_world: int = 0, *, method: str = "", **more: Any
) -> PettingZooWorld:
    """Worlds for one row: a language model wants texts as they are, the other rows their words or an encoder's tokens.

    Args:
        config: environment, its arguments, and how texts are numbered.
        num_worlds: B.
        first_world: number of the first of these worlds.
        method: the row.
        more: further options of `from_pettingzoo`, or `render_mode`, which goes to the environment.
    """
    arguments = config.arguments() | ({"render_mode": more.pop("render_mode")} if "render_mode" in more else {})
    return from_pettingzoo(
        named_env(config.env, arguments),
        num_worlds,
        first_world,
        max_episode_steps=config.max_episode_steps or None,
        agents_leave=config.agents_leave,
        **_numbers(config, method),
        **more,
    )


def try_out(config: Config) -> None:
    """Play an episode of random play in two copies of the environment, in which everything is checked.

    Raises:
        CustomEnvError: what the environment gives does not fit.
    """
    with contextlib.closing(make_world(config, 2)) as world:
        play_at_random(world)


def _numbers(config: Config, method: str) -> dict[str, Any]:
    """How texts become numbers."""
    if method in LANGUAGE_ROWS:
        return {"word_ids": Characters(), "max_words": _ALL_CHARACTERS}
    encoder = config.network.text_encoder
    return {
        "word_ids": ModelTokens(encoder) if encoder else None,
        "max_words": config.max_words,
        "max_sentences": config.max_sentences,
    }
