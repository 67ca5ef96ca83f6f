"""Inspection of the environment before a run, and the settings that are derived from it."""

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator

from tune_experiments.run.environment_probe import Probe, probe
from tune_experiments.teams.config import DIVIDED_METHOD, Config
from tune_experiments.teams.worlds import make_world, takes_argument


def probe_environment(config: Config) -> Probe:
    """Random play in the environment of a configuration, with all checks; once for all methods.

    Raises CustomEnvError where the environment violates its spaces.
    """
    fields = ("env", "env_arguments", "max_episode_steps", "max_words", "max_sentences")
    plain = Config(agents_leave=True)
    network = dataclasses.replace(plain.network, text_encoder=config.network.text_encoder)
    read = {name: getattr(config, name) for name in fields}
    return _probed(dataclasses.replace(plain, network=network, **read))


@functools.lru_cache(maxsize=4)
def _probed(config: Config) -> Probe:
    return probe(functools.partial(make_world, config))


def inspect_environment(config: Config, print_fn: Callable[[str], None], agents_left_before: bool) -> Config:
    """Print what an episode of random play shows; the configuration, in which agents may leave if they ever did.

    Raises CustomEnvError where the environment violates its spaces.
    """
    print_fn(f"an episode of random play in {config.env}:")
    is_team = (
        DIVIDED_METHOD in config.methods
        and takes_argument(config, "num_agents")
        and len(probe_environment(config).agents) == 1
    )
    if is_team:
        config = dataclasses.replace(config, env_arguments=json.dumps({**config.arguments(), "num_agents": 2}))
    seen = probe_environment(config)
    leave = (seen.may_leave or agents_left_before) and not seen.is_world
    adapted = dataclasses.replace(config, agents_leave=True) if leave else config
    for line in [*seen.lines(), *_describe_settings(adapted, seen)]:
        print_fn(line)
    if is_team:
        print_fn(f"note: num_agents is 2, because {DIVIDED_METHOD} divides entities among agents (--env-arguments)")
    return adapted


def _describe_settings(config: Config, seen: Probe) -> Iterator[str]:
    """Notes on automatic settings, each with its flag."""
    if seen.left or (config.agents_leave and not seen.is_world):
        flag = "" if seen.is_world else " (--agents-leave)"
        yield f"note: agents may leave before the end; losses ignore agents that have left{flag}"
    elif not seen.is_world and len(seen.agents) > 1:
        yield "note: an agent that leaves before the others is an error; if agents can leave, add --agents-leave"
    if seen.limit_from == "":
        yield f"note: episodes are truncated after {seen.limit:,} env steps (--max-episode-steps)"
    if seen.legal_share is not None:
        yield "note: illegal actions are masked"
    if seen.waits:
        yield "note: waiting agents do not act; returns are discounted by the env steps between two actions"
    if seen.is_zero_sum:
        yield "note: rewards are zero-sum, so only ippo, mappo, commnet and tbone can learn"
