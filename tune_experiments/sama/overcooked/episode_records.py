"""Videos and records of episodes with a planner, with the transcript of its rounds (SAMA, section 3.4)."""

import contextlib
from collections.abc import Sequence

import numpy as np

from rl_envs.core.spec import Array
from rl_models.planners.rounds import PlanningLoop
from tune_experiments.play.captions import Caption, agent_captions, with_captions
from tune_experiments.play.episode import Episode, EpisodeRecorder
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import record_episode
from tune_experiments.play.spectator import Note, Spectator
from tune_experiments.sama.overcooked.config import BLIND, split_method
from tune_experiments.sama.overcooked.domain import command_texts
from tune_experiments.sama.overcooked.evaluation import planned_episodes
from tune_experiments.sama.overcooked.play import KitchenPlay
from tune_experiments.sama.overcooked.trials import UNPLANNED
from tune_experiments.sama.overcooked.world import CommandedKitchen
from tune_experiments.sama.planning import make_planning_loop, warn_about_fallbacks
from tune_experiments.sama.play import PlannedPlay

_VIDEO_STEPS = 160


class PlannerSpectator(Spectator):
    """Shows new entries of the transcript at each step."""

    def __init__(self, loaded: LoadedPolicy, loop: PlanningLoop) -> None:
        super().__init__(loaded)
        self._transcript, self._read = loop.planner.caller.transcript, 0

    def notes(self, world: CommandedKitchen, index: int) -> tuple[Note, ...]:
        """New entries of the transcript: goals, sub-goals, results, questions, replies and reflections."""
        entries, self._read = self._transcript.entries_since(self._read)
        return tuple(Note(title, body) for title, body in entries)

    def last_notes(self, world: CommandedKitchen, index: int) -> tuple[Note, ...]:
        """New entries of the transcript after the last step."""
        return self.notes(world, index)


def record(loaded: LoadedPolicy, seed: int, max_steps: int) -> Episode:
    """An episode of a team with its planner, with the steps of undone rounds."""
    config, (row, layout) = loaded.config, split_method(loaded.method)
    loop = make_planning_loop(config, layout, seed, loaded.trial_folder)
    limit = min(config.max_episode_steps, max_steps)
    world = CommandedKitchen(1, layout=layout, sees_commands=row != BLIND, max_episode_steps=limit)
    with contextlib.closing(world), loaded.showing_attention():
        cook = _Cook(loaded, PlannerSpectator(loaded, loop), f"seed {seed}", max_steps)
        found = PlannedPlay(KitchenPlay(world), cook, loop, config.round_steps).run(seed)
        warn_about_fallbacks(loop.question_counts, config)
        is_cut = cook.is_cut or limit < config.max_episode_steps
        return cook.end({} if is_cut else {name: float(np.mean(found[name])) for name in found if name != "reward"})


class _Cook:
    """Executor that records the chefs."""

    def __init__(self, loaded: LoadedPolicy, spectator: Spectator, title: str, max_steps: int) -> None:
        self._loaded, self._spectator, self._title, self._most = loaded, spectator, title, max_steps
        self._recorder: EpisodeRecorder | None = None
        self._paid: Sequence[float] = ()
        self.is_cut = False

    def __call__(self, world: CommandedKitchen) -> Array:
        loaded, obs = self._loaded, world.observe()
        if self._recorder is None:
            loaded.reset(0, world.texts)
            self._recorder = EpisodeRecorder(loaded, world, 0, self._title, self._spectator)
        else:
            self._pay(world)
        uniforms = world.chance.policy_uniforms(1 + world.num_agents)
        actions: Array = loaded.act(obs, uniforms=uniforms)
        if len(self._recorder.episode.steps) < self._most:
            self._recorder.record_actions(obs, actions)
        else:
            self.is_cut = True
        self._paid = world.state["episode_return"][0].tolist()
        return actions

    def end(self, metrics: dict[str, float]) -> Episode:
        """The record of the whole episode."""
        assert self._recorder is not None
        self._recorder.record_rewards([0.0] * len(self._paid))
        return self._recorder.finish(metrics)

    def _pay(self, world: CommandedKitchen) -> None:
        """Record the reward of the last step; 0 for a step whose round was undone."""
        assert self._recorder is not None
        now = world.state["episode_return"][0].tolist()
        self._recorder.record_rewards([max(0.0, after - before) for after, before in zip(now, self._paid, strict=True)])


def video(policy: LoadedPolicy, seed: int) -> list[np.ndarray]:
    """Frames of the beginning of a test episode with sub-goals and undone rounds, [H, W, 3] uint8 each."""
    row, layout = split_method(policy.method)
    if row in UNPLANNED:
        return record_episode(policy, seed)[: _VIDEO_STEPS + 1]
    frames: list[np.ndarray] = []
    captions: list[list[Caption]] = []
    texts = command_texts(layout)

    def watch(world: CommandedKitchen, loop: PlanningLoop) -> None:
        if len(frames) <= _VIDEO_STEPS:
            frames.append(world.render(0))
            captions.append(agent_captions(world, [texts[command] for command in world.state["commands"][0]]))

    planned_episodes(policy.config, policy.method, policy.policy, 1, policy.trial_folder, watch)
    return with_captions(frames, captions)
