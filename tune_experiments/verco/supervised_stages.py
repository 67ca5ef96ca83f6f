"""Supervised stages before PPO: messages for a language team, decisions for a team with vector observations.

Each replaces RLlib's algorithm in its stage. The small model's corpus is from rollouts of scripted cooks with errors in
generated kitchens, never in a tested one; the warm start from rollouts in the run's own kitchen, by such cooks or by
the team before it learns to act (Verco, section 4.2). Prompts that test the message adapter are left out of both. All
worlds differ from those of training.
"""

import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rl_envs.salad.corpus import Corpus, Decisions, PlayOptions, Teacher, collect_corpus, collect_decisions
from rl_envs.salad.procedural import procedural_kitchen
from rl_envs.salad.teacher import messages
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad
from rl_models.llm.distillation import MessageDistillation, is_held_out
from rl_models.llm.network import LanguageNetwork
from rl_models.llm.small_model import Pair
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import get_device
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from rl_models.training.collector import Collector
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.experiment.supervised_stage import SupervisedStage
from tune_experiments.verco.config import FIRST_WARM_START_WORLD, CorpusSettings, VercoConfig, make_world, salad_world
from tune_experiments.verco.prompted import EndpointTeacher

_CORPUS_SEED = 0
"""Seed of the corpus, the same for all runs, so that they share one small model."""


@functools.lru_cache(4)
def _read(settings: CorpusSettings, held_out: float) -> tuple[Corpus, ...]:
    """Corpus of each generated kitchen, without the share of prompts that test the message adapter."""
    corpora = []
    for world in _read_kitchens(settings):
        found = collect_corpus(world, settings.env_steps, **_options(settings))
        written = tuple(pair for pair in found.messages if not is_held_out(pair[0], held_out))
        corpora.append(Corpus(written, found.actions))
    return tuple(corpora)


def corpus(config: VercoConfig) -> tuple[Pair, ...]:
    """All pairs of the corpus of a run's small model."""
    return tuple(pair for one in _read(config.corpus, config.distillation.held_out) for pair in one.pairs())


def read_corpus(config: VercoConfig) -> Corpus:
    """The corpus, split into messages and actions."""
    some = _read(config.corpus, config.distillation.held_out)
    return Corpus(
        tuple(pair for one in some for pair in one.messages), tuple(pair for one in some for pair in one.actions)
    )


def expert_decisions(settings: CorpusSettings) -> Decisions:
    """The corpus' decisions without messages, for teams with vector observations."""
    some = [collect_decisions(world, settings.env_steps, **_options(settings)) for world in _read_kitchens(settings)]
    return Decisions(*(np.concatenate([getattr(one, name) for one in some]) for name in ("vectors", "legal", "chosen")))


def _options(settings: CorpusSettings) -> PlayOptions:
    return {
        "seed": _CORPUS_SEED,
        "error": settings.error,
        "expert_share": settings.expert_share,
        "follow_share": settings.follow_share,
    }


def _read_kitchens(settings: CorpusSettings) -> Iterator[Salad]:
    for number in range(settings.kitchens):
        first_world = FIRST_WARM_START_WORLD + number * settings.worlds
        yield salad_world(procedural_kitchen(number), settings.worlds, first_world)


def message_pairs(config: VercoConfig, seed: int, number: int, teacher: Teacher | None = None) -> list[Pair]:
    """Prompts and messages of the teacher, by default the scripted one, from a round of rollouts of scripted cooks.

    Rounds have a `number`, from 0; `seed` is the run's.
    """
    settings = config.warm_start
    world = _make_round_world(config, number)
    heard = collect_corpus(world, settings.env_steps, seed=seed, error=settings.error, teacher=teacher)
    return list(heard.messages)


def message_pairs_of_policy(
    config: VercoConfig, policy: TeamPolicy, seed: int, number: int, teacher: Teacher | None = None
) -> list[Pair]:
    """The same from rollouts of a team, with the messages of its present adapter."""
    world = _make_round_world(config, number)
    narrator, collector = Narrator(world), Collector(world, policy, fragment_length=1, needs_values=False)
    collector.reset(seed)
    written: dict[Pair, None] = {}
    for _ in range(config.warm_start.env_steps):
        sent, codes = messages(world), world.observe()["situation"]
        taught = sent if teacher is None else teacher(codes, sent)
        for row, agent in np.ndindex(codes.shape[:2]):
            written[narrator.message_prompt(codes[row, agent]), taught[row][agent]] = None
        collector.collect()
    return list(written)


def _make_round_world(config: VercoConfig, number: int) -> Salad:
    worlds = config.warm_start.worlds
    return make_world(config, worlds, FIRST_WARM_START_WORLD + (number + 1) * worlds)


class MessageWarmStart(SupervisedStage):
    """Rounds of supervised training of a message adapter (Verco, algorithm 1).

    A round is a function of seed, number and a chat model's answers, so a resumed stage repeats the earlier rounds.
    """

    def __init__(self, config: VercoConfig, trial_folder: Path | None, plan: TrialPlan) -> None:
        """Build the team; the record of a chat model is in the trial's folder."""
        super().__init__(plan)
        self._config = config
        network = self._policy.network
        assert isinstance(network, LanguageNetwork)
        self._distillation = MessageDistillation(network.language, network.writer, config.distillation)
        self._teacher = EndpointTeacher(config, trial_folder) if config.teacher == "endpoint" else None

    def train(self) -> dict[str, float]:
        """Train for one round; returns metrics."""
        number = len(self._distillation.reports)
        teacher = None if self._teacher is None else self._teacher.messages
        if self._config.warm_start_by == "policy":
            pairs = message_pairs_of_policy(self._config, self.policy(), self._plan.seed, number, teacher)
        else:
            pairs = message_pairs(self._config, self._plan.seed, number, teacher)
        report = self._distillation.learn(pairs)
        metrics = {f"distillation/{name}": float(value) for name, value in vars(report).items()}
        return metrics if self._teacher is None else metrics | self._teacher.metrics()

    def progress(self) -> Progress:
        """Progress: joint env steps of the rollouts."""
        rounds, settings = len(self._distillation.reports), self._config.warm_start
        return Progress(env_steps=rounds * settings.worlds * settings.env_steps, updates=rounds)

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Repeat the rounds until `progress`, for their pairs and the optimiser's state, and load the weights.

        A question to a chat model that failed before may be answered now, so repeated rounds can give other weights.
        """
        while self.progress().env_steps < progress.env_steps:
            self.train()
        self._policy.load_state_dict(tensors["weights"])


class Imitation(SupervisedStage):
    """Behaviour cloning of scripted decisions by a team with vector observations, in one call of `train`.

    The decisions are those of the small model's corpus, in the same generated kitchens, with the same share of random
    ones. Macro actions that the run's kitchen lacks are left out. Its env steps are those of the corpus, which count in
    the method's budget.
    """

    def __init__(self, config: VercoConfig, plan: TrialPlan) -> None:
        """Build the team."""
        super().__init__(plan)
        self._config = config

    def train(self) -> dict[str, float]:
        """Train all epochs; the mean cross-entropy of the last one."""
        settings = self._config.imitation
        vectors, legal, chosen = (one.to(get_device(self._policy)) for one in decisions_in_kitchen(self._config))
        generator = torch.Generator().manual_seed(self._plan.seed)
        optimiser = torch.optim.Adam(self._policy.parameters(), lr=settings.learning_rate)
        losses: list[Tensor] = []
        for _ in range(settings.num_epochs):
            losses = []
            shuffled = torch.randperm(len(chosen), generator=generator).to(chosen.device)
            for rows in shuffled.split(settings.batch_size):
                loss = cross_entropy(self._policy, vectors[rows], legal[rows], chosen[rows])
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                losses.append(loss.detach())
        self._progress = Progress(env_steps=self._config.corpus_env_steps, updates=1)
        return {"imitation/decisions": float(len(chosen)), "imitation/loss": float(torch.stack(losses).double().mean())}


def cross_entropy(policy: TeamPolicy, vectors: Tensor, legal: Tensor, chosen: Tensor) -> Tensor:
    """Mean of -log P(chosen) over K decisions, a scalar [], each a team of one.

    From vectors [K, 30], legal actions [K, A] bool and the chosen ones [K] int64.
    """
    obs = {"vector": vectors[:, None, None], "legal": legal[:, None, None]}
    features = policy.network(obs, {}, torch.ones(len(chosen), 1, dtype=torch.bool, device=chosen.device))
    marginals = policy.policy_head(features).marginals()[:, 0, 0]
    return -marginals.gather(-1, chosen[:, None]).clamp(min=1e-9).log().mean()


def decisions_in_kitchen(config: VercoConfig) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors [K, 30], legal actions [K, A] and chosen actions [K] in the numbers of the run's kitchen."""
    found, macros = expert_decisions(config.corpus), make_world(config).macros
    number = np.full(found.legal.shape[1], -1)
    number[macros] = np.arange(len(macros))
    is_known = number[found.chosen] >= 0
    vectors, legal = found.vectors[is_known], found.legal[is_known][:, macros]
    return torch.from_numpy(vectors), torch.from_numpy(legal), torch.from_numpy(number[found.chosen[is_known]])
