"""Every setting of a run of SAMA on the frozen lake, with the laptop's values as defaults."""

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import NonNegativeInt

from rl_envs.frozen_lake_spread.maps import MAPS, get_lake
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.configuration import Unread, fields_but, fields_of_others
from rl_models.networks.network_config import PartsConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.errors import UserError
from tune_experiments.sama.planner_config import MAX_REFLECTIONS, PLANNER_FIELDS, GameDomain, PlannerConfig

LakeRow = Literal["sama", "mappo", "walker"]
BY_RULES: dict[str, Any] = {
    "planner": "offline",
    "goals": "sama",
    "after_failure": "reflect",
    "random_share": 0.0,
    "random_from": "all",
    "manual": "",
    "translates_states": False,
    "record": "",
    "replay": "",
}
"""Settings of all tests of planners by rule, whatever those of the run."""


@dataclass(frozen=True, kw_only=True)
class LakeConfig(
    PlannerConfig,
    workers=Workers(worlds_per_runner=128, fragment_length=16),
    budget_env_steps=800_000,
    validate_every_env_steps=80_000,
    checkpoint_every_env_steps=400_000,
    test_episodes=200,
):
    """One run on one map.

    Each test of planners by rule is named by their knowledge. Any other planner has two more tests: with only the rules
    of the game (`blind`), and with the cells of holes and targets (`privileged`).
    """

    methods: tuple[LakeRow, ...] = ("sama", "mappo")
    """Rows: sama, agents that learn to follow commands, tested with every planner; mappo, agents that learn the game
    itself, the control; walker, scripted agents that walk to their commands' cells, without training."""
    map: str = "4x4"
    """Name of the map: 4x4 or 8x8, which are Gymnasium's, random-4x4 or random-8x8."""
    map_seed: NonNegativeInt = 0
    """Seed of the holes and targets of a random map, constant in a run."""
    slippery: bool = False
    """Whether a move may go at a right angle to the chosen direction, as in Gymnasium's default."""
    reflections: NonNegativeInt = MAX_REFLECTIONS
    """Number of retries after a failed round, at least 0; SAMA has at most three."""
    round_steps: NonNegativeInt = 0
    """Number of env steps after which a round is over; 0 takes 12 on small maps and 30 on large ones."""
    network: PartsConfig = field(default_factory=PartsConfig)
    """Widths of the agents' networks; those of images, texts and messages have no effect."""
    learner: LearnerConfig = field(
        default_factory=lambda: LearnerConfig(
            joint_ratio=False, learning_rate=2e-3, entropy_coef=0.03, final_entropy_coef=0.003, num_epochs=4
        )
    )
    """Learner of both methods, PPO with a ratio for each agent."""

    def unread_by(self, method: str) -> Unread:
        """The same, what planners by rule set themselves, and networks of images, texts and messages."""
        found = super().unread_by(method)
        found |= fields_but(self, "network", "hidden_sizes", "give --network.hidden-sizes")
        if self.planner == "offline":
            found |= dict.fromkeys(set(BY_RULES) - {"planner"}, "choose another --planner, or leave it out")
        readers = dict.fromkeys((*PLANNER_FIELDS, "round_steps"), ("sama", "walker"))
        found |= fields_of_others(method, readers | dict.fromkeys(("network", "learner"), ("sama", "mappo")))
        if not self.map.startswith("random"):
            found["map_seed"] = "choose a random --map, or leave it out"
        return found

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.map not in MAPS:
            raise UserError(f"--map must be one of {', '.join(MAPS)}, not {self.map!r}")
        if self.reward_source != "builtin":
            raise UserError("--reward-source must be builtin: the environment tests which cell an agent has reached")

    @property
    def max_round_steps(self) -> int:
        """Env steps after which a round is over."""
        return self.round_steps or (12 if self.map.endswith("4x4") else 30)

    def domain(self, task: str) -> GameDomain:
        """The domain of a planner with the task's knowledge, such as `blind`."""
        from tune_experiments.sama.frozen_lake.domain import Knowledge, LakeDomain

        return LakeDomain(get_lake(self.map, self.map_seed), cast(Knowledge, task))

    def world(self) -> dict[str, Any]:
        """Arguments of all worlds of the run."""
        return {"map": self.map, "map_seed": self.map_seed, "slippery": self.slippery}
