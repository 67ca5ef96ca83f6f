"""Every setting of a run of SAMA in Overcooked, with the laptop's values as defaults.

The paper's constants are the preset `paper`; docs/papers/sama.md lists those that it does not give. `trials.py` builds
a trial from it.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.world import MAX_EPISODE_STEPS
from rl_models.algorithms.learner_config import LearnerConfig
from rl_models.configuration import MAY_GAIN, UnitInterval, Unread, fields_of_others
from rl_models.networks.network_config import SamaNetworkConfig
from rl_models.rllib.workers import Workers
from rl_models.text.choice import TextEncoderConfig
from tune_experiments.core.checks import check_distinct
from tune_experiments.core.errors import UserError
from tune_experiments.overcooked.config import learner_config
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.planner_config import PLANNER_FIELDS, GameDomain, PlannerConfig

Condition: TypeAlias = Literal["random_commands", "random_possible_commands", "reflections", "retries"]
MethodName: TypeAlias = Literal["sama", "blind", "code", "mappo", "selfplay", "scripted"]
SAMA, SELF_PLAY, MAPPO, BLIND, CODE, SCRIPTED = "sama", "selfplay", "mappo", "blind", "code", "scripted"


@dataclass(frozen=True)
class FineTuningSettings:
    """Further training on the states that a trained team visits with the planner."""

    rounds: NonNegativeInt = 0
    """Number of rounds of rollouts and further training, at least 0; 0: no fine-tuning."""
    episodes: PositiveInt = 10
    """Number of episodes per round in which the team collects states."""
    share: PositiveFloat = 0.1
    """Env steps of one round's training as a share of the budget, above 0; they are added to the budget."""


@dataclass(frozen=True, kw_only=True)
class SamaConfig(
    PlannerConfig,
    workers=Workers(worlds_per_runner=64, fragment_length=32),
    budget_env_steps=600_000,
    validate_every_env_steps=60_000,
    checkpoint_every_env_steps=60_000,
    test_episodes=10,
):
    """One run."""

    methods: tuple[MethodName, ...] = ("sama", "blind", "mappo", "selfplay")
    """Methods of the table: `sama`; `blind`, the same without commands; `code`, the same with rewards that the
    planner's model writes; `mappo`, the same network that learns the game itself, without text and planner; `selfplay`,
    of overcooked_selfplay; `scripted`, scripted chefs with the planner, without training."""
    tasks: tuple[str, ...] = field(default=("cramped_room",), metadata=MAY_GAIN)
    """Names of the kitchens, each with policies of its own: cramped_room, asymmetric_advantages, coordination_ring,
    forced_coordination and counter_circuit_o_1order."""
    encoder: TextEncoderConfig = field(default_factory=lambda: TextEncoderConfig(word_features=32))
    """How sentences become vectors: `--encoder.name words`, `auto`, or a pretrained encoder by name."""
    network: SamaNetworkConfig = field(default_factory=SamaNetworkConfig)
    """Widths of the policy's layers and vectors."""
    learner: LearnerConfig = field(
        default_factory=lambda: learner_config(gamma=0.95, value_coef=0.5, entropy_coef=0.03, final_entropy_coef=0.003)
    )
    """PPO settings of the methods that learn sub-goals."""
    share: UnitInterval = 0.5
    """Share of the reward, from 0 to 1, for a chef when the other has reached its sub-goal; 1 is a team's
    reward."""
    states: PositiveInt = 1_000
    """Number of diverse states, with sub-goals, from which training rounds begin."""
    fine_tuning: FineTuningSettings = FineTuningSettings()
    """Further training of the methods that learn sub-goals."""
    round_steps: PositiveInt = 40
    """Number of env steps after which a round is over, in training and in tests."""
    max_episode_steps: PositiveInt = MAX_EPISODE_STEPS
    """Number of env steps of an episode in tests."""
    valid_episodes: PositiveInt = 200
    """Number of rounds in each validation."""
    is_greedy: bool = True
    """Whether tests take the most likely actions, as in the paper; `sampled_soups` has sampled ones beside them."""
    weights: Literal["validated", "last"] = "validated"
    """Tested weights: validated, those with most soups in whole validation episodes with sampled actions, the later of
    equals; last, the last ones."""
    also_tests: tuple[Condition, ...] = ()
    """Additional tests of the methods `sama` and `scripted`: random_commands; random_possible_commands, among those
    that the chef can begin; reflections and retries, three of them after each failed round."""

    def unread_by(self, method: str) -> Unread:
        """The same, and settings of other methods; `method` may end with its kitchen."""
        learning = ("sama", "blind", "code")
        readers = {
            **dict.fromkeys((*PLANNER_FIELDS, "round_steps"), (*learning, "scripted")),
            **dict.fromkeys(("learner", "share", "states", "fine_tuning"), learning),
            **dict.fromkeys(("network", "encoder"), (*learning, "mappo")),
            **dict.fromkeys(("is_greedy", "weights"), (*learning, "mappo", "selfplay")),
            "reward_source": ("sama", "blind"),
            "also_tests": ("sama", "scripted"),
        }
        found = super().unread_by(method) | fields_of_others(method.partition("-")[0], readers)
        if not self.fine_tuning.rounds:
            found |= dict.fromkeys(("fine_tuning.episodes", "fine_tuning.share"), "set --fine-tuning.rounds above 0")
        return found

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct(self, "tasks")
        for task in self.tasks:
            if task not in LAYOUTS:
                raise UserError(f"--tasks must be some of {', '.join(LAYOUTS)}, not {task!r}")
        if not self.network.channels:
            raise UserError("--network.channels must be one or more widths")
        if "code" in self.methods:
            self.check_not_scored("--methods code")

    def domain(self, task: str) -> GameDomain:
        """A kitchen."""
        return get_domain(task)


def method_names(config: SamaConfig) -> list[str]:
    """Every method in every kitchen."""
    return [f"{row}-{layout}" for layout in config.tasks for row in config.methods]


def split_method(method: str) -> tuple[str, str]:
    """Name and kitchen of a method."""
    row, _, layout = method.partition("-")
    return row, layout
