"""A game in which a person is one agent of a trained team, step by step and without a server.

The policy acts for all agents; the person's action and message replace those of one agent.
"""

import contextlib
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.spec import Array, Arrays, deciding
from rl_models.policy import all_deciding
from rl_models.runtime.added_observations import MESSAGES, make_speech
from rl_models.runtime.device import to_device
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.drawing import Missing, attempt_part, describe_drawings
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import check_folder, write_atomically
from tune_experiments.experiment.finding import trial_name
from tune_experiments.play.attention_maps import get_texts
from tune_experiments.play.episode import Episode, EpisodeRecorder, episode_metrics
from tune_experiments.play.game.human_data import HumanEpisode, save_episode
from tune_experiments.play.loading import LoadedPolicy
from tune_experiments.play.recording import action_name
from tune_experiments.play.show import page_title, team_title
from tune_experiments.play.spectator import checked_drawing
from tune_experiments.play.viewer.page import ShownTeam, encode_png, render_page

MAX_MESSAGE = 500
MAX_STEPS = 5_000
_USUAL_KEYS = {
    "up": "ArrowUp",
    "north": "ArrowUp",
    "moveahead": "ArrowUp",
    "down": "ArrowDown",
    "south": "ArrowDown",
    "left": "ArrowLeft",
    "west": "ArrowLeft",
    "rotateleft": "ArrowLeft",
    "right": "ArrowRight",
    "east": "ArrowRight",
    "rotateright": "ArrowRight",
    "stay": " ",
    "wait": " ",
    "pass": " ",
    "interact": "e",
    **{digit: digit for digit in string.digits},
}
_OTHER_KEYS = string.digits[1:] + string.ascii_lowercase


class RefusedError(ValueError):
    """A request that is not possible now; the message is one sentence."""


class HumanGame:
    """Episodes of one team with one person, who is `agent`; `saved` has the paths of episodes, without suffix."""

    _obs: Arrays

    def __init__(self, loaded: LoadedPolicy, name: str, seed: int, folder: Path) -> None:
        """Begin the first episode; `NAME_0` names the first agent whatever a world calls it.

        Raises UserError for an unknown agent, factored actions, or a folder that cannot be written.
        """
        check_folder(folder, "--record")
        self.world = loaded.make_world(1)
        if isinstance(self.world.action_spec, dict):
            raise UserError(f"{loaded.experiment.name} has factored actions, which a person cannot choose by keys")
        self.agent = _agent_number(name, self.world.agents)
        self._loaded, self._seed, self._folder = loaded, seed, folder
        self._team = team_title(loaded) or trial_name(loaded.method, loaded.seed)
        self._names = [action_name(self.world, self.agent, action) for action in range(self.world.action_spec)]
        self._keys = assign_keys(self._names)
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(contextlib.closing(self.world))
        self._stack.enter_context(loaded.showing_attention())
        self._spectator = self._stack.enter_context(loaded.experiment.spectator(loaded))
        self.saved: list[Path] = []
        self._ended: dict[str, float] | None = None
        self._received: Array | None = None
        self._first: Array | None = None
        self.world.auto_resets = False
        loaded.reset(seed, self.world.texts)
        self._begin(self.world.reset(seed), None)

    # ------------------------------------------------------------------------------------------------------ playing

    def act(self, action: int, message: str = "") -> None:
        """Take an action and send a message, or refuse it; while the agent is busy, any action is ignored.

        CustomEnvError where the environment raises; the episode stays as it was.
        """
        if self._ended is not None:
            raise RefusedError("The episode is over.")
        if not 0 <= action < len(self._names):
            raise RefusedError(f"There is no action {action}.")
        if self._decides() and not self._legal()[action]:
            raise RefusedError(f"{self._names[action]} is not available now.")
        obs, message = self._obs, message[:MAX_MESSAGE]
        if self._received is not None:  # the person's message replaces the policy's
            network: Any = self._loaded.policy.network
            messages = self._received.copy()
            messages[0, self.agent] = network.message_row(message)
            obs = obs | {MESSAGES: messages}
        actions = np.array(self._loaded.act(obs, self._first))
        actions[0, self.agent] = action
        self._recorder.record_actions(obs, actions)
        try:
            self._obs, reward, terminated, truncated, info = self.world.step(actions)
        except CustomEnvError:
            self._recorder.episode.steps.pop()
            raise
        self._obs_rows.append({key: value[0] for key, value in obs.items()})
        self._actions.append(actions[0].copy())
        self._messages.append(message)
        self._rewards.append(reward[0])
        self._recorder.record_rewards(reward[0])
        over = self._first = terminated | truncated
        if over[0]:
            self._finish(episode_metrics(info, 0), bool(terminated[0]))
        elif len(self._actions) >= MAX_STEPS:
            self._finish({})
        else:
            self._generate_messages()

    def new_episode(self) -> None:
        """Start the next episode; an unfinished one is saved."""
        if self._ended is None and self._actions:
            self._finish({})
        self._begin(self.world.next_episode(np.array([0])), np.ones(1, bool))

    def close(self) -> None:
        """Save an unfinished episode and close the world."""
        with self._stack:
            if self._ended is None and self._actions:
                self._finish({})

    def missing(self) -> list[str]:
        """Lines on parts of the page that cannot be shown, one per cause."""
        self.view()
        return describe_drawings([Missing(*one) for one in self._recorder.episode.missing.items()])

    def view(self) -> dict[str, Any]:
        """Contents of the page, as JSON."""
        agents, legal = self.world.agents, self._legal()
        rows = zip(self._names, self._keys, legal, strict=True)
        step = self._recorder.episode.steps[-1] if self._actions else None
        done = {} if step is None else {name: one.action for name, one in zip(agents, step.agents, strict=True)}
        missing, draw = self._recorder.episode.missing, self._spectator.picture_for
        picture = attempt_part(missing, "pictures", lambda: checked_drawing(draw, self.world, 0, self.agent), None)
        return {
            "team": self._team,
            "caption": page_title([self._loaded]),
            "you": agents[self.agent],
            "colours": list(self._recorder.episode.colours),
            "story": self._recorder.episode.story,
            "legend": self._recorder.episode.legend,
            "ending": self._recorder.episode.ending,
            "agents": list(agents),
            "step": len(self._actions),
            "limit": self.world.max_episode_steps,
            "score": round(float(np.sum([row[self.agent] for row in self._rewards])), 3),
            "reward": round(float(self._rewards[-1][self.agent]), 3) if self._rewards else 0.0,
            "decides": self._decides(),
            "reads": self._received is not None,
            "heard": self._received_messages(),
            "texts": get_texts(self.world, {key: value[0] for key, value in self._obs.items()}, self.agent),
            "done": done,
            "actions": [{"name": name, "key": key, "legal": bool(can)} for name, key, can in rows],
            "picture": None if picture is None else encode_png(picture),
            "ended": self._ended,
            "saved": self._saved_as,
        }

    # ------------------------------------------------------------------------------------------------------ private

    def _begin(self, obs: Arrays, first: Array | None) -> None:
        number = int(self.world.chance.episode[0])
        title = f"seed {self._seed}, episode {number + 1}, with a person as {self.world.agents[self.agent]}"
        self._obs, self._ended, self._first, self._saved_as = obs, None, first, ""
        self._start: Arrays = self.world.snapshot()
        self._obs_rows: list[Arrays] = []
        self._actions: list[Any] = []
        self._rewards: list[Any] = []
        self._messages: list[str] = []
        self._recorder: EpisodeRecorder = EpisodeRecorder(self._loaded, self.world, 0, title, self._spectator)
        self._generate_messages()

    def _finish(self, metrics: dict[str, float], terminated: bool | None = None) -> None:
        episode = self._recorder.finish(metrics, terminated)
        self._ended = {name: round(value, 3) for name, value in metrics.items()}
        try:
            self.saved.append(self._keep(episode))
        except OSError as error:
            raise RefusedError(f"The episode cannot be saved in {self._folder} ({error.strerror}).") from error
        self._saved_as = self.saved[-1].name

    def _keep(self, episode: Episode) -> Path:
        """Write page and data under the first free number."""
        self._folder.mkdir(parents=True, exist_ok=True)
        name, number = self._loaded.experiment.name, 1
        while (path := self._folder / f"{name}_{number:04d}").with_suffix(".json").exists():
            number += 1
        about = {
            "experiment": self._loaded.experiment.entry_point,
            "config": config_to_json(self._loaded.config),
            "method": self._loaded.method,
            "team_seed": self._loaded.seed,
            "human_agent": self.agent,
            "seed": self._seed,
            "messages": self._messages,
            "metrics": episode.metrics,
        }
        obs = {key: np.stack([row[key] for row in self._obs_rows]) for key in self._obs_rows[0]}
        rewards = np.stack(self._rewards)
        actions = np.stack(self._actions).astype(np.int64)
        save_episode(HumanEpisode(about, self._start, obs, actions, rewards), path)
        team = ShownTeam(self._team, "a team with a human player", [episode])
        write_atomically(path.with_suffix(".html"), render_page(page_title([self._loaded]), [team]))
        return path

    def _decides(self) -> bool:
        decides = deciding(self._obs)
        return decides is None or bool(decides[0, self.agent])

    def _legal(self) -> Any:
        legal = self._obs.get("legal")
        return np.ones(len(self._names), bool) if legal is None else legal[0, self.agent].astype(bool)

    def _generate_messages(self) -> None:
        """Generate the team's messages for this step, if it has any; [1, N, L] token ids."""
        self._received = None
        speech = make_speech(self._loaded.policy.network)
        if speech is not None and hasattr(self._loaded.policy.network, "message_row"):
            tensors = to_device({key: value[:, None] for key, value in self._obs.items()}, self._loaded.device)
            messages = speech.narrate(all_deciding(tensors))[MESSAGES][:, 0].cpu().numpy()
            self._received = messages if messages.shape[-1] else None

    def _received_messages(self) -> dict[str, str]:
        """Messages of the other agents at this step, name of the agent -> text."""
        if self._received is None or self._ended is not None:
            return {}
        text, agents = self._loaded.policy.network.message_text, self.world.agents  # type: ignore[attr-defined]
        return {name: text(self._received[0, n]) for n, name in enumerate(agents) if n != self.agent}


def _agent_number(name: str, agents: tuple[str, ...]) -> int:
    """Index of the agent of this name, or of the one that `NAME_0` means."""
    if name in agents:
        return agents.index(name)
    _, _, number = name.rpartition("_")
    if number.isascii() and number.isdigit() and int(number) < len(agents):
        return int(number)
    raise UserError(f"this team has no agent {name!r}; --human can be {', '.join(agents)}")


def assign_keys(names: Sequence[str]) -> list[str]:
    """A key for each action, as the browser calls it; "" for actions beyond all keys, which have buttons.

    Arrows are for directions and the space bar for waiting; all others get digits and letters.
    """
    usual = [_USUAL_KEYS.get(name.lower(), "") for name in names]
    taken, keys = set(usual), list(usual)
    others = iter([key for key in _OTHER_KEYS if key not in taken])
    for number, key in enumerate(usual):
        if not key or key in usual[:number]:
            keys[number] = next(others, "")
    return keys
