"""Tests of teams with planners, and records of their games; nothing is trained.

Tests of a team differ in planner, sight, reflections and replaced commands. All tests of a seed play the same games.
"""

import functools
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.algorithms.configured import make_objective
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.planners.rounds import PlanningLoop
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.constant_team import uniform_team
from tune_experiments.core.drawing import attempt_part
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.plan import Episodes, Tested, Tests, TrialPlan
from tune_experiments.experiment.supervised_stage import NoTraining
from tune_experiments.play.episode import AgentStep, Episode, Step, state_digest
from tune_experiments.play.loading import LoadedPolicy, load_policy
from tune_experiments.play.spectator import Note
from tune_experiments.red.trials import GAME, play_scripted
from tune_experiments.red.trials import play as play_learned
from tune_experiments.sama.minirts.config import ERRING, LEARNED, RtsConfig, Sight
from tune_experiments.sama.minirts.play import FORMS, PlannedRts, RtsPlay, open_book, scripted
from tune_experiments.sama.planned_experiment import TRANSCRIPT, planning_metrics
from tune_experiments.sama.planner_config import erring_tests, goal_tests, prompt_tests, random_tests
from tune_experiments.sama.planning import make_planning_loop
from tune_experiments.sama.play import PlannedPlay, TeamWithSeed, Watch, learned_executor

COMMANDERS = {"no commands": "none", "RED's oracle": "oracle"}
"""Tests without a planner -> RED's commander."""
FAIR = "fair"
SIGHTS: dict[Sight, str] = {"fair": "fair sight", "full": "full sight", "types": "told the types"}
"""Descriptions of a planner's information; tables name all except the fair one."""
_TEAM_OF = "red_minirts"


def team_size(method: str) -> int:
    """Agents of a method's team."""
    return int(method.rpartition("_")[2])


def is_learned(method: str) -> bool:
    """Whether a trained team executes commands."""
    return method.startswith(LEARNED)


def plan(config: RtsConfig, method: str, seed: int) -> TrialPlan:
    """One method with one seed: no training, and the tests."""
    learner = config.red(team_size(method)).learner
    return TrialPlan(
        make_world=functools.partial(make_world, config, method),
        build_policy=functools.partial(build_team, config, method, seed),
        objective=make_objective(learner, Schedule.constant(learner.entropy_coef)),
        optimiser=OptimiserSettings(learning_rate=Schedule.constant(0.0)),
        seed=seed,
        **config.plan_arguments(),
        validate=lambda policy: {},
        make_algorithm=NoTraining,
        learns=False,
    )


def build_team(config: RtsConfig, method: str, seed: int) -> TeamWithSeed:
    """The trained team, or an unused policy for scripted executors."""
    agents = team_size(method)
    return TeamWithSeed(load_policy(config.team).policy if is_learned(method) else uniform_team(agents, 1), seed)


def check_team(config: RtsConfig) -> None:
    """Check that a team fits the game and the number of agents, else raise UserError."""
    for method in filter(is_learned, config.methods):
        found = load_policy(config.team)
        if found.experiment.name != _TEAM_OF:
            raise UserError(f"--team {config.team} is of {found.experiment.name}; name a run of {_TEAM_OF}.py")
        if found.config.num_agents != team_size(method):
            raise UserError(
                f"--team {config.team} has {found.config.num_agents} agents, and the method {method} wants "
                f"{team_size(method)}: name another method, or a team that was trained with --num-agents "
                f"{team_size(method)}"
            )


def make_world(config: RtsConfig, method: str, num_worlds: int = 1, first_world: int = 0, **changes: Any) -> PlannedRts:
    """Games of a method's team."""
    game = config.red(team_size(method)).game | changes
    by_network = is_learned(method)
    return PlannedRts(
        num_worlds, first_world, sight=config.sight, is_read=by_network, actions=FORMS[by_network], **game
    )


def conditions(config: RtsConfig) -> dict[str, RtsConfig]:
    """Name of a test with a planner -> its settings."""
    name, most = planner_name(config), config.reflections
    reflecting = replace(config, after_failure="reflect")
    found: dict[str, dict[str, RtsConfig]] = {
        "plain": {plain_test(config): config},
        "sights": {
            f"{name}, {words}": replace(config, sight=sight) for sight, words in SIGHTS.items() if sight != config.sight
        },
        "reflections": {f"{name}, {n} reflections": replace(reflecting, reflections=n) for n in range(most)},
        "erring": erring_tests(config, "weak", ERRING),
        "random": random_tests(config),
        "goals": goal_tests(config),
        "prompts": prompt_tests(config),
        "rewards": {f"{name}, tests by code": replace(config, reward_source="code")},
    }
    chosen = {test: one for group in found if group in config.tests for test, one in found[group].items()}
    return {with_sight(config, test) if one.sight == config.sight else test: one for test, one in chosen.items()}


def with_sight(config: RtsConfig, test: str) -> str:
    """Name of a test, with the planner's sight unless it is the team's own."""
    return test if config.sight == FAIR else f"{test}, {SIGHTS[config.sight]}"


def plain_test(config: RtsConfig) -> str:
    """Name of the test of the planner as configured, without its sight."""
    tries = "retries" if config.after_failure == "retry" else "reflections"
    return f"{planner_name(config)}, {config.reflections} {tries}"


def planner_name(config: RtsConfig) -> str:
    """Short name of the planner, with its differences from SAMA's."""
    model = config.model.name
    names = {"offline": "rules", "noisy": f"{config.noise} rules", "scored": f"scores of {model}"}
    name = names.get(config.planner, model)
    goals = {"sama": "", "deps": " with goals of DEPS", "plan4mc": " with goals of Plan4MC"}[config.goals]
    return name + goals + f" and {config.random_share:g} random" * (config.random_share > 0)


def evaluate(config: RtsConfig, method: str, policy: TeamPolicy, trial_folder: Path | None = None) -> Tests:
    """All tests of a method, each with its condition; `trial_folder` keeps the manual that is written for the trial."""
    assert isinstance(policy, TeamWithSeed)
    seed = config.test_seed + policy.seed
    found: dict[Tested, Episodes] = {}
    if "commanders" in config.tests:
        found = {Tested(GAME, test): commanded(config, method, policy, one, seed) for test, one in COMMANDERS.items()}
    for test, changed in conditions(config).items():
        episodes = planned(changed, method, policy, seed, trial_folder=trial_folder)
        if changed is not config:
            del episodes[TRANSCRIPT]
        found[Tested(GAME, test)] = episodes
    return found


def planned(
    config: RtsConfig,
    method: str,
    policy: TeamPolicy,
    seed: int,
    episodes: int = 0,
    watch: Watch | None = None,
    trial_folder: Path | None = None,
) -> Episodes:
    """Games with the configured planner: metrics of `PlannedPlay.run` and `planning_metrics`.

    `seed` is that of the games and of the planner's errors; there are `episodes` games, by default the number of tests.
    """
    worlds, task = episodes or config.test_episodes, str(team_size(method))
    loop = make_planning_loop(config, task, seed, trial_folder)
    executor = learned_executor(policy) if is_learned(method) else scripted
    with (
        closing(make_world(config, method, worlds)) as world,
        open_book(config.reward_source, loop.planner) as book,
    ):
        play = PlannedPlay(RtsPlay(world, book), executor, loop, config.round_steps, config.min_round_steps)
        return play.run(seed, watch) | planning_metrics(loop, config, worlds)


def commanded(config: RtsConfig, method: str, policy: TeamPolicy, commander: str, seed: int) -> Episodes:
    """The same games with one of RED's commanders, which commands every agent at every decision."""
    red = config.red(team_size(method))
    if is_learned(method):
        found = play_learned(red, policy, commander, config.test_episodes, seed)
    else:
        found = play_scripted(red, commander, config.test_episodes, seed)
    wins = found["win_rate"]
    return {
        "win_rate": wins,
        "win_rate_of_standing": wins,
        "decisions": found["length"],
        "undone_decisions": 0 * wins,
        "ticks": found["ticks"],
    }


MAX_FRAMES = 400


def video(loaded: LoadedPolicy, seed: int, most: int = MAX_FRAMES) -> list[np.ndarray]:
    """Frames of a test game, [H, W, 3] uint8 a decision."""
    frames: list[np.ndarray] = []

    def watch(world: PlannedRts, loop: PlanningLoop) -> None:
        if len(frames) < most:
            frames.append(world.render(0))

    planned(loaded.config, loaded.method, loaded.policy, seed, 1, watch, loaded.trial_folder)
    return frames


def record(loaded: LoadedPolicy, seed: int, most: int) -> Episode:
    """A game with the planner, with its undone decisions."""
    recorder = _Recorder(f"seed {seed}", most)
    found = planned(loaded.config, loaded.method, loaded.policy, seed, 1, recorder, loaded.trial_folder)
    episode = recorder.episode
    assert episode is not None
    if len(episode.steps) > 1:
        last = episode.steps.pop()  # the observation after the last decision is no step
        episode.last_picture, episode.last_notes = last.picture, last.notes
    if not recorder.is_cut:
        episode.metrics = {name: float(np.mean(values)) for name, values in found.items() if name[0] != "_"}
    return episode


class _Recorder:
    """Observer (`play.Watch`) that records the agents' commands and the planner's transcript."""

    def __init__(self, title: str, most: int) -> None:
        self._title, self._most, self._read = title, most, 0
        self.episode: Episode | None = None
        self.is_cut = False

    def __call__(self, world: PlannedRts, loop: PlanningLoop) -> None:
        if self.episode is None:
            self.episode = Episode(self._title, state_digest(world, 0), tuple(world.agents), ())
        if len(self.episode.steps) > self._most:
            self.is_cut = True
            return
        entries, self._read = loop.planner.caller.transcript.entries_since(self._read)
        notes = tuple(Note(title, body) for title, body in entries)
        agents = tuple(AgentStep(phrase or "nothing") for phrase in world.latest_commands(0))
        picture = attempt_part(self.episode.missing, "pictures", lambda: world.render(0), None)
        step = Step(picture, agents, notes=notes, rewards=(0.0,) * world.num_agents)
        self.episode.steps.append(step)
