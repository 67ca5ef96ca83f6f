"""Every setting of a run of SAMA on MiniRTS, with the laptop's values as defaults."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import NonNegativeInt, PositiveInt

from rl_envs.minirts.opponents import get_opponent
from rl_models.configuration import Unread
from tune_experiments.core.checks import check_distinct
from tune_experiments.core.errors import UserError
from tune_experiments.play.team_paths import stored_path
from tune_experiments.red.config import RedConfig
from tune_experiments.sama.planner_config import GameDomain, PlannerConfig

RtsRow: TypeAlias = Literal["scripted_2", "scripted_3", "learned_2", "learned_3"]
Test: TypeAlias = Literal[
    "plain", "commanders", "sights", "reflections", "erring", "random", "goals", "prompts", "rewards"
]
Sight: TypeAlias = Literal["fair", "full", "types"]
"""Information that the planner gets about a game."""
LEARNED = "learned"
ERRING = "weak rules"
"""Prefix of the names of tests with noisy rules, for any planner of the run."""
_OPPONENTS = {2: "medium_two", 3: "medium_three"}


@dataclass(frozen=True, kw_only=True)
class RtsConfig(PlannerConfig):
    """One run, without training; an env step is a decision of 50 ticks."""

    methods: tuple[RtsRow, ...] = ("scripted_2", "scripted_3")
    """Teams with a planner: scripted_2 and scripted_3, two or three agents with a scripted executor of commands;
    learned_2 and learned_3, agents that RED has trained (--team)."""
    team: str = ""
    """Run folder, trial folder or checkpoint of red_minirts.py, whose team executes commands in the methods learned_2
    and learned_3."""
    tests: tuple[Test, ...] = ("plain", "commanders", "sights", "reflections", "erring", "random", "goals")
    """Groups of tests: plain, the planner as configured; commanders, RED's oracle and silence; sights, other
    information for the planner; reflections, fewer of them; erring, a noisy planner, with reflections and with retries;
    random, shares of random commands; goals, DEPS and Plan4MC; prompts, no objects and three shots (only for a language
    model); rewards, tests of sub-goals in Python that the planner's model writes."""
    sight: Sight = "fair"
    """Information that the planner gets: fair, observations and memory of the team; full, everything; types, as fair,
    and the types that the enemy trains."""
    opponents: tuple[str, ...] = ()
    """Names of the opponents, of which each game draws one; by default medium_two against two agents and medium_three
    against three."""
    min_round_steps: PositiveInt = 4
    """Smallest number of env steps (decisions) of a round; a factory needs 4 to train a unit."""
    round_steps: PositiveInt = 12
    """Largest number of env steps (decisions) of a round."""
    max_episode_steps: PositiveInt = 256
    """Number of decisions after which a game stops as a draw."""
    test_seed: NonNegativeInt = 42
    """Seed of the test games of seed 0; those of seed k have this number plus k."""
    budget_env_steps: PositiveInt = 1
    """Not used, because the script trains nothing."""
    validate_every_env_steps: PositiveInt = 1
    """Not used, because the script trains nothing."""
    checkpoint_every_env_steps: PositiveInt = 1
    """Not used, because the script trains nothing."""
    valid_episodes: PositiveInt = 1
    """Not used, because the script trains nothing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "team", stored_path(self.team))
        check_distinct(self, "tests")
        if "rewards" in self.tests:
            self.check_not_scored("--tests rewards")
        if self.min_round_steps > self.round_steps:
            raise UserError(
                f"--min-round-steps must be at most --round-steps, which is {self.round_steps}, "
                f"not {self.min_round_steps}"
            )
        is_learned = any(method.startswith(LEARNED) for method in self.methods)
        if is_learned and not self.team:
            raise UserError("--methods learned_2 and learned_3 need a team that RED has trained: add --team RUN")
        if self.team and not is_learned:
            raise UserError(
                "--team is for the methods learned_2 and learned_3: add --methods learned_2 or leave it out"
            )
        for name in self.opponents:
            try:
                get_opponent(name)
            except ValueError as error:
                raise UserError(f"--opponents: {error}") from error

    def unread_by(self, method: str) -> Unread:
        """The same, and lengths of a training that there is not."""
        of_training = ("workers", "budget_env_steps", "validate_every_env_steps", "checkpoint_every_env_steps")
        found = super().unread_by(method) | dict.fromkeys(
            (*of_training, "valid_episodes"), "nothing is trained, leave it out"
        )
        return found if method.startswith(LEARNED) else found | {"team": "train learned_2, or leave it out"}

    def domain(self, task: str) -> GameDomain:
        """The domain of MiniRTS for a number of agents."""
        from tune_experiments.sama.minirts.domain import get_domain

        return get_domain(int(task))

    def red(self, num_agents: int) -> RedConfig:
        """RED's configuration of the same games."""
        opponents = self.opponents or (_OPPONENTS[num_agents],)
        return RedConfig(num_agents=num_agents, opponents=opponents, max_episode_steps=self.max_episode_steps)
