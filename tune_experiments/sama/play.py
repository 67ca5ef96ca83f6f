"""The play loop of all games with a planner: acting, judging rounds, replanning (SAMA, section 3.4).

A repeated round starts from a snapshot with the same clock and random stream, so equal actions repeat it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
import torch

from rl_envs import World
from rl_envs.core.spec import Array, Arrays
from rl_models.distributions.joint_policy import choose
from rl_models.planners.rounds import NextRound, PlanningLoop, RoundEnd
from rl_models.policy import TeamPolicy, fixed_weights
from rl_models.runtime.device import get_device, to_device
from rl_models.training.collector import to_numpy
from tune_experiments.experiment.plan import Episodes

Env = TypeVar("Env", bound=World)
"""Type of the environment."""
Executor: TypeAlias = Callable[[Any], Any]
"""Actions of all agents [B, N] (by factor, if actions are factored), from the environments that hold their commands."""
Watch: TypeAlias = Callable[[Any, PlanningLoop], None]
"""Called with environments and planning loop before the first env step and after each."""
_TRIALS_APART = 1_000
"""Distance of the seeds of two trials' planners."""


class PlayAdapter(ABC, Generic[Env]):
    """One game for the play loop; B environments without auto-reset, N agents.

    `metrics` are those of an episode, in the order of the results, some of `PlannedPlay` among them; `undone_metric`
    names the number of env steps of undone rounds.
    """

    metrics: ClassVar[tuple[str, ...]]
    undone_metric: ClassVar[str]

    def __init__(self, world: Env) -> None:
        self.world = world
        world.auto_resets = False

    def reset(self, seed: int) -> None:
        """Begin the episodes."""
        self.world.reset(seed)
        self._starts = self.world.snapshot()

    @abstractmethod
    def states(self, worlds: Sequence[int]) -> list[str]:
        """States of these environments as text."""

    @abstractmethod
    def begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        """Give agents the commands of their next rounds, by environment."""

    def reached(self, is_playing: Array) -> Array:
        """Agents that have reached their sub-goals within their rounds, [B, N] bool.

        `is_playing` [B] bool are the environments whose episodes are not over.
        """
        return np.asarray(self.world.state["reached"])

    def has_changed(self, worlds: Sequence[int]) -> Array:
        """Whether the rounds of K environments have changed anything that matters for a plan, [K] bool."""
        return np.ones(len(worlds), bool)

    def is_lost(self) -> Array:
        """Environments in which the episode is over unless the round is undone, [B] bool."""
        return np.zeros(self.world.num_worlds, bool)

    @abstractmethod
    def is_over(self, done: Array, is_playing: Array, played: Array) -> Array:
        """Environments whose episodes end with the last env step, [B] bool.

        Args:
            done: [B] bool, terminated or truncated.
            is_playing: [B] bool, environments whose episodes had not ended before.
            played: [B] int, env steps of the episodes so far, undone ones included.
        """

    @abstractmethod
    def outcome(self, played: Array) -> Arrays:
        """Metrics of the episodes so far, name -> [B], after `played` [B] env steps, undone ones included."""

    def save(self, worlds: Sequence[int]) -> None:
        """Save the states in which the rounds of these environments begin."""
        now = self.world.snapshot()
        for name, values in self._starts.items():
            values[worlds] = now[name][worlds]

    def restore(self, worlds: Sequence[int]) -> None:
        """Restore these environments to the beginning of their rounds; the others continue."""
        now = self.world.snapshot()
        for name, values in now.items():
            values[worlds] = self._starts[name][worlds]
        self.world.restore(now)


class PlannedPlay:
    """One episode in each of B environments, in rounds of `min_round_steps` to `round_steps` env steps.

    It counts `rounds` that were judged, `reached_rounds` in which all sub-goals were reached, `idle_rounds` in which
    nothing changed (never reached), and undone env steps, for adapters that name these metrics.
    """

    def __init__(
        self,
        game: PlayAdapter[Any],
        executor: Executor,
        loop: PlanningLoop,
        round_steps: int,
        min_round_steps: int = 0,
    ) -> None:
        self._game, self._executor, self._loop = game, executor, loop
        self._min_steps, self._max_steps = min_round_steps, round_steps
        self._num_worlds = game.world.num_worlds
        self._in_round, self._played = np.zeros((2, self._num_worlds), int)
        self._is_playing = np.ones(self._num_worlds, bool)
        counts = ("rounds", "reached_rounds", "idle_rounds", game.undone_metric)
        self._found = {name: np.zeros(self._num_worlds) for name in (*game.metrics, *counts)}

    @torch.inference_mode()
    @fixed_weights()
    def run(self, seed: int, watch: Watch | None = None) -> Episodes:
        """Play each environment's episode to its end: the game's metrics, [B] each."""
        game, everywhere = self._game, range(self._num_worlds)
        game.reset(seed)
        plans = self._loop.begin(dict(zip(everywhere, game.states(everywhere), strict=True)))
        self._begin_rounds({world: NextRound(plan, recovers=False) for world, plan in plans.items()})
        _ = watch and watch(game.world, self._loop)
        while self._is_playing.any():
            _, _, terminated, truncated, _ = game.world.step(self._executor(game.world))
            self._in_round += 1
            self._played += self._is_playing
            self._end_episodes(game.is_over(terminated | truncated, self._is_playing, self._played) & self._is_playing)
            self._end_rounds()
            _ = watch and watch(game.world, self._loop)
        return {name: self._found[name] for name in game.metrics}

    def _end_episodes(self, ended: Array) -> None:
        if ended.any():
            for name, values in self._game.outcome(self._played).items():
                np.copyto(self._found[name], values, where=ended)
            self._is_playing &= ~ended

    def _end_rounds(self) -> None:
        """Judge rounds that are over; a round cut off by the end of the episode is not judged."""
        game, is_lost = self._game, self._game.is_lost()
        reached = game.reached(self._is_playing) & ~is_lost[:, None]
        is_over = is_lost | (reached.all(1) & (self._in_round >= self._min_steps)) | (self._in_round >= self._max_steps)
        over = np.flatnonzero(self._is_playing & is_over).tolist()
        if not over:
            return
        has_changed = game.has_changed(over)
        reached[over] &= has_changed[:, None]
        states = zip(over, game.states(over), strict=True)
        ends = {world: RoundEnd(state, tuple(map(bool, reached[world]))) for world, state in states}
        self._found["rounds"][over] += 1
        self._found["reached_rounds"][over] += reached[over].all(1)
        self._found["idle_rounds"][over] += ~has_changed
        following = self._loop.end_rounds(ends)
        again = [world for world in over if following[world].recovers]
        if again:
            game.restore(again)
            self._found[game.undone_metric][again] += self._in_round[again]
        lost = [world for world in over if is_lost[world] and not following[world].recovers]
        self._end_episodes(np.isin(np.arange(self._num_worlds), lost))
        self._begin_rounds({world: each for world, each in following.items() if world not in lost})

    def _begin_rounds(self, rounds: Mapping[int, NextRound]) -> None:
        worlds = list(rounds)
        if worlds:
            self._game.save(worlds)
            self._game.begin_rounds(rounds)
            self._in_round[worlds] = 0


def learned_executor(policy: TeamPolicy, is_greedy: bool = False) -> Executor:
    """Actions of a feedforward policy, sampled with the environments' own uniforms, so that an undone round repeats."""
    device = get_device(policy)

    def act(world: World) -> Any:
        worlds = world.num_worlds
        tensors = to_device({key: value[:, None] for key, value in world.observe().items()}, device)
        is_first = torch.zeros(worlds, 1, dtype=torch.bool, device=device)
        output = policy(tensors, policy.initial_state(worlds), is_first)
        uniforms = torch.from_numpy(world.chance.policy_uniforms(output.policy.num_uniforms))[:, None].to(device)
        return to_numpy(choose(output.policy, uniforms, is_greedy)[0])

    return act


class TeamWithSeed(TeamPolicy):
    """A team with the `seed` of its trial, which its tests use for games, planner errors and random commands."""

    def __init__(self, team: TeamPolicy, seed: int) -> None:
        super().__init__(team.network, team.policy_head, team.value_head)
        self.seed = seed


def planner_seed(team: TeamPolicy | None, base: int) -> int:
    """Seed of the planner in a team's test, different for each trial; `base` for a team without a seed."""
    return base + _TRIALS_APART * (1 + team.seed) if isinstance(team, TeamWithSeed) else base
