"""Figures and videos of FurnMove: curves, joint policies, an episode of each method, and message weights (figure 5d).

An episode is drawn in four images from above (A Cordial Sync, figures 11 and 12). Every method plays from the same
start, chosen before training: of all test starts in order, the first whose television is the median distance from its
stand. Random numbers of the episode (such as sampled actions) have one seed for all methods, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from rl_envs.core.render import BACKGROUND, caption_strip
from rl_envs.furnmove.actions import ACTION_NAMES, MODALITY, MOVE_WITH_OBJECT, PASS
from rl_envs.furnmove.fixed_starts import Starts
from rl_envs.furnmove.render import draw as draw_room
from rl_envs.furnmove.render import legend_strip
from tune_experiments.cordial_sync.camera_video import record_cameras, write_camera_videos
from tune_experiments.cordial_sync.evaluation import EVALUATION_SEED, test_starts, world_from
from tune_experiments.cordial_sync.messages import ROUNDS
from tune_experiments.core.drawing import Drawn, attempt
from tune_experiments.core.files import read_arrays
from tune_experiments.experiment.finding import trial_name
from tune_experiments.experiment.plan import Episodes
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import record_episode, record_states
from tune_experiments.play.trial_figures import Draw, Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.results import plots
from tune_experiments.results.plots.figures import COLOURS, FAINT, INK, MARKERS, REMARK, new_figure, save
from tune_experiments.run.final_evaluation import figure_data_files
from tune_experiments.run.run_folder import read_config

if TYPE_CHECKING:
    from matplotlib.axes import Axes


State = dict[str, np.ndarray]
PANELS = 4
"""Start, one third, two thirds, end."""
_MAX_ROW_WIDTH = 1400
_GAP, _TEXT, _TITLE = 8, 15, 17
_MOMENT = ("agent_cells", "agent_headings", "tv", "stand")


def draw_trajectory(policy: LoadedPolicy, path: Path) -> Path:
    """Play from the chosen start and write the image."""
    starts = test_starts(policy.config)
    number = median_start(starts)
    start = single_start(starts, number)
    states, metrics = record_states(policy, world_from(policy.config, start, 1), EVALUATION_SEED)
    title = f"{trial_name(policy.method, policy.seed)} in {start.rooms[0].name} from test start {number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(storyboard(start, states, metrics, title)).save(path, optimize=True)
    return path


def median_start(starts: Starts) -> int:
    """Index of the first start whose television is the median distance from its stand (the lower of two)."""
    distances = abs(starts.tv[:, :2] - starts.stand[:, :2]).sum(1)
    return int(np.flatnonzero(distances == np.sort(distances)[(len(distances) - 1) // 2])[0])


def single_start(starts: Starts, number: int) -> Starts:
    """One start, with only its room."""
    arrays = starts.state(np.array([number])) | {"room": np.zeros(1, np.int64)}
    return Starts((starts.rooms[starts.room[number]],), **arrays)


def moments(num_steps: int) -> list[int]:
    """Env steps at which an episode of this length is drawn: start, thirds, end."""
    return np.linspace(0, num_steps, PANELS).round().astype(int).tolist()


def storyboard(start: Starts, states: Sequence[State], metrics: Mapping[str, float], title: str) -> np.ndarray:
    """The image, [height, width, 3] uint8, of an episode with T + 1 states: at the start and after each env step."""
    last, room = len(states) - 1, start.rooms[0]
    way = np.array([state["tv"][:2] for state in states])
    panels = []
    for step in moments(last):
        picture = draw_room(room, *(states[step][name] for name in _MOMENT), path=way[: step + 1], has_legend=False)
        caption = _ending(last, metrics) if step == last else f"step {step}" if step else "start"
        panels.append(np.concatenate([caption_strip(caption, picture.shape[1], _TEXT), picture]))
    width = panels[0].shape[1]
    columns = PANELS if PANELS * width <= _MAX_ROW_WIDTH else PANELS // 2
    rows = [_side_by_side(panels[first : first + columns]) for first in range(0, PANELS, columns)]
    width = rows[0].shape[1]
    return np.concatenate([caption_strip(title, width, _TITLE), *rows, legend_strip(start.num_agents, width, _TEXT)])


def _ending(last: int, metrics: Mapping[str, float]) -> str:
    if metrics["success"]:
        return f"step {last}: success"
    return f"step {last}: failure, {metrics['final_distance']:.2f} m away"


def _side_by_side(panels: Sequence[np.ndarray]) -> np.ndarray:
    gap = np.full((panels[0].shape[0], _GAP, 3), BACKGROUND, np.uint8)
    return np.concatenate([part for panel in panels for part in (panel, gap)][:-1], axis=1)


CURVES = {
    "episode/success": "success",
    "policy/invalid_probability": "invalid probability",
    "policy/tvd": "total variation distance",
    "episode/md_spl": "MD-SPL",
    "episode/length": "episode length (env steps)",
    "episode/final_distance": "final distance (metres)",
}
BINS = 40
"""Number of points of a curve: a laptop run of 3,000 episodes has 75 a point, a standard error below 0.06."""
ACTION_CLASSES = {"NAV": range(4), "MWO": range(4, 8), "RO": range(8, 9), "MO": range(9, 13)}
_CLASSES_IN_WORDS = "NAV: move alone; MWO: move with the television; RO: rotate it; MO: move it alone"
HUES = {
    "no_communication": ("#9A9A9A", "#303030", "X"),
    "marginal": ("#F08C4B", "#B84300", "s"),
    "sync_1": ("#E0B420", "#8F6A00", "v"),
    "sync_2": ("#5CCDD4", "#00808C", "^"),
    "sync_4": ("#78BF78", "#146B30", "D"),
    "sync_13": ("#78A6EA", "#0A459B", "o"),
    "central": ("#DC8FC2", "#96246F", "P"),
}
"""Colour without CORDIAL, with it, and marker of both: distinct in hue, lightness and shape."""


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def trajectory(method: str, policy: LoadedPolicy) -> Path:
        return draw_trajectory(policy, out / f"plots/trajectory_{method}.png")

    def video(method: str, policy: LoadedPolicy) -> Iterable[Drawn]:
        if policy.config.observation == "frame":
            cameras = record_cameras(policy, pixels=policy.config.frame_pixels)
            return write_camera_videos(cameras, out / "videos", method)
        return [write_gif(record_episode(policy), out / f"videos/{method}.gif")]

    draws: dict[str, Draw] = {"trajectory": trajectory, "video": video}
    return [
        *draw_curves(out, trials, CURVES, BINS, styles=styles(trials)),
        *draw_curves(out, trials, CURVES, BINS, "curves_by_episodes", x="progress/episodes", styles=styles(trials)),
        *attempt("joint policies", lambda: _draw_joint_policies(out, trials)),
        *draw_teams(trials, draws),
    ]


def styles(methods: Iterable[str]) -> dict[str, plots.LineStyle]:
    """The methods of a family share a hue; CORDIAL makes it dark, the line heavy and markers filled."""
    looks = {}
    for method in methods:
        light, dark, marker = HUES[method.removesuffix("_cordial")]
        if method.endswith("_cordial"):
            looks[method] = plots.LineStyle(dark, marker, width=2.0)
        else:
            looks[method] = plots.LineStyle(light, marker, width=1.4, is_filled=False)
    return looks


def _draw_joint_policies(out: Path, trials: Trials) -> Iterable[Path]:
    policies = {method: joint for method, seeds in trials.items() if (joint := _mean_joint(seeds)) is not None}
    if policies:
        num_agents = read_config(out)[1]["num_agents"]
        remark = _CLASSES_IN_WORDS
        if num_agents > 2:
            remark += f". The first two of {num_agents} agents, summed over the actions of the others"
        figure = plots.joint_policy(policies, ACTION_NAMES, ACTION_CLASSES, remark)
        yield plots.save(figure, out / "plots/joint_policy.png")


def _mean_joint(seeds: Mapping[int, Path]) -> np.ndarray | None:
    files = [path for folder in seeds.values() for path in figure_data_files(folder).values()]
    found = [read_arrays(path)["_joint_policy"] for path in files]
    return np.mean(found, axis=0) if found else None


_MIN_LENGTH, _MAX_LENGTH = 60, 80
"""Env steps of an episode that the authors show."""
_SEES, _MOVES, _PASSES = "sees the television", "moves with it", "passes while another moves or turns"


def draw_messages(data: Episodes, path: Path, title: str) -> Path:
    """Draw the weights of one episode of `play_and_listen`'s data, a panel for talk and one for reply."""
    episode = chosen(data)
    rows = data["_episode"] == episode
    figure = new_figure(9.0, 4.6)
    panels = figure.subplots(len(ROUNDS), 1, sharex=True)
    for panel, name in zip(panels, ROUNDS, strict=True):
        _draw_round(panel, name, {key: data[key][rows] for key in (f"_{name}", "_actions", "_sees")})
    panels[-1].set_xlabel("env step", color=INK)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=data["_sees"].shape[1], fontsize=8, frameon=False)
    figure.suptitle(f"{title}, episode of test start {episode}", fontsize=10, color=INK)
    return save(figure, path)


def chosen(data: Episodes) -> int:
    """The first episode of 60 to 80 env steps; where there is none, the first of those nearest to 70."""
    episodes, lengths = np.unique(data["_episode"], return_counts=True)
    fits = (lengths >= _MIN_LENGTH) & (lengths <= _MAX_LENGTH)
    away = np.where(fits, 0, abs(lengths - (_MIN_LENGTH + _MAX_LENGTH) // 2))
    return int(episodes[away.argmin()])


def passes_for_another(actions: np.ndarray) -> np.ndarray:
    """Whether an agent passes while another agent moves or turns alone: [T, N] int -> [T, N] bool."""
    alone = actions < PASS
    others = alone.sum(1, keepdims=True) - alone > 0
    return np.asarray((actions == PASS) & others)


def _draw_round(panel: Axes, name: str, data: Episodes) -> None:
    weights, actions = data[f"_{name}"], data["_actions"]
    steps = np.arange(len(weights))
    marks = (
        (_SEES, data["_sees"], -0.06, "|"),
        (_MOVES, MODALITY[actions] == MOVE_WITH_OBJECT, -0.16, "s"),
        (_PASSES, passes_for_another(actions), 1.08, "v"),
    )
    for agent, column in enumerate(weights.T):
        colour, shift = COLOURS[agent % len(COLOURS)], 0.05 * agent
        look = {"marker": MARKERS[agent % len(MARKERS)], "markersize": 2.5, "linewidth": 1.2}
        panel.plot(steps, column, color=colour, label=f"agent {agent + 1}", **look)  # type: ignore[arg-type]
        for label, when, height, mark in marks:
            at = steps[when[:, agent]]
            place = np.full(len(at), height + (shift if height > 1 else -shift))
            legend = f"agent {agent + 1} {label}"
            panel.scatter(at, place, s=14, marker=mark, color=colour, linewidths=1.0, label=legend)
    panel.set_ylim(-0.3, 1.25)
    panel.set_yticks([0, 0.5, 1])
    panel.set_ylabel(f"{name} weight", color=INK)
    panel.grid(color=FAINT, linewidth=0.6)
    panel.tick_params(labelsize=8, colors=REMARK)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
