"""Every setting of a run of EnDi in MESSENGER with two agents, with the laptop's values as defaults.

EnDi (2023), sections 5.2 and A.2; constants of training from its release.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from pydantic import PositiveInt

from rl_models.configuration import Unread
from rl_models.networks.network_config import SilgConfig
from rl_models.rllib.workers import Workers
from tune_experiments.endi.division import (
    PAPER_DIVISIONS,
    DividedRow,
    DivisionSettings,
    check_stack,
    is_divided,
    unread_division,
)
from tune_experiments.messenger.config import GROUNDED, MessengerLearnerConfig, MessengerRunConfig

MethodName: TypeAlias = Literal["emma", "silg", DividedRow, "emma_grounding", "endi_dis_grounding"]
PAPER_METHODS: tuple[MethodName, ...] = ("emma", "silg", *PAPER_DIVISIONS)


@dataclass(frozen=True, kw_only=True)
class EndiMessengerConfig(
    MessengerRunConfig,
    workers=Workers(worlds_per_runner=128, fragment_length=16),
    first_stage_env_steps=300_000,
    first_stage_validate_every_env_steps=20_000,
    first_stage_checkpoint_every_env_steps=60_000,
):
    """One run."""

    num_agents: ClassVar[int] = 2

    methods: tuple[MethodName, ...] = (*PAPER_METHODS, "emma_grounding", "endi_dis_grounding")
    """Methods to train."""
    learner: MessengerLearnerConfig = field(
        default_factory=lambda: MessengerLearnerConfig(
            joint_ratio=False,
            learning_rate=3e-3,
            num_minibatches=(8, 8, 8),
            gamma=(0.99, 0.99, 0.99),
            # With 0.2, the best for a single agent, two agents never meet.
            entropy_coef=(0.05, 0.05, 0.05),
            final_entropy_coef=(0.01, 0.01, 0.01),
        )
    )
    """Learner of all methods, with one number per stage in a triple."""
    division: DivisionSettings = field(default_factory=DivisionSettings)
    """How methods with the entity divider differ from their backbones."""
    goal_features: PositiveInt = 64
    """Number of channels of the grounded goal; the paper gives none."""
    silg: SilgConfig = field(
        default_factory=lambda: SilgConfig(hidden_size=32, word_features=32, channels=(16, 16), features=64)
    )
    """Widths of the method `silg`."""
    weights: Literal["validated", "last"] = "validated"
    """Weights for the next stage and the test: validated, those with the best validation win rate, or last."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_stack(self, "silg.channels")

    def unread_by(self, method: str) -> Unread:
        """The same, and settings of other networks and of the division."""
        found = super().unread_by(method)
        found |= unread_division(method.removesuffix(GROUNDED))
        if method == "silg":
            found |= dict.fromkeys(("network", "encoder"), "give flags of the group --silg")
            found["freezes_attention"] = "train emma, or leave it out"
        else:
            found["silg"] = "train silg, or leave it out"
        if not is_divided(method):
            found["goal_features"] = "train endi_dis, or leave it out"
        return found
