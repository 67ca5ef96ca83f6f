"""One test episode of a team in four pictures from above (A Cordial Sync, figures 11 and 12).

Every method plays from the same start, chosen before anything is known of how it goes: of all test starts, in their
order, the first whose television is the median distance from its stand. What is drawn at random while playing (the
sampled actions) has one seed for all methods, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from rl_envs.core.render import BACKGROUND, caption_strip
from rl_envs.furnmove.fixed_starts import Starts
from rl_envs.furnmove.render import draw, legend_strip
from tune_experiments.cordial_sync.evaluation import EVALUATION_SEED, test_starts, world_from
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import record_states

State = dict[str, np.ndarray]
PANELS = 4
"""Start, one third, two thirds, end."""
_WIDEST_ROW = 1400
_GAP, _TEXT, _TITLE = 8, 15, 17
_MOMENT = ("agent_cells", "agent_headings", "tv", "stand")


def draw_trajectory(policy: LoadedPolicy, path: Path) -> Path:
    """Play from the chosen start and write the picture."""
    starts = test_starts(policy.config)
    number = median_start(starts)
    start = single_start(starts, number)
    states, metrics = record_states(policy, world_from(policy.config, start, 1), EVALUATION_SEED)
    title = f"{trial_name(policy.method, policy.seed)} in {start.rooms[0].name} from test start {number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(storyboard(start, states, metrics, title)).save(path, optimize=True)
    return path


def median_start(starts: Starts) -> int:
    """Number of the first start whose television is the median distance from its stand (the lower of two)."""
    distances = abs(starts.tv[:, :2] - starts.stand[:, :2]).sum(1)
    return int(np.flatnonzero(distances == np.sort(distances)[(len(distances) - 1) // 2])[0])


def single_start(starts: Starts, number: int) -> Starts:
    """One start, with its room alone."""
    arrays = starts.state(np.array([number])) | {"room": np.zeros(1, np.int64)}
    return Starts((starts.rooms[starts.room[number]],), **arrays)


def moments(num_steps: int) -> list[int]:
    """Env steps at which an episode of this length is drawn: start, thirds, end."""
    return np.linspace(0, num_steps, PANELS).round().astype(int).tolist()


def storyboard(start: Starts, states: Sequence[State], metrics: Mapping[str, float], title: str) -> np.ndarray:
    """The picture, [height, width, 3] uint8.

    Args:
        start: the single start of the episode.
        states: what the world held at the start and after each of the T env steps, T + 1 of them.
        metrics: of the episode.
        title: above the panels.
    """
    last, room = len(states) - 1, start.rooms[0]
    way = np.array([state["tv"][:2] for state in states])
    panels = []
    for step in moments(last):
        picture = draw(room, *(states[step][name] for name in _MOMENT), path=way[: step + 1], has_legend=False)
        caption = _ending(last, metrics) if step == last else f"step {step}" if step else "start"
        panels.append(np.concatenate([caption_strip(caption, picture.shape[1], _TEXT), picture]))
    width = panels[0].shape[1]
    columns = PANELS if PANELS * width <= _WIDEST_ROW else PANELS // 2
    rows = [_beside(panels[first : first + columns]) for first in range(0, PANELS, columns)]
    width = rows[0].shape[1]
    return np.concatenate([caption_strip(title, width, _TITLE), *rows, legend_strip(start.num_agents, width, _TEXT)])


def _ending(last: int, metrics: Mapping[str, float]) -> str:
    if metrics["success"]:
        return f"step {last}: success"
    return f"step {last}: failure, {metrics['final_distance']:.2f} m away"


def _beside(panels: Sequence[np.ndarray]) -> np.ndarray:
    """Panels of one size in a row, with gaps."""
    gap = np.full((panels[0].shape[0], _GAP, 3), BACKGROUND, np.uint8)
    return np.concatenate([part for panel in panels for part in (panel, gap)][:-1], axis=1)
