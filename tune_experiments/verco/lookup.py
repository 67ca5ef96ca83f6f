"""The method `lookup`: no network, each cook takes the answer of the nearest prompt in the small model's corpus.

It writes the message of the nearest message prompt. Then it takes the most frequent legal action of the nearest action
prompt. It shows the value of memorising the corpus; the distance of the tested prompts from the corpus is also
measured.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rl_envs.core.spec import Array, Arrays
from rl_envs.salad.cook import ScriptedCooks
from rl_envs.salad.corpus import Corpus, erring_actions
from rl_envs.salad.teacher import messages
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad
from rl_models.policy import TeamPolicy
from rl_models.text.edit_distance import TextIndex
from tune_experiments.verco.answering import AnsweringNetwork, answering_team
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.supervised_stages import read_corpus

_WAIT = "wait"
_PROBES, _PROBE_WORLDS, _PROBE_SEED = 400, 8, 900
"""Number of tested prompts, number of worlds that they are collected in, and the seed."""
_HEARS = {"scripted cooks": 0.0, "half random": 0.5, "random": 1.0}
"""Collecting policy -> share of random decisions."""


class Answers:
    """Prompts of a corpus and their answers, looked up by the nearest prompt."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        counted: dict[str, Counter[str]] = {}
        for prompt, answer in pairs:
            counted.setdefault(prompt, Counter())[answer] += 1
        self.index = TextIndex(list(counted))
        self._answers = list(counted.values())
        self._prompts: dict[str, list[int]] = {}
        for place, answers in enumerate(self._answers):
            for answer in answers:
                self._prompts.setdefault(answer, []).append(place)

    @functools.cache  # noqa: B019 (lives as long as its network)
    def answer(self, prompt: str) -> str:
        """The most frequent answer of the nearest prompt."""
        return self._answers[self.index.nearest(prompt)[0]].most_common(1)[0][0]

    @functools.cache  # noqa: B019
    def choose(self, prompt: str, choices: tuple[str, ...]) -> str:
        """The same among some answers; waiting if no prompt has any of them."""
        among = sorted({place for choice in choices for place in self._prompts.get(choice, ())})
        if not among:
            return _WAIT
        found = self._answers[self.index.nearest(prompt, np.array(among))[0]]
        return max((choice for choice in choices if choice in found), key=lambda choice: found[choice])


class LookupNetwork(AnsweringNetwork):
    """The action of each cook is the answer of the nearest prompt."""

    def __init__(self, narrator: Narrator, num_agents: int, read: Corpus) -> None:
        super().__init__(num_agents)
        self._narrator = narrator
        self.messages, self.actions = Answers(read.messages), Answers(read.actions)

    def answers(
        self, situations: Sequence[Array], agents: Sequence[int], choices: Sequence[Sequence[int]]
    ) -> list[int]:
        """See `AnsweringNetwork.answers`, situations [N, F] each; cooks receive each other's looked-up message."""
        return [
            self._chosen(team[agent], some, [self.messages.answer(self._narrator.message_prompt(team[1 - agent]))])
            for team, agent, some in zip(situations, agents, choices, strict=True)
        ]

    def act(self, obs: Arrays, sent: list[list[str]] | None) -> Array:
        """Actions [B, N] int64 if agents receive `sent` `[B][N]` instead of looked-up messages; no messages if None."""
        actions = np.zeros(obs["decides"].shape, np.int64)
        for world, agent in np.argwhere(obs["decides"]).tolist():
            heard = [] if sent is None else [sent[world][1 - agent]]
            choices = np.flatnonzero(obs["legal"][world, agent]).tolist()
            actions[world, agent] = self._chosen(obs["situation"][world, agent], choices, heard)
        return actions

    def _chosen(self, code: Array, choices: Sequence[int], heard: list[str]) -> int:
        phrases = self._narrator.actions(code)
        named = tuple(phrases[number] for number in choices)
        return choices[named.index(self.actions.choose(self._narrator.action_prompt(code, heard), named))]


def lookup_team(config: VercoConfig, seed: int, trial_folder: Path | None = None) -> TeamPolicy:
    """Two cooks with looked-up messages and actions."""
    world = make_world(config)
    network = LookupNetwork(Narrator(world), world.num_agents, read_corpus(config))
    return answering_team(network, len(world.macros))


def met_prompts(world: Salad, env_steps: int, error: float) -> set[str]:
    """Prompts of messages, and of actions without and with the teacher's messages, in rollouts of scripted cooks.

    A share `error` of the decisions is random; the kitchens are reset.
    """
    narrator, cooks, chance = Narrator(world), ScriptedCooks(world), np.random.default_rng(_PROBE_SEED)
    seen, met = world.reset(_PROBE_SEED), set[str]()
    for _ in range(env_steps):
        sent = messages(world)
        for row, agent in np.ndindex(seen["decides"].shape):
            code = seen["situation"][row, agent]
            met.add(narrator.message_prompt(code))
            if seen["decides"][row, agent]:
                met |= {narrator.action_prompt(code, heard) for heard in ([], [sent[row][1 - agent]])}
        seen = world.step(erring_actions(cooks, seen["legal"], sent, error, chance)[0])[0]
    return met


def distances_to_corpus(config: VercoConfig) -> dict[str, Array]:
    """Distance of tested prompts from the small model's corpus.

    Returns:
        `median_prompt_distance` [1]: token edit distance to the nearest prompt of the corpus over the longer one's
        tokens, median over a sample of 400; `prompts_in_corpus` [1]: share of all prompts that are in it word for
        word; `prompts_met` [1]: their number.
    """
    met: set[str] = set()
    for error in _HEARS.values():
        met |= met_prompts(make_world(config, _PROBE_WORLDS), 2 * make_world(config).max_episode_steps, error)
    read = list(dict.fromkeys(prompt for prompt, _ in read_corpus(config).pairs()))
    some = np.random.default_rng(_PROBE_SEED).permutation(sorted(met))[:_PROBES].tolist()
    found = {
        "median_prompt_distance": float(np.median(_shares(TextIndex(read), some))),
        "prompts_in_corpus": len(met & set(read)) / len(met),
        "prompts_met": len(met),
    }
    return {name: np.array([number]) for name, number in found.items()}


def _shares(index: TextIndex, prompts: Sequence[str]) -> list[float]:
    found = ((prompt, *index.nearest(prompt)) for prompt in prompts)
    return [index.relative_distance(prompt, distance, place) for prompt, place, distance in found]
