"""FurnLift: two agents find a television and pick it up at the same moment (A Cordial Sync, table 2).

    python tune_experiments/furnlift.py                       # laptop: 42 x 42 frames, small rooms
    python tune_experiments/furnlift.py --preset smoke        # under 2 minutes, learns nothing
    python tune_experiments/furnlift.py --preset paper        # the paper's sizes: a GPU cluster

Two agents see a living room through their own cameras and do not see each other. A pickup succeeds only if both choose
it in the same step, both see the television, and they stand at least 2 m apart. Training has two stages. In the warm
start a shortest-path expert acts in a falling share of the steps, and the team learns to predict it in every step. Then
reinforcement learning follows; it keeps the imitation loss, as in the authors' code (`--no-imitation-after-warm-start`
removes it). Expect success to fall when the expert stops acting, and to recover. Methods: marginal policies without and
with messages, SYNC with two components, and a central policy. Settings are in `cordial_sync/lifting_config.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs import World
from rl_envs.furnlift.world import FurnLift
from tune_experiments.cordial_sync.config import METRICS as PAPER_METRICS
from tune_experiments.cordial_sync.config import compare_with_authors
from tune_experiments.cordial_sync.lifting_config import LAPTOP, PAPER, SMOKE, LiftConfig
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.cordial_sync import camera_video, lifting
    from tune_experiments.play.loading import LoadedPolicy
else:
    camera_video = LazyModule("tune_experiments.cordial_sync.camera_video")
    lifting = LazyModule("tune_experiments.cordial_sync.lifting")

METRICS = (*PAPER_METRICS, "failed_pickups", "missed_pickups")


class Furnlift(Experiment[LiftConfig]):
    """Four methods, a warm start and reinforcement learning."""

    metric_ranges = FurnLift.metric_ranges
    name = "furnlift"
    caption = "FurnLift: two agents find a television and pick it up at the same moment"
    presets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}
    columns = {
        "return": "episode/return",
        "success": "episode/success",
        "imitation": "loss/imitation",
        "failed pickups": "episode/failed_pickups",
        "missed pickups": "episode/missed_pickups",
    }

    def plan(self, config: LiftConfig, method: str, seed: int, trial_folder: Path | None = None) -> Curriculum:
        """A warm start, then reinforcement learning."""
        return lifting.plan(config, method, seed)  # type: ignore[arg-type]

    def evaluate(self, config: LiftConfig, method: str, policy: TeamPolicy) -> dict[str, Episodes]:
        """The same test episodes for every method; also by class of difficulty."""
        return lifting.evaluate(config, policy)

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """The paper's eight metrics."""
        return [make_table(results, self.caption, METRICS, names_world=True)]

    def main_comparisons(self, config: LiftConfig) -> Sequence[MainComparison]:
        """Comparison of teams with and without messages, over all test episodes."""
        return (MainComparison("marginal", "no_communication", "success", lifting.world_name(config)),)

    def deviation_notes(self, config: LiftConfig) -> list[str]:
        """Deviations of a configuration from the paper, smaller sizes among them."""
        return [
            "rooms, frames and visibility of the television are our renderer's, not AI2-THOR's",
            f"{config.learner.algorithm.upper()} replaces the paper's A3C",
            f"test: {config.test_episodes:,} starts that we draw in {config.test_rooms}, not the authors' 1,000",
            *(
                ["all methods learn with an entropy bonus, as in the authors' code; the text has CORDIAL"]
                * (not config.cordial_coef)
            ),
            *(["the expert turns between north and west in one step, the authors' in three"] * config.heading_ring),
        ]

    def optimiser_steps(self, config: LiftConfig) -> str:
        """Optimiser steps of reinforcement learning, compared with those of the authors' asynchronous workers."""
        return compare_with_authors(config.learner, config.workers, config.budget_env_steps, PAPER.budget_env_steps)

    def draw_video(self, folder: Path, method: str, team: LoadedPolicy) -> Iterable[Drawn]:
        """An episode with its agents' frames and messages."""
        return camera_video.write_camera_videos(_camera_episode(team), folder, method)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """The map, and each agent's frame, [H, W, 3] uint8 a step."""
        return _camera_episode(loaded, seed).frames

    def test_world(self, config: LiftConfig, num_worlds: int, method: str = "") -> World:
        """Worlds in the test's rooms."""
        return lifting.make_world(config, config.test_rooms, num_worlds)

    def valid_world(self, config: LiftConfig, num_worlds: int) -> World:
        """Worlds in the validation rooms."""
        lifting.check_rooms_apart(config)
        return lifting.make_world(config, config.valid_rooms, num_worlds)


def _camera_episode(policy: LoadedPolicy, seed: int = SEED) -> camera_video.CameraEpisode:
    return camera_video.record_cameras(policy, seed, policy.config.frame_pixels, policy.config.agents_visible)


EXPERIMENT = Furnlift()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
