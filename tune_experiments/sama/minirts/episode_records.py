"""Records of a run: a video of a game with the planner, and games for the page.

The commands of all agents are above the map, with the round and its goal. Undone rounds are shown, too.
"""

from __future__ import annotations

import numpy as np

from rl_models.planners.rounds import PlanningLoop
from tune_experiments.core.drawing import attempt_part
from tune_experiments.play.episode import AgentStep, Episode, Step, state_digest
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.spectator import Note
from tune_experiments.sama.minirts.trials import planned
from tune_experiments.sama.minirts.world import PlannedRts

MAX_FRAMES = 400


def video(loaded: LoadedPolicy, seed: int, most: int = MAX_FRAMES) -> list[np.ndarray]:
    """Frames of a test game, [H, W, 3] uint8 a decision."""
    frames: list[np.ndarray] = []

    def watch(world: PlannedRts, loop: PlanningLoop) -> None:
        if len(frames) < most:
            frames.append(world.render(0))

    planned(loaded.config, loaded.method, loaded.policy, seed, 1, watch, loaded.trial_folder)
    return frames


def record(loaded: LoadedPolicy, seed: int, most: int) -> Episode:
    """A game with the planner, with its undone decisions."""
    recorder = _Recorder(f"seed {seed}", most)
    found = planned(loaded.config, loaded.method, loaded.policy, seed, 1, recorder, loaded.trial_folder)
    episode = recorder.episode
    assert episode is not None
    if len(episode.steps) > 1:
        last = episode.steps.pop()  # the observation after the last decision is no step
        episode.last_picture, episode.last_notes = last.picture, last.notes
    if not recorder.is_cut:
        episode.metrics = {name: float(np.mean(values)) for name, values in found.items() if name[0] != "_"}
    return episode


class _Recorder:
    """Observer (`play.Watch`) that records the agents' commands and the planner's transcript."""

    def __init__(self, title: str, most: int) -> None:
        self._title, self._most, self._read = title, most, 0
        self.episode: Episode | None = None
        self.is_cut = False

    def __call__(self, world: PlannedRts, loop: PlanningLoop) -> None:
        if self.episode is None:
            self.episode = Episode(self._title, state_digest(world, 0), tuple(world.agents), ())
        if len(self.episode.steps) > self._most:
            self.is_cut = True
            return
        entries, self._read = loop.planner.caller.transcript.entries_since(self._read)
        notes = tuple(Note(title, body) for title, body in entries)
        agents = tuple(AgentStep(phrase or "nothing") for phrase in world.latest_commands(0))
        picture = attempt_part(self.episode.missing, "pictures", lambda: world.render(0), None)
        step = Step(picture, agents, notes=notes, rewards=(0.0,) * world.num_agents)
        self.episode.steps.append(step)
