"""Settings of the divider, and evaluation of teams that divide, shared by both environments.

As in the paper an evaluated team samples its masks, unless `--division.masks argmax` is set.

`division_table` shows how tested teams divided their entities: overlap, coverage and numbers by method and environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from pydantic import NonNegativeFloat, PositiveFloat

from rl_envs import World
from rl_envs.core.metrics import COUNT, PROPORTION
from rl_models.configuration import Unread
from rl_models.networks.network_config import check_channels
from tune_experiments.core.config_json import DataclassInstance
from tune_experiments.core.config_path import flag_name, value_at
from tune_experiments.core.errors import UserError
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable, make_table

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from rl_models.teams.endi_team import DivisionLosses
    from rl_models.training.evaluation import Evaluation

DividedRow: TypeAlias = Literal["endi_num", "endi_dis", "endi_sup", "endi_reg", "endi_kl", "endi_dis_balance"]
"""Methods with the entity divider and the paper's backbone; the paper has no `endi_kl` and no `endi_dis_balance`."""
PAPER_DIVISIONS: tuple[DividedRow, ...] = ("endi_num", "endi_dis", "endi_sup", "endi_reg")
DIVIDED = "endi_"
"""Prefix of methods whose teams divide."""
ON_MATCHING = "_matching"
"""Suffix of methods with the entity divider and the mention-matching reader instead of the paper's backbone."""
MEASURES = ("overlap", "coverage", "taken", "conflicts")
"""Metrics of a division, beside the number of entities that each agent takes, `own_entities_i`."""
CURVES = {
    "episode/win_rate": "win rate",
    "policy/entropy": "entropy (nats)",
    "division/overlap": "overlap of the agents' masks",
    "division/coverage": "coverage: entities in an agent's mask",
    "division/conflicts": "conflicts: same nearest entity",
    "division/others_accuracy": "others' actions predicted",
}
DIVISION_RANGES = dict.fromkeys(MEASURES, PROPORTION) | {"own_entities_*": COUNT}
Way = TypeVar("Way", bound="Evaluation")


@dataclass(frozen=True)
class DivisionSettings:
    """How methods with the entity divider differ from their backbones, besides the losses in their names."""

    regulariser_coef: NonNegativeFloat = 1.0
    """Weight of the regulariser, at least 0; the paper gives none, the release has 1."""
    kl_deviation: PositiveFloat = 0.5
    """Standard deviation of the target of the method `endi_kl`, in entities, above 0; the paper gives none."""
    modelling_coef: NonNegativeFloat = 1.0
    """Weight of agent modelling, at least 0; the paper gives none, the release has 1. Methods with weak modelling have
    a tenth of it."""
    loss_reduction: Literal["as_learner", "mean"] = "as_learner"
    """How the regulariser and agent modelling are reduced: as_learner, as the learner's own loss, which IMPALA may sum
    over the T steps of a fragment (`--learner.loss-reduction`); or mean, over all steps, so that beside a summed loss
    the same weight counts 1/T. The paper does not say, and its code for RTFM is unreleased."""
    masks: Literal["drawn", "argmax"] = "drawn"
    """How a trained team chooses its masks: drawn, or argmax, the likelier side; while it learns, masks are
    drawn."""
    shares_network: bool = False
    """Whether all agents share one network, in all methods but those of the mention-matching reader; if not, nothing is
    shared, as in the paper."""

    @property
    def draws_masks(self) -> bool:
        """Whether an evaluated team draws its masks."""
        return self.masks == "drawn"


def check_stack(config: DataclassInstance, path: str) -> None:
    """Check the channels of a stack of layers."""
    try:
        check_channels(value_at(config, path))
    except ValueError as error:
        raise UserError(f"{flag_name(path)}: {error}") from error


def on_matching(row: str) -> bool:
    """Whether a method uses the mention-matching reader."""
    return row.endswith(ON_MATCHING.lstrip("_"))


def is_divided(row: str) -> bool:
    """Whether a method's teams divide."""
    return row.startswith(DIVIDED)


def unread_division(row: str) -> Unread:
    """Settings of the group `division` that a method does not read."""
    alone = ("regulariser_coef", "kl_deviation", "modelling_coef", "loss_reduction", "masks")
    found = {} if is_divided(row) else dict.fromkeys(alone, "train endi_dis, or leave it out")
    name = row.removesuffix(ON_MATCHING)
    if name != "endi_kl":
        found["kl_deviation"] = "train endi_kl, or leave it out"
    if name == "endi_reg":
        found["regulariser_coef"] = "train endi_dis, or leave it out"
    if name == "endi_sup":
        found["modelling_coef"] = "train endi_dis, or leave it out"
    return {f"division.{name}": cure for name, cure in found.items()}


def make_losses(row: str, settings: DivisionSettings) -> DivisionLosses:
    """Losses of a method that divides, besides the algorithm's loss, with the weights of a run."""
    from rl_models.teams.endi_team import VARIANTS

    losses = VARIANTS[row.removesuffix(ON_MATCHING)]
    return dataclasses.replace(
        losses,
        regulariser_coef=settings.regulariser_coef,
        deviation=settings.kl_deviation,
        modelling_coef=losses.modelling_coef * settings.modelling_coef,
        are_means=settings.loss_reduction == "mean",
    )


def make_evaluation(
    settings: DivisionSettings, way: type[Way], world: World, policy: TeamPolicy, **options: Any
) -> Way:
    """An evaluation with the run's choice of masks, and metrics of divisions if the team divides."""
    from rl_models.losses.division import division_probe
    from rl_models.teams.endi_team import divides

    probe = division_probe if divides(policy) else None
    return way(world, policy, probe=probe, draws_noise=settings.draws_masks, **options)


def division_notes(settings: DivisionSettings, rows: Sequence[str]) -> list[str]:
    """Deviations from the paper that no flag shows."""
    notes = []
    if any(map(is_divided, rows)):
        notes.append("masks are of entities, with the same noise in all epochs; the release masks cells with new noise")
    if settings.shares_network and not all(map(on_matching, rows)):
        notes.append("agents share one network; the paper's share nothing")
    return notes


EXPLANATION = (
    "overlap: share of what is taken that more than one agent takes; coverage: share of the entities that an agent "
    "takes; taken: share that any agent takes; conflicts: steps at which two agents' nearest own entity is the same."
)

CLAIM = "The paper says of endi_reg, without a regulariser, that its masks cover nearly all entities."


def division_table(results: Sequence[Result], caption: str, worlds: Mapping[str, str]) -> list[PaperTable]:
    """One table of all tested stages, or none where no team divides; `worlds`: name in the results -> in the table."""
    title = f"{caption}: division of entities"
    columns = (*MEASURES, *sorted({line.metric for line in results if line.metric.startswith("own_entities_")}))
    mine = [line for line in results if not line.condition_and_stage[0]]
    named = [(line, worlds.get(line.world)) for line in mine]
    cells = [
        dataclasses.replace(line, world=world, condition="")
        for line, world in named
        if world is not None and line.metric in columns
    ]
    if not cells:
        return []
    table = make_table(cells, title, columns)
    notes = [table.caption, EXPLANATION, *[CLAIM] * any(cell.method == "endi_reg" for cell in cells)]
    return [dataclasses.replace(table, caption=" ".join(notes))]
