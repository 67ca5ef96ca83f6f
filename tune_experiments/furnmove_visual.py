"""FurnMove from first-person frames: SYNC with CORDIAL against marginal policies (A Cordial Sync, tables 1 to 4).

    python tune_experiments/furnmove_visual.py                           # laptop: 42 x 42 frames, half an hour
    python tune_experiments/furnmove_visual.py --preset smoke            # under 2 minutes, learns nothing
    python tune_experiments/furnmove_visual.py --preset paper            # the paper's sizes: a GPU cluster, days
    python tune_experiments/furnmove_visual.py --num-agents 3            # teams of three
    python tune_experiments/furnmove_visual.py --observation view        # the gridworld, same rooms and budget

Agents carry a television through living rooms that they have never seen, and each sees only the frame of its own
camera. The rules are exactly those of `furnmove_sync.py`. `--methods` takes any of fourteen: SYNC with 1, 2, 4 or 13
components, marginal policies with and without messages, and central ones, each with and without CORDIAL. Rooms, horizon
and the constants of learning are those of the gridworld's laptop preset, which were tuned there; the budget and the
networks are not. `marginal` has a wider last convolution, so that it has as many parameters as SYNC of two agents.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rl_models.networks.network_config import VisualConfig
from tune_experiments.cordial_sync.config import Config
from tune_experiments.cordial_sync.gridworld import GridworldExperiment, paper_preset
from tune_experiments.launch.experiment import main
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison

if TYPE_CHECKING:
    from tune_experiments.play.loading import LoadedPolicy

WIDENED = {2: 140, 3: 139}
"""Number of agents -> last convolution that gives marginal policies as many parameters as SYNC, or a few more."""
SMALL_WIDENED = 44
"""The same for two agents and the laptop's widths."""


class FurnmoveVisual(GridworldExperiment):
    """The methods of the gridworld, from camera frames."""

    name = "furnmove_visual"
    caption = "FurnMove from first-person frames"
    main = MainComparison("sync_13_cordial", "marginal", "success")
    rows = ("sync_13_cordial", "marginal")

    def __init__(self) -> None:
        super().__init__()
        smoke, laptop = (_seen(self.presets[name]) for name in ("smoke", "laptop"))
        tiny = VisualConfig(channels=(4, 4, 8, 8), hidden_size=24, message_features=4, team_features=24)
        self.presets = {
            "smoke": dataclasses.replace(smoke, visual_network=tiny, budget_env_steps=960, test_starts_per_room=4),
            "laptop": _laptop_presets(laptop),
            "paper": self.papers(laptop),
        }

    def papers(self, config: Config) -> Config:
        """The gridworld's `paper` preset with the authors' frames, widths, rooms and budget."""
        base = paper_preset(Config(methods=config.methods, num_agents=config.num_agents))
        marginal = dataclasses.replace(base.marginal, last_convolution=WIDENED.get(config.num_agents, 0))
        return dataclasses.replace(
            _seen(base),
            frame_pixels=84,
            visual_network=VisualConfig(),
            no_communication=marginal,
            marginal=marginal,
            train_rooms="ithor_train",
            valid_rooms=("ithor_valid",),
            test_rooms=("ithor_test",),
            budget_env_steps=85_000_000,
        )

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """The map, and each agent's frame and messages, [H, W, 3] uint8 a step."""
        from tune_experiments.cordial_sync.camera_video import record_cameras

        return record_cameras(loaded, seed, loaded.config.frame_pixels).frames


def _laptop_presets(grid: Config) -> Config:
    """The laptop preset: more env steps than with maps, and widths that balance parameters."""
    wide = {
        name: dataclasses.replace(getattr(grid, name), last_convolution=SMALL_WIDENED)
        for name in ("marginal", "no_communication")
    }
    return dataclasses.replace(grid, **wide, budget_env_steps=320_000, validate_every_env_steps=20_000)


def _seen(config: Config) -> Config:
    """The same run from camera frames."""
    return dataclasses.replace(config, observation="frame")


EXPERIMENT = FurnmoveVisual()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
