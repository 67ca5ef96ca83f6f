"""Planner of one game, built from its configuration, its planning loop, and the language model's endpoint.

Rules and scores answer in this process, with a transcript in memory; the transcript of an endpoint is written to disk.
All trials of a run share one endpoint: while Ray trains, an actor holds its cache, budget and rate limit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_models.chat.chat_settings import ChatSettings, open_transport
from rl_models.chat.client import ChatClient
from rl_models.chat.endpoint import Endpoint
from rl_models.chat.exchange import ChatRequest, Transport
from rl_models.chat.meter import Meter
from rl_models.chat.record import Recorded, Replay
from rl_models.llm.llm_config import Normalisation
from rl_models.planners.briefing import Briefing
from rl_models.planners.calling import Caller
from rl_models.planners.code_index import CodeIndex
from rl_models.planners.commander import RandomCommander
from rl_models.planners.domain import Domain
from rl_models.planners.goal_generators import DepsGoals, GoalGenerator, Plan4McGoals
from rl_models.planners.manual import read_paragraphs, write_manual
from rl_models.planners.noisy import NOISES, NoisyBackend
from rl_models.planners.offline import MODEL, OfflineBackend
from rl_models.planners.planner import Planner
from rl_models.planners.plans import Pair
from rl_models.planners.preparation import extract_objects, translate_states
from rl_models.planners.revision import Retry
from rl_models.planners.rounds import PlanningLoop
from rl_models.planners.scored import ScoredBackend, ScoredPlanner
from rl_models.planners.transcript import Transcript
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import write_atomically
from tune_experiments.sama.planner_config import LOCAL, RULES, GameDomain, ModelSettings, PlannerConfig

if TYPE_CHECKING:
    from rl_models.llm.phrase_scorer import PhraseScorer


RECORD = "planner.jsonl"


def record_folder(model: ModelSettings) -> Path:
    """Folder of the recorded exchanges with a language model."""
    return Path(model.folder) if model.folder else Path.home() / ".cache/concord/planner"


@contextlib.contextmanager
def shared_endpoint(config: PlannerConfig) -> Iterator[None]:
    """Context in which all trials of a run share one endpoint; a UserError if the cluster cannot open it."""
    if config.planner != "openai" or not _ray_runs():  # a run without Ray is one process, with its own endpoint
        yield
        return
    import ray

    from rl_models.rllib.chat_service import start_chat_service

    model = config.model
    chat, folder = _chat(model), record_folder(model)
    service = start_chat_service(chat, folder, model.concurrency, name=_name(model), shares_record=True)
    try:
        service.usage()
    except ray.exceptions.RayActorError as error:
        raise UserError(
            "the cluster cannot open the planner's endpoint: its processes need the package and the key, too"
        ) from error
    try:
        yield
    finally:
        service.stop()


def get_endpoint(model: ModelSettings) -> Transport:
    """The shared endpoint in a trial of a run, else the endpoint of this process."""
    if not _ray_runs():
        return own_endpoint(model)
    from rl_models.rllib.chat_service import find_chat_service

    return find_chat_service(_name(model)) or own_endpoint(model)


def _ray_runs() -> bool:
    return "ray" in sys.modules and bool(sys.modules["ray"].is_initialized())


@functools.cache
def own_endpoint(model: ModelSettings) -> Transport:
    """Endpoint of this process; all its planners share one budget and rate limit."""
    # All runs with this folder share the record, but not the budget.
    return open_transport(_chat(model), record_folder(model), Meter(model.chat.budget))


def _chat(model: ModelSettings) -> ChatSettings:
    return dataclasses.replace(model.chat, backend="openai", model=model.name, record=RECORD)


def _name(model: ModelSettings) -> str:
    return f"planner {model.name} {record_folder(model)}"


MANUAL_FILE, BY_RULE_FILE = "manual.txt", "manual_by_rule"
"""Files in a trial's folder: the manual that the planner's model writes from a paper at the trial's start; and an empty
one if rules wrote some of it, so that it is written again if the trial starts again without a checkpoint."""
_MAX_MANUAL_BYTES = 100_000
_RETRIES_APART = 1_000_000_000
"""Distance of the seeds of a planner and of its retries, larger than between any two trials."""


def make_planner(
    config: PlannerConfig,
    task: str,
    seed: int,
    trial_folder: Path | None = None,
    transcript: Transcript | None = None,
) -> Planner:
    """The planner of a task, such as a kitchen; the seed is that of a noisy planner's errors.

    It writes into `transcript`, or one of its own.

    Raises:
        InputError: The endpoint or its record cannot be used, or the model cannot score.
    """
    domain = config.domain(task)
    caller = _caller(config, domain, seed, transcript)
    _prepare_manual(config, caller, domain, trial_folder)
    manual = read_manual(config, task, trial_folder)
    if config.planner == "scored":  # its prompts name no objects
        return ScoredPlanner(caller, domain, Briefing(manual, (), config.shots))
    objects = extract_objects(caller, domain, manual) if config.extracts_objects else ()
    briefing = Briefing(manual, objects, config.shots)
    translate = None
    if config.translates_states:
        translate = functools.partial(translate_states, caller, domain, manual, game_code(domain.source))
    return Planner(caller, domain, briefing, translate)


@functools.cache
def game_code(source: Path) -> CodeIndex:
    """Index of the source code of a game, for search by words."""
    return CodeIndex.from_folder(source)


def check_planner(config: PlannerConfig) -> None:
    """Check the package and key of the endpoint, the record, the paper, or the model, without calling it.

    Raises InputError where one is missing.
    """
    if config.manual:
        _read_paper(config)
    if config.planner == "openai":
        Endpoint(config.model.chat.endpoint, Meter(config.model.chat.budget))
    elif config.planner == "replay":
        Replay(record_folder(config.model) / RECORD)
    elif config.replay:
        Replay(Path(config.replay) / RECORD)
    elif config.planner == "scored":
        scorer(config.model.name, config.model.normalisation).check()


def make_planning_loop(
    config: PlannerConfig,
    task: str,
    seed: int,
    trial_folder: Path | None = None,
    visited: dict[Pair, None] | None = None,
) -> PlanningLoop:
    """Planning loop of the configured planner; arguments as for `make_planner`.

    `seed` is also that of random commands; `visited` collects the states in which plans are made.
    """
    planner = make_planner(config, task, seed, trial_folder)
    commander = None
    if config.random_share:
        commander = RandomCommander(planner.domain, config.random_share, seed, config.random_from)
    retry = None
    if config.after_failure == "retry":
        tries = range(1, config.reflections + 1)
        seeds, shared = [seed + _RETRIES_APART * number for number in tries], planner.caller.transcript
        retry = Retry([make_planner(config, task, one, trial_folder, shared) for one in seeds])
    return PlanningLoop(planner, _goals(config, planner), config.reflections, commander, visited, retry)


def warn_about_fallbacks(counts: Mapping[str, int], config: PlannerConfig) -> None:
    """Warn if rules answered questions to a language model; `counts` are those of `ChatClient`."""
    found = Counter(counts)
    if config.planner in RULES or not found["fallback"]:
        return
    if config.planner == "replay" or config.replay:
        why = (
            f"because the record of {config.model.name} in {config.replay or record_folder(config.model)} holds no "
            "usable replies to them; `sama_retest.py` queries a model with `--planner openai` or `--planner scored`"
        )
    else:
        why = (
            f"because {config.model.name} gave no usable reply: {found['failed']} requests failed, the budget refused "
            f"{found['unsent']}, and {found['rejected']} replies were rejected"
        )
    warnings.warn(f"{found['fallback']} of {found['asked']} questions were answered by rules, {why}", stacklevel=2)


def _goals(config: PlannerConfig, planner: Planner) -> GoalGenerator:
    if config.goals == "deps":
        return DepsGoals(planner.caller, planner.domain, planner.manual)
    return Plan4McGoals(planner.domain) if config.goals == "plan4mc" else GoalGenerator()


def _caller(config: PlannerConfig, domain: Domain, seed: int, transcript: Transcript | None) -> Caller:
    if config.planner in LOCAL:
        return _local_caller(config, domain, seed, transcript)
    folder = record_folder(config.model) / domain.name
    try:
        is_asked = config.planner == "openai"
        transport = get_endpoint(config.model) if is_asked else Replay(record_folder(config.model) / RECORD)
        transcript = transcript or Transcript(_new_transcript(folder) if is_asked else None)
        return Caller(ChatClient(transport, config.model.concurrency), config.model.name, transcript, seed)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}): choose another folder with --model.folder"
        ) from error


def _local_caller(config: PlannerConfig, domain: Domain, seed: int, transcript: Transcript | None) -> Caller:
    """Caller of rules, scores, or their record; rules answer what is not in the record."""
    transport: Transport = OfflineBackend()
    name = MODEL
    prepare: Callable[[Sequence[ChatRequest]], None] | None = None
    if config.planner == "noisy":
        noisy = NoisyBackend(domain, NOISES[config.noise], seed)
        transport, name = noisy, noisy.model
    elif config.planner == "scored":
        name = f"{config.model.name} scored by {config.model.normalisation}"
        if not config.replay:
            scored = ScoredBackend(scorer(config.model.name, config.model.normalisation))
            transport, prepare = scored, scored.prepare
    weights = _weights(config.model.name) if config.planner == "scored" and (config.replay or config.record) else ""
    if config.replay:
        otherwise = None if config.planner == "scored" else transport  # the fallback is the rules
        transport = Replay(Path(config.replay) / RECORD, otherwise, weights)
    elif config.record:
        transport = Recorded(Path(config.record) / RECORD, transport, weights)
    return Caller(ChatClient(transport, 1), name, transcript, prepare=prepare)


def _weights(name: str) -> str:
    """SHA-256 of a model's weights, "" for one that is not here: a folder's model may be trained further."""
    from rl_models.text.weights_identity import model_identity  # torch is slow to import

    return model_identity(name)["weights_sha256"] or ""


@functools.cache
def scorer(name: str, normalisation: Normalisation) -> PhraseScorer:
    """The scoring model of this process, with its cache."""
    from rl_models.llm.phrase_scorer import PhraseScorer  # torch is slow to import

    return PhraseScorer(name, normalisation)


def _new_transcript(folder: Path) -> Path:
    """A file of its own: concurrent trials must not overwrite each other's transcripts."""
    folder.mkdir(parents=True, exist_ok=True)
    file, path = tempfile.mkstemp(".md", time.strftime("planner_%Y%m%d-%H%M%S_", time.gmtime()), folder)
    os.close(file)
    return Path(path)


def _read_paper(config: PlannerConfig) -> list[str]:
    found = read_paragraphs(Path(config.manual))
    if not found:
        raise UserError(f"{config.manual} holds no paragraph of prose: give --manual the LaTeX of a paper's text")
    return found


def _prepare_manual(config: PlannerConfig, caller: Caller, domain: GameDomain, trial_folder: Path | None) -> None:
    """Generate the trial's manual from the paper, once."""
    path = _manual_path(config, trial_folder)
    if path is None:
        return
    by_rule = path.with_name(BY_RULE_FILE)
    # Weights depend on the manual's words, so it stays as it is from the first checkpoint on.
    if path.exists() and (not by_rule.exists() or path.with_name("checkpoints").exists()):
        return
    try:
        text = write_manual(caller, domain.title, _read_paper(config), domain)
    except ValueError as error:
        raise UserError(f"{config.manual}: {error}") from error
    is_by_rule = bool(caller.counts.get("fallback"))
    if is_by_rule:
        by_rule.touch()
    write_atomically(path, f"{text}\n")
    if not is_by_rule:
        by_rule.unlink(missing_ok=True)


def read_manual(config: PlannerConfig, task: str, trial_folder: Path | None) -> str:
    """Rules and map of a task's game; the game's own without a trial. A UserError if the trial's manual is missing."""
    domain, path = config.domain(task), _manual_path(config, trial_folder)
    if path is None:
        return domain.manual
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return f"{file.read(_MAX_MANUAL_BYTES).strip()}\n{domain.map}"
    except OSError as error:
        raise UserError(
            f"the trial's manual {path} cannot be read ({error.strerror}): copy it along with the checkpoints"
        ) from error


def _manual_path(config: PlannerConfig, trial_folder: Path | None) -> Path | None:
    return trial_folder / MANUAL_FILE if config.manual and trial_folder is not None else None
