"""Files of a run: curves, an episode with the cooks' messages (Verco, figure 6), the small model, and adapters."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.salad import render
from rl_envs.salad.symbols import AGENT_NAMES, STEP_REWARD
from rl_envs.salad.text import Narrator
from rl_envs.salad.world import Salad
from rl_models.llm.adapters import ADAPTERS
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.messages import to_message
from rl_models.llm.model_cache import keep_copy, small_model
from rl_models.llm.network import LanguageNetwork
from rl_models.runtime.added_observations import MESSAGES
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.errors import UserError
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import SEED, shown_episode
from tune_experiments.play.spectator import Note, Spectator
from tune_experiments.play.trial_figures import Trials, draw_curves, draw_teams
from tune_experiments.play.video import write_gif
from tune_experiments.run.run_folder import LANGUAGE_MODEL
from tune_experiments.verco.config import VercoConfig
from tune_experiments.verco.evaluation import writes
from tune_experiments.verco.supervised_stages import corpus
from tune_experiments.verco.teams import get_writer
from tune_experiments.verco.trials import METHODS


@dataclass(frozen=True)
class Moment:
    """One env step: the image before it with its messages and actions, [H, W, 3] uint8, and the team's reward.

    For each cook its observation as text, its message, and the phrase of the action that it began; "" for none.
    """

    frame: np.ndarray
    scenes: tuple[str, ...]
    messages: tuple[str, ...]
    chosen: tuple[str, ...]
    reward: float


@dataclass(frozen=True)
class Episode:
    """Steps of an episode, and its end."""

    moments: tuple[Moment, ...]
    last_frame: np.ndarray
    metrics: dict[str, float]

    def frames(self) -> list[np.ndarray]:
        """All frames, the last one included, [H, W, 3] uint8 each."""
        return [*(moment.frame for moment in self.moments), self.last_frame]


class KitchenSpectator(Spectator):
    """Notes with each cook's observation as text."""

    def picture_for(self, world: Any, index: int, agent: int) -> np.ndarray:
        """The room, [H, W, 3] uint8, with the order if this cook observes it."""
        scene = world.scene(index)
        return render.draw(scene if world.knows[agent] else dataclasses.replace(scene, order="?"))

    def notes(self, world: Any, index: int) -> tuple[Note, ...]:
        """One note a cook; none in kitchens without texts."""
        seen = _seen(world, index)
        if "situation" not in seen:
            return ()
        scenes = _scenes(Narrator(world), seen)
        return tuple(Note(f"{name} sees", scene) for name, scene in zip(AGENT_NAMES, scenes, strict=True))


def replay(policy: LoadedPolicy, seed: int = SEED) -> Episode:
    """The solved episode of median length, if any."""
    with shown_episode(policy, seed) as (world, index, steps):
        narrator, moments, info = Narrator(world), [], dict[str, Any]()
        messages = ("",) * world.num_agents
        scene, seen = world.scene(index), _seen(world, index)
        for actions, reward, info, *_ in steps:  # noqa: B007 (what the last one told is needed)
            messages, after = _last_messages(policy, index) or messages, world.scene(index)
            chosen = _chosen(narrator, seen, actions[index])
            # Messages and chosen actions of one step are shown together.
            frame = render.draw(dataclasses.replace(scene, about=after.about, messages=messages))
            moments.append(Moment(frame, _scenes(narrator, seen), messages, chosen, float(reward[index, 0])))
            scene, seen = after, _seen(world, index)
        place = list(info["done_worlds"]).index(index)
        metrics = {name: float(np.asarray(values[place]).flat[0]) for name, values in info["episode"].items()}
        return Episode(tuple(moments), render.draw(dataclasses.replace(scene, messages=messages)), metrics)


def _seen(world: Salad, index: int) -> dict[str, np.ndarray]:
    return {key: value[index] for key, value in world.observe().items()}


def write_replay(episode: Episode, folder: Path, name: str) -> Iterator[Path]:
    """Write the transcript `NAME.md` and `NAME.gif`; yields the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(transcript(episode, name))
    yield path
    yield write_gif(episode.frames(), folder / f"{name}.gif", frame_seconds=0.6)


def transcript(episode: Episode, name: str) -> str:
    """The episode as Markdown: a paragraph for each decision, a line for other rewards."""
    metrics = episode.metrics
    ended = "the dish was served" if metrics["success"] else "no dish was served"
    lines = [
        f"# {name}",
        "",
        f"{ended.capitalize()} after {metrics['length']:.0f} steps, return {metrics['return']:.3f}.",
    ]
    for number, moment in enumerate(episode.moments, start=1):
        if any(moment.chosen):
            lines += ["", f"## Step {number}", "", *_paragraph(moment)]
        elif moment.reward != STEP_REWARD:
            lines += ["", f"Step {number}: reward {moment.reward:+.3f}."]
    return "\n".join(lines) + "\n"


def _paragraph(moment: Moment) -> list[str]:
    lines = []
    for name, scene, message, chosen in zip(AGENT_NAMES, moment.scenes, moment.messages, moment.chosen, strict=True):
        lines += [f"- {scene}"] if chosen else []
        lines += [f'- **{name}** says: "{message}"'] if message else []
        lines += [f"- **{name}** decides to {chosen}."] if chosen else []
    return [*lines, f"- Reward {moment.reward:+.3f}."]


def _last_messages(policy: LoadedPolicy, index: int) -> tuple[str, ...]:
    """Messages of the last step; empty for teams that do not write."""
    if policy.last_output is None or not writes(policy.policy):
        return ()
    writer, rows = get_writer(policy.policy), policy.last_output.extras[MESSAGES][index, 0].cpu().numpy()
    return tuple(writer.text(to_message(row)) for row in rows)


def _scenes(narrator: Narrator, seen: dict[str, np.ndarray]) -> tuple[str, ...]:
    return tuple(f"{narrator.scene(code)} {narrator.order(code)}" for code in seen["situation"])


def _chosen(narrator: Narrator, seen: dict[str, np.ndarray], actions: Sequence[int]) -> tuple[str, ...]:
    rows = zip(seen["situation"], seen["decides"], actions, strict=True)
    return tuple(narrator.actions(code)[int(action)] if decides else "" for code, decides, action in rows)


CURVES = {
    "valid/return": "return of validation episodes",
    "valid/length": "steps of validation episodes",
    "policy/entropy": "entropy (nats, both cooks)",
    "valid/success": "dishes served in validation",
}
"""Training returns are logged as sums over both cooks, which have equal rewards."""
BINS = 25


def draw(out: Path, trials: Trials) -> Sequence[Drawn]:
    """Draw all figures that have data; returns their paths."""

    def draw_replay(method: str, policy: LoadedPolicy) -> Iterable[Drawn]:
        return write_replay(replay(policy), out / "videos", method)

    curves = draw_curves(out, trials, CURVES, BINS, shows_quartiles=True)
    return [*curves, *draw_teams(trials, {"video": draw_replay})]


def video(policy: LoadedPolicy, seed: int = SEED) -> list[np.ndarray]:
    """An episode with messages, [H, W, 3] uint8 a step."""
    return replay(policy, seed).frames()


def save_model(config: VercoConfig, method: str, folder: Path) -> None:
    """Copy the small model into a trial's folder; a UserError if it cannot be trained or written."""
    if config.model or not METHODS[method].has_language_model:
        return
    try:
        texts = functools.partial(corpus, config)
        keep_copy(folder / LANGUAGE_MODEL, lambda: small_model(texts, config.team.language.small))
    except LanguageModelError as error:
        raise UserError(str(error)) from error


def export(loaded: LoadedPolicy, folder: Path) -> Sequence[Path]:
    """Write a team's adapters in peft's format, a folder each, for `--team.adapters`; a UserError without any."""
    network = loaded.policy.network
    if not isinstance(network, LanguageNetwork):
        raise UserError(f"{loaded.method} has no language model, so there are no adapters to export")
    network.language.save_adapters(folder)
    return [folder / name for name in ADAPTERS]
