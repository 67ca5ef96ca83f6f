"""Every setting of a run of EnDi in MESSENGER with two agents, with the laptop's values as defaults.

EnDi (2023), sections 5.2 and A.2; constants of training from its release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from pydantic import PositiveInt

from rl_models.networks.txt2pi import SilgConfig
from tune_experiments.endi.division import DivisionSettings, check_stack
from tune_experiments.messenger.config import MessengerLearnerConfig, MessengerRunConfig

RowName: TypeAlias = Literal[
    "emma",
    "silg",
    "endi_num",
    "endi_dis",
    "endi_sup",
    "endi_reg",
    "endi_kl",
    "endi_dis_balance",
    "emma_grounding",
    "endi_dis_grounding",
]
PAPER_ROWS: tuple[RowName, ...] = ("emma", "silg", "endi_num", "endi_dis", "endi_sup", "endi_reg")


@dataclass(frozen=True)
class EndiMessengerConfig(MessengerRunConfig):
    """One run."""

    num_agents: ClassVar[int] = 2

    methods: tuple[RowName, ...] = (*PAPER_ROWS, "emma_grounding", "endi_dis_grounding")
    """Rows of the table."""
    learner: MessengerLearnerConfig = field(
        default_factory=lambda: MessengerLearnerConfig(
            is_joint=False,
            gamma=(0.99, 0.99, 0.99),
            # With 0.2, which reads best alone, two agents never find each other.
            entropy_coef=(0.05, 0.05, 0.05),
            final_entropy_coef=(0.01, 0.01, 0.01),
        )
    )
    """For all rows."""
    division: DivisionSettings = field(default_factory=DivisionSettings)
    """For all rows that divide."""
    first_stage_env_steps: PositiveInt = 300_000
    """Env steps of training in the first of the stages."""
    first_stage_validate_every_env_steps: PositiveInt = 20_000
    """Number of env steps between validations in the first of the stages; weights are chosen by them."""
    first_stage_checkpoint_every_env_steps: PositiveInt = 60_000
    """Number of env steps between checkpoints in the first of the stages, besides those with the best weights."""
    goal_features: PositiveInt = 64
    """Channels of the grounded goal; the paper has no number."""
    silg: SilgConfig = field(
        default_factory=lambda: SilgConfig(hidden=32, word_features=32, channels=(16, 16), features=64)
    )
    """Widths of the row `silg`."""
    weights: Literal["validated", "last"] = "validated"
    """Which are handed to the next stage and tested: those that won most validation games, or the last."""

    def __post_init__(self) -> None:
        """Refuse numbers that no run can have."""
        super().__post_init__()
        check_stack(self, "silg.channels")
