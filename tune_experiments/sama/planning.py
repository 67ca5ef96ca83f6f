"""Planner for one game, built from settings, and the loop of rounds in which it plans.

Rules and scores answer in this process, and their transcript stays in memory; an endpoint's is written to disk.
"""

from __future__ import annotations

import functools
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rl_models.chat.client import ChatClient
from rl_models.chat.endpoint import ChatSettingsError, Endpoint
from rl_models.chat.exchange import ChatRequest, Transport
from rl_models.chat.meter import Meter
from rl_models.chat.record import Recorded, RecordError, Replay
from rl_models.errors import InputError
from rl_models.llm.llm_config import Normalisation
from rl_models.planners.briefing import Briefing
from rl_models.planners.calling import Caller
from rl_models.planners.commander import RandomCommander
from rl_models.planners.domain import Domain
from rl_models.planners.goal_generators import DepsGoals, GoalGenerator, Plan4McGoals
from rl_models.planners.noisy import NOISES, NoisyBackend
from rl_models.planners.offline import MODEL, OfflineBackend
from rl_models.planners.planner import Planner
from rl_models.planners.preparation import Translator, extract_objects
from rl_models.planners.revision import Retry
from rl_models.planners.rounds import PlanningLoop
from rl_models.planners.scored import ScoredBackend, ScoredPlanner
from rl_models.planners.subgoal_data import SubgoalData
from rl_models.planners.transcript import Transcript
from tune_experiments.core.errors import UserError
from tune_experiments.sama.endpoint import RECORD, get_endpoint, record_folder
from tune_experiments.sama.manuals import prepare_manual, read_manual, read_paper
from tune_experiments.sama.planner_config import LOCAL, PlannerConfig

if TYPE_CHECKING:
    from rl_models.llm.phrase_scorer import PhraseScorer

_RETRIES_APART = 1_000_000_000
"""Distance of the seeds of a planner and of its retries, larger than that of the planners of any two trials."""


def make_planner(config: PlannerConfig, task: str, seed: int, trial_folder: Path | None = None) -> Planner:
    """The planner that the settings name.

    Args:
        config: configuration of the run.
        task: name of the game, such as a kitchen.
        seed: seed of the noisy planner's errors.
        trial_folder: folder for the manual that is written for the trial.

    Raises:
        UserError: the endpoint or its record cannot be used, or the model cannot score.
    """
    game = config.game(task)
    domain, caller = game.domain, _caller(config, game.domain, seed)
    prepare_manual(config, caller, game, trial_folder)
    manual = read_manual(config, task, trial_folder)
    objects = extract_objects(caller, domain, manual) if config.extracts_objects else ()
    briefing = Briefing(manual, objects, config.shots)
    if config.planner == "scored":
        return ScoredPlanner(caller, domain, briefing)
    translate = Translator(caller, domain, manual, game.code()) if config.translates_states else None
    return Planner(caller, domain, briefing, translate)


def check_planner(config: PlannerConfig) -> None:
    """Refuse a planner that could not answer, without a call to it.

    Raises:
        UserError: the endpoint's package or key is missing, or there is no record to replay, no paper to read, or no
            model to score with.
    """
    if config.manual:
        read_paper(config)
    try:
        if config.planner == "openai":
            Endpoint(config.model.chat.endpoint, Meter(config.model.chat.budget))
        elif config.planner == "replay":
            Replay(record_folder(config.model) / RECORD)
        elif config.replay:
            Replay(Path(config.replay) / RECORD)
        elif config.planner == "scored":
            scorer(config.model.name, config.model.normalisation).check()
    except InputError as error:
        raise UserError(str(error)) from error


def make_planning_loop(
    config: PlannerConfig, task: str, seed: int, trial_folder: Path | None = None, visited: SubgoalData | None = None
) -> PlanningLoop:
    """Rounds under the planner that the settings name.

    Args:
        config: configuration of the run.
        task: name of the game, such as a kitchen.
        seed: seed of errors and random commands.
        trial_folder: as for `make_planner`.
        visited: collects the states in which plans are made.
    """
    planner = make_planner(config, task, seed, trial_folder)
    commander = None
    if config.random_share:
        commander = RandomCommander(planner.domain, config.random_share, seed, config.random_from)
    retry = None
    if config.after_failure == "retry":
        tries = range(1, config.reflections + 1)
        retry = Retry([make_planner(config, task, seed + _RETRIES_APART * number, trial_folder) for number in tries])
    return PlanningLoop(planner, _goals(config, planner), config.reflections, commander, visited, retry)


def warn_about_fallbacks(loop: PlanningLoop, config: PlannerConfig) -> None:
    """Warn in a sentence if rules answered for a language model whose record does not hold the questions."""
    counts = loop.question_counts
    is_replayed = config.planner == "replay" or (config.planner == "scored" and config.replay)
    if is_replayed and counts["fallback"]:
        warnings.warn(
            f"{counts['fallback']} of {counts['asked']} questions were answered by rules, because the record of "
            f"{config.model.name} in {config.replay or record_folder(config.model)} does not hold them; "
            "`sama_retest.py` asks a model with `--planner openai` or `--planner scored`",
            stacklevel=2,
        )


def _goals(config: PlannerConfig, planner: Planner) -> GoalGenerator:
    if config.goals == "deps":
        return DepsGoals(planner.caller, planner.domain, planner.manual)
    return Plan4McGoals(planner.domain) if config.goals == "plan4mc" else GoalGenerator()


def _caller(config: PlannerConfig, domain: Domain, seed: int) -> Caller:
    if config.planner in LOCAL:
        return _local_caller(config, domain, seed)
    folder = record_folder(config.model) / domain.name
    try:
        is_asked = config.planner == "openai"
        transport = get_endpoint(config.model) if is_asked else Replay(record_folder(config.model) / RECORD)
        transcript = Transcript(_new_transcript(folder) if is_asked else None)
        return Caller(ChatClient(transport, config.model.concurrency), config.model.name, transcript, seed)
    except (ChatSettingsError, RecordError) as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written ({error.strerror}): choose another folder with --model.folder"
        ) from error


def _local_caller(config: PlannerConfig, domain: Domain, seed: int) -> Caller:
    """Rules or scores answer, or the record of what they have answered; what it does not hold rules answer."""
    transport: Transport = OfflineBackend(domain)
    name = MODEL
    prepare: Callable[[Sequence[ChatRequest]], None] | None = None
    if config.planner == "noisy":
        noisy = NoisyBackend(domain, NOISES[config.noise], seed)
        transport, name = noisy, noisy.model
    elif config.planner == "scored":
        name = f"{config.model.name} scored by {config.model.normalisation}"
        if not config.replay:
            scored = ScoredBackend(domain, scorer(config.model.name, config.model.normalisation))
            transport, prepare = scored, scored.prepare
    try:
        if config.replay:
            otherwise = None if config.planner == "scored" else transport  # its rules would be asked for scores
            transport = Replay(Path(config.replay) / RECORD, otherwise)
        elif config.record:
            transport = Recorded(Path(config.record) / RECORD, transport)
    except RecordError as error:
        raise UserError(str(error)) from error
    return Caller(ChatClient(transport, 1), name, prepare=prepare)


@functools.cache
def scorer(name: str, normalisation: Normalisation) -> PhraseScorer:
    """The model that scores in this process, with all its answers so far."""
    from rl_models.llm.phrase_scorer import PhraseScorer  # torch is slow to import

    return PhraseScorer(name, normalisation)


def _new_transcript(folder: Path) -> Path:
    """A file of its own: trials plan at the same time, and no trial may overwrite another's transcript."""
    folder.mkdir(parents=True, exist_ok=True)
    file, path = tempfile.mkstemp(".md", time.strftime("planner_%Y%m%d-%H%M%S_", time.gmtime()), folder)
    os.close(file)
    return Path(path)
