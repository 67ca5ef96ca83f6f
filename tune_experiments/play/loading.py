"""`load_policy(checkpoint).act(obs)`: a trained team without Ray.

A checkpoint is safetensors and JSON and names its experiment. One from outside this package is imported only if the
caller names its module, `load_policy(path, allow=["package.module"])`, so opening an untrusted checkpoint runs none of
its code.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from rl_envs import World
from rl_envs.core.chance import Chance
from rl_envs.core.errors import CustomEnvError
from rl_envs.core.texts import TextStore
from rl_models.configuration import DeviceChoice
from rl_models.distributions.joint_policy import choose
from rl_models.errors import InputError
from rl_models.policy import State, TeamOutput, TeamPolicy
from rl_models.runtime.added_observations import narrated, with_noise
from rl_models.runtime.device import built_on, get_device
from rl_models.runtime.fixed_weights import WeightChangeDetector
from rl_models.runtime.texts import MissingTextsError, TextEncodings
from rl_models.text.weights_identity import check_identities
from rl_models.training.checkpoint import (
    CheckpointError,
    get_checkpoint_path,
    load_checkpoint,
    load_state,
    newest_complete_checkpoint,
)
from rl_models.training.collector import to_numpy
from tune_experiments.core.errors import UserError, one_line
from tune_experiments.experiment.base_experiment import BaseExperiment
from tune_experiments.experiment.finding import find_stored, trusted_modules
from tune_experiments.play.team_paths import in_package
from tune_experiments.run.curriculum_state import restore_curriculum
from tune_experiments.run.ray_cluster import checked_device
from tune_experiments.run.run_folder import CONFIG_FILE, check_version
from tune_experiments.run.stored_run import StoredRun
from tune_experiments.run.trial import CHECKPOINTS

Arrays = dict[str, np.ndarray]
_IS_FIRST = "<is_first>"


class LoadedPolicy:
    """A recurrent policy, batched over B worlds.

    Attributes:
        experiment, config, method, seed: Experiment, configuration, method and seed of its training.
        policy, device: Torch module, and its device.
        env_steps: Env steps of its training, as in results; 0 for a policy that was not trained.
        curriculum: State of its curriculum; one stage where there is none.
        is_greedy: Whether it takes the most probable actions or samples, as in its test; None: as `choose` has it.
        trial_folder: Folder of its trial; None where it was not loaded from one.
        allow: Modules outside Concord that it was loaded with.
        draws_noise: Whether a stochastic network samples, as in the test, or takes the most likely value.
        last_output: Output of the policy at the last `act`.
    """

    def __init__(
        self,
        policy: TeamPolicy,
        experiment: BaseExperiment,
        config: Any,
        state: dict[str, Any],
        trial_folder: Path | None = None,
        allow: Sequence[str] = (),
    ) -> None:
        self.policy, self.device = policy.eval(), get_device(policy)
        self.experiment, self.config = experiment, config
        self.trial_folder, self.allow = trial_folder, tuple(allow)
        self.method: str = state["method"]
        self.seed = int(state["seed"])
        self.curriculum = restore_curriculum(experiment.plan(config, self.method, self.seed, trial_folder), state)
        self.env_steps = self.curriculum.plan.trained_env_steps(int(state["progress"]["env_steps"])) or 0
        self.is_greedy = getattr(config, "is_greedy", experiment.is_greedy)
        self.draws_noise = experiment.draws_noise(config)
        self.last_output: TeamOutput | None = None
        self._state: State | None = None
        self._chance: Chance | None = None
        self._seed = 0
        self._texts = TextEncodings(self.policy.network, {}, self.device)
        self._watch = WeightChangeDetector()

    def make_world(self, num_worlds: int) -> World:
        """Worlds of the experiment's test, or of the current stage for a team before its last stage."""
        if self.curriculum.is_in_last_stage:
            return self.experiment.test_world(self.config, num_worlds, self.method)
        return cast(World, self.curriculum.plan.make_world(num_worlds=num_worlds, first_world=0))

    def reset(self, seed: int = 0, texts: Mapping[str, TextStore] | None = None) -> None:
        """Reset the recurrent state and the random stream; the next `act` fixes the number of worlds.

        Args:
            seed: seed of the actions that are sampled.
            texts: texts of the environment, `world.texts`; encodings are kept while the weights stay, and until the
                next `reset`, which must follow `compact_texts`.
        """
        self._state, self._chance = None, None
        self._seed = seed
        self._texts = TextEncodings(self.policy.network, texts or {}, self.device)

    @torch.inference_mode()
    def act(self, obs: Arrays, is_first: np.ndarray | None = None, uniforms: np.ndarray | None = None) -> Any:
        """Choose a joint action in every world.

        Args:
            obs: name -> [B, N, ...], as the experiment's worlds give them.
            is_first: [B] bool, worlds whose episode begins now; all of them at the first call.
            uniforms: [B, U] in [0, 1), where U is the policy's `num_uniforms`: a shared draw, then for each agent one
                draw for each choice and each number of its action, so 1 + N where an action is one choice; 1 for a
                central policy. Drawn from this policy's own stream by default; a greedy policy uses none.

        Returns:
            [B, N] int64 actions as `World.step` takes them, counted from 0 also where an environment's spaces are not;
            for factored actions, factor -> such an array, and `continuous` [B, N, D] float32.

        Raises:
            ValueError: another number of worlds or agents, unknown row numbers of texts, or observations of another
                environment.
        """
        if not obs:
            raise ValueError("this environment has no observations, because scripts play in it: use show or render")
        batch, num_agents = len(next(iter(obs.values()))), self.policy.num_agents
        if others := {np.shape(value)[1:2] for value in obs.values()} - {(num_agents,)}:
            found = " or ".join(str(*shape) or "no" for shape in sorted(others))
            raise ValueError(
                f"this team has {num_agents} agents and got observations of {found}: give arrays [worlds, agents, ...]"
            )
        if self._chance is not None and len(self._chance.key) != batch:
            raise ValueError(f"this policy plays {len(self._chance.key)} worlds and got {batch}; call reset() first")
        if self._state is None:
            self._state = self.policy.initial_state(batch)
            self._chance = Chance(self._seed, 0, batch)
        assert self._chance is not None
        if self.draws_noise:
            obs = with_noise(self.policy.network, self._chance, self.policy.num_agents, obs)
        first = np.zeros(batch, bool) if is_first is None else is_first
        try:
            self.last_output = output = self._forward(obs, first)
        except MissingTextsError as error:
            raise ValueError(
                f"{error}; call reset(texts=world.texts), or replace the row numbers by "
                "world.texts[key].look_up(obs[key])"
            ) from error
        except KeyError as error:
            if not self._gets(error.args[0]):
                raise
            raise ValueError(
                f"the observations lack {error}, which this team reads: give those of its environment (make_world)"
            ) from error
        self._state = output.state
        own = self._chance.policy_uniforms(output.policy.num_uniforms)
        self._chance.next_step()
        drawn = torch.from_numpy(own if uniforms is None else uniforms)[:, None].to(self.device)
        return to_numpy(choose(output.policy, drawn, self.is_greedy)[0])

    @contextlib.contextmanager
    def showing_attention(self) -> Iterator[None]:
        """Within it, `last_output` holds attention maps of networks that have attention."""
        network: Any = self.policy.network
        network.shows_attention = True
        self._texts.forget()  # encodings hold attention maps only if these are shown
        try:
            yield
        finally:
            network.shows_attention = False
            self._texts.forget()

    def _gets(self, key: Any) -> bool:
        """Whether this is an observation of the team's own environment."""
        with contextlib.closing(self.make_world(1)) as world:
            return key in world.observation_spec or key in world.text_spec

    def _forward(self, obs: Arrays, first: np.ndarray) -> TeamOutput:
        """The policy's output for observations with T = 1, with their texts."""
        if self._texts.are_encoded and self._watch.has_changed(self.policy.parameters()):
            self._texts.forget()
        tensors = self._texts.inputs({key: np.asarray(value) for key, value in obs.items()} | {_IS_FIRST: first})
        is_first = tensors.pop(_IS_FIRST)
        assert self._state is not None
        network = self.policy.network
        output: TeamOutput = self.policy(narrated(network, tensors, self._chance), self._state, is_first)
        return output


def load_policy(path: str | Path, allow: Sequence[str] = (), device: DeviceChoice = "auto") -> LoadedPolicy:
    """Load a trained team from a checkpoint, a trial folder (`chosen_checkpoint`) or a run folder (its first method).

    Args:
        path: path of one of these, or `pretrained/NAME` for a team of the package.
        allow: modules outside Concord that may be imported if the checkpoint names them.
        device: device of the policy; `auto` takes a GPU if there is one.

    Raises:
        UserError: no checkpoint, a damaged one or one of another version, a module that is not allowed, or no GPU
            for `cuda`.
    """
    if not isinstance(path, str | os.PathLike):
        raise UserError(f"a team is opened from the path of a run, a trial or a checkpoint, not from {path!r}")
    allow = (allow,) if isinstance(allow, str) else allow
    checkpoint_path = find_checkpoint(Path(path), allow)
    place = checked_device(device)
    try:
        checkpoint = load_checkpoint(checkpoint_path)
        state = checkpoint.state
        check_version(state.get("written_by", {"schema_version": 1}), checkpoint_path)
        allow = (*allow, *sorted(trusted_modules(state["experiment"], state["config"])))
        experiment, config = find_stored(state["experiment"], state["config"], allow, checkpoint_path)
        check_identities(config, state.get("models", ()))
        trial_folder = checkpoint_path.parent.parent
        plan = experiment.plan(config, state["method"], int(state["seed"]), trial_folder)
        plan = restore_curriculum(plan, state).plan
        policy = built_on(place, plan.build_policy)
        policy.precision = plan.optimiser.precision
        policy.load_state_dict(checkpoint.tensors["weights"])
        return LoadedPolicy(policy, experiment, config, state, trial_folder, allow)
    except CheckpointError as error:
        raise UserError(str(error)) from error
    except (CustomEnvError, InputError) as error:  # files other than the weights are missing
        raise UserError(f"{checkpoint_path} cannot be opened: {one_line(error)}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        version = state.get("written_by", {}).get("concord_version", "that wrote it")
        raise UserError(
            f"{checkpoint_path} does not fit this version of its experiment ({one_line(error)[:200]}): open it with "
            f"the code that trained it (Concord {version}; the run's manifest.json names the commit)"
        ) from error


def find_checkpoint(path: Path, allow: Sequence[str] = (), imports: bool = True) -> Path:
    """Find the checkpoint of a checkpoint, trial or run folder; UserError if there is none.

    For a run folder it is that of the first method, for which the experiment is imported, or of the first trial folder
    without `imports`.
    """
    named = in_package(path)
    if not named.is_dir():
        fault = "is a file, not a folder" if named.exists() else "does not exist"
        raise UserError(f"{named} {fault}: give a run folder, a trial folder or a checkpoint_NUMBER folder")
    path = named.absolute()  # a checkpoint's trial is found above it
    if path.name.startswith("checkpoint_") and not (path / CONFIG_FILE).exists():
        return path
    trials = _list_trials(path, allow) if imports else sorted(path.glob("trials/*"))
    for folder in [path, *trials]:
        checkpoint = chosen_checkpoint(folder)
        if checkpoint is not None:
            return checkpoint
    raise UserError(
        f"{named} holds no complete checkpoint: give a run folder, a trial folder or a checkpoint_NUMBER folder"
    )


def _list_trials(run: Path, allow: Sequence[str]) -> list[Path]:
    """Trial folders of a run in the order of its table: the first method's first."""
    if not (run / CONFIG_FILE).exists():
        return []
    return [folder for seeds in StoredRun.open(run, allow).trials.values() for folder in seeds.values()]


def first_checkpoint(seeds: Mapping[int, Path]) -> Path | None:
    """`chosen_checkpoint` of the first of these trial folders that has one."""
    return next(filter(None, map(chosen_checkpoint, seeds.values())), None)


def chosen_checkpoint(trial: Path) -> Path | None:
    """The checkpoint of a trial that is tested: the best in validation if weights are chosen so, else the newest."""
    newest = newest_complete_checkpoint(trial / CHECKPOINTS)
    choice = load_state(newest).get("choice") if newest else None
    return get_checkpoint_path(trial / CHECKPOINTS, choice["env_steps"]) if choice else newest
