"""Behaviour cloning and distillation as stages of a trial (RED, section 4), and the decisions that they learn.

Medium scripts play the agents' side with their own form of action: one for each type of fighter, and one that builds
towers, so that all of the 17 phrases occur. At each decision a script gives different commands to different units, of
which a collective action holds one: the commonest (RED's rule for labels), or a random one, which becomes the agent's
instruction: `build archer`, `attack`, `keep scouting`. A share of the aims is not given. There is no human data. A
distillation repeats some of these decisions together with as many from games that the team has won without commands, so
that it keeps both abilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rl_envs.core.spec import Array, Arrays
from rl_envs.minirts.actions import CONTINUE
from rl_envs.minirts.factored import (
    C_ATTACK,
    C_BUILDING,
    C_CONTINUE,
    C_GATHER,
    C_MOVE,
    C_UNIT,
    MAX_LISTED,
    UNIT_FACTORS,
)
from rl_envs.minirts.phrases import ATTACK, KEEP_SCOUTING, MINE, MINE_ALL, SEND_SCOUT, collective_action
from rl_envs.minirts.symbols import PEASANT
from rl_envs.minirts.teacher import ScriptTeacher
from rl_envs.minirts.twister import THREAD_BITS
from rl_models.algorithms.optimiser import clip_gradients, load_optimiser, optimiser_tensors
from rl_models.policy import TeamPolicy
from rl_models.runtime.device import get_device
from rl_models.schedule import Progress
from rl_models.training.algorithm import Tensors
from rl_models.training.collector import Collector
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.experiment.supervised_stage import SupervisedStage
from tune_experiments.red.commanded_rts import NARRATED, CommandedRts
from tune_experiments.red.commanders import ASKING
from tune_experiments.red.config import OPPONENTS, RedConfig, make_world

FIRST_SCRIPT_WORLD, FIRST_OWN_WORLD = 20_000, 30_000
"""First worlds of cloned scripts and of own games; training uses other worlds."""
CLONED_SCRIPTS = (*OPPONENTS, "medium_towers")
"""Cloned scripts: the random script has no catapults, and builds towers only with the suffix."""
_FRAGMENT = 64
_TRIES = 6
"""Bound of the decisions played for own games, as a multiple of the won decisions that are needed."""


@dataclass(frozen=True)
class Decisions:
    """Decisions of a team: observations, name -> [D, N, ...], and actions, factor -> [D, N] int64."""

    obs: Arrays
    actions: Arrays

    def __len__(self) -> int:
        return len(self.actions[CONTINUE])

    def rows(self, rows: Array) -> Decisions:
        """Some of them, [K]; a row may occur more than once."""
        return Decisions(_cut(self.obs, rows), _cut(self.actions, rows))

    @staticmethod
    def join(parts: list[Decisions]) -> Decisions:
        """Decisions of all parts, in order."""
        return Decisions(_joined([part.obs for part in parts]), _joined([part.actions for part in parts]))


def decisions_of_scripts(config: RedConfig, seed: int, frames: int) -> Decisions:
    """So many decisions (`frames`) of medium scripts of every type, with their commands."""
    settings = config.cloning
    world = make_world(config, settings.worlds, FIRST_SCRIPT_WORLD, NARRATED, actions="per_unit")
    world.reset(seed)
    teacher, generator = ScriptTeacher(settings.worlds, CLONED_SCRIPTS), np.random.default_rng(seed)
    _begin(teacher, np.arange(settings.worlds), generator)
    found: list[Decisions] = []
    for _ in range(-(-frames // settings.worlds)):
        tables = teacher.commands(world.games)
        actions = _narrate(world, tables, settings.silent_share, generator)
        found.append(Decisions(world.observe(), actions))
        *_, terminated, truncated, _ = world.step(
            per_unit_actions(np.repeat(tables[:, None], world.num_agents, axis=1))
        )
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            _begin(teacher, ended, generator)
    return Decisions.join(found).rows(np.arange(frames))


def own_won_decisions(config: RedConfig, policy: TeamPolicy, seed: int) -> Decisions | None:
    """Decisions of games that a team wins without commands; None if it wins none."""
    settings, played, won = config.cloning, 0, 0
    world = make_world(config, settings.worlds, FIRST_OWN_WORLD, "none")
    collector = Collector(world, policy, _FRAGMENT, needs_values=False)
    collector.reset(seed)
    running: list[list[Decisions]] = [[] for _ in range(settings.worlds)]
    kept: list[Decisions] = []
    while won < settings.distillation_frames and played < _TRIES * settings.distillation_frames:
        fragment = collector.collect()
        played += fragment.env_steps()
        actions = {name[8:]: value for name, value in fragment.steps.items() if name.startswith("actions/")}
        over = fragment.steps["terminated"] | fragment.steps["truncated"]
        for row in range(settings.worlds):
            start = 0
            for end in [*(np.flatnonzero(over[row]) + 1), _FRAGMENT]:
                steps = slice(start, int(end))
                running[row].append(
                    Decisions(
                        {name: value[row, :-1][steps] for name, value in fragment.obs.items()},
                        {name: value[row, steps] for name, value in actions.items()},
                    )
                )
                if end > start and over[row, end - 1]:
                    if fragment.steps["reward"][row, end - 1, 0] > 0:
                        kept += running[row]
                        won += sum(map(len, running[row]))
                    running[row] = []
                start = int(end)
    return Decisions.join(kept) if won else None


def _begin(teacher: ScriptTeacher, worlds: Array, generator: np.random.Generator) -> None:
    seeds = generator.integers(1 << THREAD_BITS, size=len(worlds))
    teacher.begin(worlds, seeds, generator.random((len(worlds), 6)))


def per_unit_actions(tables: Array) -> Arrays:
    """Commands [B, N, 50, 7] as actions of the form `per_unit`, [B, N]; agents control only their own units."""
    rows = {f"{name}_{k:02}": tables[:, :, k, j] for k in range(MAX_LISTED) for j, name in enumerate(UNIT_FACTORS)}
    return {CONTINUE: np.zeros(tables.shape[:2], np.int32)} | rows


def _narrate(world: CommandedRts, tables: Array, silent_share: float, generator: np.random.Generator) -> Arrays:
    """Instruct every agent with its script's aim; returns the aim as a collective action, factor -> [B, N] int64."""
    seen, chosen = world.see_all(), []
    for row, agent in np.ndindex(world.num_worlds, world.num_agents):
        view = {name: value[row, agent] for name, value in seen.items()}
        table, silent, drawn = _legal(tables[row], view), generator.random() < silent_share, generator.random()
        groups = np.unique(table[table[:, 0] != C_CONTINUE], axis=0)
        if len(groups) and not silent:
            aim = groups[int(drawn * len(groups))]
            table[(table != aim).any(-1), 0] = C_CONTINUE
        if len(groups):
            is_peasant = bool((view["own_type"][table[:, 0] != C_CONTINUE] == PEASANT).any())
            phrase = "" if silent else describe_aim(aim, is_peasant)
            if phrase == MINE and _selects_all_peasants(table, view) and generator.random() < 0.5:
                phrase = MINE_ALL  # both apply
            world.tell(row, agent, phrase)
        chosen.append(collective_action(table))
    shape = world.num_worlds, world.num_agents
    return {name: np.array([one[name] for one in chosen], np.int64).reshape(shape) for name in chosen[0]}


def describe_aim(command: Array, is_peasant: bool) -> str:
    """The template for a command [7] int, by `UNIT_FACTORS`, to a peasant or another unit; "" if there is none."""
    kind = int(command[0])
    if kind in (C_UNIT, C_BUILDING):
        return ASKING.get(int(command[3 if kind == C_UNIT else 4]), "")
    scout = SEND_SCOUT if is_peasant else KEEP_SCOUTING
    return {C_GATHER: MINE, C_ATTACK: ATTACK, C_MOVE: scout}.get(kind, "")


def _selects_all_peasants(table: Array, view: Arrays) -> bool:
    peasants = view["owned"] & (view["own_type"] == PEASANT)
    return bool(peasants.any() and (table[peasants, 0] != C_CONTINUE).all())


def _legal(table: Array, view: Arrays) -> Array:
    """A script's commands [50, 7] to an agent's own units, without those that the world would ignore."""
    table = table.copy()
    rows, kind = np.arange(MAX_LISTED), table[:, 0]
    legal = view["owned"] & view["legal_command"][rows, kind]
    legal &= (kind != C_UNIT) | view["legal_unit_type"][rows, table[:, 3]]
    legal &= (kind != C_BUILDING) | view["legal_building_type"][table[:, 4]]
    table[~legal] = 0
    table[~legal, 0] = C_CONTINUE
    return table


def _cut(arrays: Arrays, rows: Array) -> Arrays:
    return {name: value[rows] for name, value in arrays.items()}


def _joined(parts: list[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


_START = "start"
"""Group of a checkpoint: the weights with which the stage began, so that it resumes with the same won games."""


class Cloning(SupervisedStage):
    """Supervised learning of decisions with the `Algorithm` interface."""

    def __init__(self, config: RedConfig, is_distillation: bool, plan: TrialPlan) -> None:
        """Build the team; in a distillation half of the decisions are of own won games."""
        super().__init__(plan)
        self._config, self._is_distillation = config, is_distillation
        self._optimiser = torch.optim.Adam(self._policy.parameters(), lr=config.cloning.learning_rate)
        self._start = self.weights()
        self._decisions: Decisions | None = None
        self._won = 0

    def train(self) -> dict[str, float]:
        """One epoch; the mean of -log P(decision) over the drawn decisions, in nats."""
        decisions = self._gathered()
        number = self._progress.updates
        generator = torch.Generator().manual_seed(self._plan.seed + number)
        losses, known = [], 0
        drawn = drawn_rows(decisions, self._config.cloning.frequency_power, generator)
        for rows in drawn.split(self._config.cloning.batch_size):
            log_prob = compute_log_prob(self._policy, decisions.rows(rows.numpy()))
            loss = -log_prob.mean()
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()
            gradients = [weight.grad for weight in self._policy.parameters() if weight.grad is not None]
            clip_gradients(self._plan.optimiser, gradients)
            self._optimiser.step()
            losses.append(loss.detach() * len(rows))
            known += len(rows)
        self._progress = Progress(env_steps=self._progress.env_steps + known, updates=number + 1)
        return {
            "cloning/loss": float(torch.stack(losses).double().sum()) / known,
            "cloning/decisions": float(known),
            "cloning/own_won_decisions": float(self._won),
        }

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """See `Algorithm.policy`; it stays in training mode: on a GPU its LSTM has no gradients in evaluation mode."""
        return self._policy

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """Weights [...] now and at the stage's start, the optimiser's state, and the progress."""
        optimiser = optimiser_tensors(self._optimiser)
        return {"weights": self.weights(), "optimizer": optimiser, _START: self._start}, self._progress

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Resume a stage from the tensors [...] of `checkpoint`, or begin one with the weights of the stage before."""
        super().restore(tensors, progress)
        self._start = tensors[_START] if progress.env_steps else self.weights()
        if progress.env_steps:
            load_optimiser(self._optimiser, tensors["optimizer"])

    def _gathered(self) -> Decisions:
        """The scripts' decisions; in a distillation also as many of won games, repeated if there are fewer."""
        if self._decisions is None:
            settings = self._config.cloning
            frames = settings.distillation_frames if self._is_distillation else settings.frames
            decisions = decisions_of_scripts(self._config, self._plan.seed, frames)
            if self._is_distillation:
                team = self._plan.new_policy()
                team.load_state_dict(self._start)
                own = own_won_decisions(self._config, team.eval(), self._plan.seed)
                if own is not None:
                    self._won = len(own)
                    drawn = np.random.default_rng(self._plan.seed).integers(len(own), size=len(decisions))
                    decisions = Decisions.join([decisions, own.rows(drawn)])
            self._decisions = decisions
        return self._decisions


def cloning_budget(config: RedConfig, is_distillation: bool) -> int:
    """Env steps of a stage of cloning; a distillation without won games repeats the scripts' instead."""
    settings = config.cloning
    if is_distillation:
        return settings.distillation_frames * 2 * settings.distillation_epochs
    return settings.frames * settings.num_epochs


def drawn_rows(decisions: Decisions, frequency_power: float, generator: torch.Generator) -> Tensor:
    """The rows of one epoch, [D]: with power 1 each once, else sampled with higher shares of rare commands.

    A script builds in one decision of 200, and a team that has not learned to build trains no army. With power 0.5 this
    is square-root sampling (Mahajan et al., 2018): a kind of frequency f is drawn in proportion to f ** 0.5, with
    replacement. A joint decision has the kind of its rarest command.
    """
    if frequency_power == 1:
        return torch.randperm(len(decisions), generator=generator)
    kinds = np.where(decisions.actions[CONTINUE], -1, decisions.actions["command"])
    _, kind, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    weights = (counts[kind] ** (frequency_power - 1.0)).reshape(kinds.shape).max(1)
    return torch.multinomial(torch.from_numpy(weights), len(decisions), replacement=True, generator=generator)


def compute_log_prob(policy: TeamPolicy, decisions: Decisions) -> Tensor:
    """Joint log-probabilities of K decisions, [K] float32."""
    device = get_device(policy)
    obs = {name: torch.from_numpy(value).to(device)[:, None] for name, value in decisions.obs.items()}
    actions = {name: torch.from_numpy(value).to(device)[:, None] for name, value in decisions.actions.items()}
    is_first = torch.ones(len(decisions), 1, dtype=torch.bool, device=device)
    log_prob: Tensor = policy(obs, {}, is_first).policy.log_prob(actions)
    return log_prob.squeeze(1)
