"""One training run in the salad kitchen, built from settings. Methods differ in a `Row`; the rest is shared."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import OptimiserSettings, optimiser_settings
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import Normalisation
from rl_models.llm.tokens import load_tokenizer
from rl_models.policy import TeamPolicy
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Stage, TrialPlan, make_team_algorithm
from tune_experiments.experiment.supervised_stage import NoTraining
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.evaluation import evaluate_stage, validate
from tune_experiments.verco.lookup import lookup_team
from tune_experiments.verco.prompted import check_endpoint, prompted_team
from tune_experiments.verco.supervised_stages import Imitation, MessageWarmStart
from tune_experiments.verco.teams import language_policy, make_taught_world, symbolic_policy

COMMNET_ROUNDS = 2
Build = Callable[[VercoConfig, int, Path | None], TeamPolicy]


@dataclass(frozen=True, kw_only=True)
class Row:
    """Components of one method.

    Attributes:
        build_policy: `(config, seed, trial_folder)`, the team with its initial weights.
        has_warm_start: whether its message adapter is trained before PPO.
        is_taught: whether training has the scripted teacher's messages.
        is_symbolic: whether observations are vectors, with their learning rate.
        imitates: whether it imitates the corpus' decisions before PPO, within its budget.
        looks_up: whether actions are looked up in the corpus.
        learns: False for a frozen policy.
        asks_endpoint: whether a chat model acts.
    """

    build_policy: Build
    has_warm_start: bool = False
    is_taught: bool = False
    is_symbolic: bool = False
    imitates: bool = False
    looks_up: bool = False
    learns: bool = True
    asks_endpoint: bool = False

    @property
    def has_language_model(self) -> bool:
        """Whether its team has its own language model."""
        return not (self.is_symbolic or self.looks_up or self.asks_endpoint)


silent = functools.partial(language_policy, heard="silence")
METHODS = {
    "verco": Row(build_policy=language_policy, has_warm_start=True),
    "twosome": Row(build_policy=silent),
    "shuffled": Row(build_policy=functools.partial(language_policy, heard="shuffled"), has_warm_start=True),
    "teacher_messages": Row(build_policy=language_policy, is_taught=True),
    "symbolic_ppo": Row(build_policy=symbolic_policy, is_symbolic=True),
    "symbolic_imitation_ppo": Row(build_policy=symbolic_policy, is_symbolic=True, imitates=True),
    "commnet": Row(build_policy=functools.partial(symbolic_policy, rounds=COMMNET_ROUNDS), is_symbolic=True),
    "lookup": Row(build_policy=lookup_team, looks_up=True, learns=False),
    "base": Row(build_policy=language_policy, learns=False),
    **{
        f"base_{rule}": Row(build_policy=functools.partial(silent, normalisation=rule), learns=False)
        for rule in get_args(Normalisation)
    },
    "api": Row(build_policy=prompted_team, learns=False, asks_endpoint=True),
}


def check(config: VercoConfig) -> None:
    """Check the chat model, its record and the chat template of a run, else raise UserError."""
    rows = [METHODS[method] for method in config.methods if method in METHODS]
    if config.team.language.chat_template and any(row.has_language_model for row in rows):
        _check_chat_template(config)
    if any(row.asks_endpoint or (row.has_warm_start and config.teacher == "endpoint") for row in rows):
        check_endpoint(config)


def _check_chat_template(config: VercoConfig) -> None:
    if not config.model:
        raise UserError(
            "--team.language.chat-template needs a model that is tuned to conversations, and the small default one is "
            "not: name another one by --model, or leave the flag out"
        )
    try:
        load_tokenizer(config.model, chat_template=True)
    except LanguageModelError as error:
        raise UserError(str(error)) from error


def plan(config: VercoConfig, method: str, seed: int, trial_folder: Path | None = None) -> TrialPlan | Curriculum:
    """One of `METHODS` with one seed; arguments of `Experiment.plan`. A UserError for another method."""
    if method not in METHODS:
        raise UserError(f"--methods must be some of {', '.join(METHODS)}, not {method!r}")
    row = METHODS[method]
    cooking = _cooking(config, row, seed, trial_folder)
    if row.has_warm_start:
        first = _stage("warm_start", _warm_start(config, cooking, trial_folder), config)
    elif row.imitates:
        first = _stage("imitation", _imitation(config, cooking), config)
    else:
        return cooking
    return Curriculum((first, Stage(name="cooking", plan=cooking)))


def _stage(name: str, trial: TrialPlan, config: VercoConfig) -> Stage:
    """A stage before PPO, with a test at its end, to show the gain by PPO."""
    return Stage(name=name, plan=trial, evaluate=functools.partial(evaluate_stage, config))


def _cooking(config: VercoConfig, row: Row, seed: int, trial_folder: Path | None) -> TrialPlan:
    """PPO on actions; with a frozen message adapter."""
    worlds: Callable[..., Any] = functools.partial(make_world, config.training)
    # A plan without a folder is only timed, so it needs no language model.
    build = symbolic_policy if row.asks_endpoint and trial_folder is None else row.build_policy
    if row.is_taught:
        worlds = functools.partial(make_taught_world, config.training, trial_folder)
    budget = config.budget_env_steps - row.imitates * config.corpus_env_steps
    return TrialPlan(
        make_world=worlds,
        build_policy=functools.partial(build, config, seed, trial_folder),
        objective=make_objective(config.learner, config.learner.entropy_schedule(budget)),
        optimiser=_optimiser(config, row.is_symbolic, budget),
        seed=seed,
        **config.plan_arguments(budget),
        validate=functools.partial(validate, config, row.is_taught),
        make_algorithm=make_team_algorithm if row.learns else NoTraining,
        learns=row.learns,
    )


def _warm_start(config: VercoConfig, cooking: TrialPlan, trial_folder: Path | None) -> TrialPlan:
    env_steps = config.warm_start.worlds * config.warm_start.env_steps
    return dataclasses.replace(
        cooking,
        budget_env_steps=config.rounds * env_steps,
        validate_every_env_steps=config.rounds * env_steps,
        checkpoint_every_env_steps=env_steps,
        make_algorithm=functools.partial(MessageWarmStart, config, trial_folder),
    )


def _imitation(config: VercoConfig, cooking: TrialPlan) -> TrialPlan:
    return dataclasses.replace(
        cooking,
        budget_env_steps=config.corpus_env_steps,
        validate_every_env_steps=config.corpus_env_steps,
        checkpoint_every_env_steps=config.corpus_env_steps,
        make_algorithm=functools.partial(Imitation, config),
    )


def _optimiser(config: VercoConfig, is_symbolic: bool, budget: int) -> OptimiserSettings:
    learner = config.learner
    if is_symbolic:
        return optimiser_settings(learner, learner.symbolic_learning_rate, budget)
    return optimiser_settings(learner, learner.learning_rate, budget, learner.critic_learning_rate)


_READ = (
    "the small model was trained on scripted cooks in generated kitchens, and the tested kitchens are held "
    "out as wholes; the paper's model was trained on the internet, without texts for this game"
)


def deviation_notes(config: VercoConfig) -> list[str]:
    """Deviations from the base method; the paper states no constants of its own."""
    notes = [
        "advantages are standardised over the decisions of an update, the base method's over 4 at a time; one norm "
        "clips the gradients of actor and critic, each has its own there",
        "actions without effect are illegal, in the base method all are legal; a food is rewarded once an episode",
    ]
    rows = [METHODS[method] for method in config.methods if method in METHODS]
    if any(row.has_warm_start for row in rows) and config.teacher == "scripted":
        notes.append("the teacher is scripted, the paper's is GPT-4")
    if any(row.has_language_model for row in rows) and not config.model:
        notes.append(_READ)
    return notes
