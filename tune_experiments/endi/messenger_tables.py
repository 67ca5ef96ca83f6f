"""EnDi's tables on MESSENGER, and what a run changes against the paper and its release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tune_experiments.endi.division import division_deviations
from tune_experiments.endi.division_table import division_table
from tune_experiments.endi.messenger_config import EndiMessengerConfig
from tune_experiments.messenger import tables as messenger
from tune_experiments.messenger.config import GROUNDED
from tune_experiments.messenger.deviations import deviations as of_messenger
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperNumbers, PaperTable

CHOSEN = (
    "Tested weights are those that won most validation games, or the last ones where the run says `weights: last`: "
    "the paper has both."
)
DIVISION_WORLDS = {
    f"stage_{stage}_{column}": f"stage {stage}, {column}" for stage in (1, 2, 3) for column in ("train", "test")
}


def tables(results: Sequence[Result], caption: str, paper: Mapping[int, PaperNumbers]) -> list[PaperTable]:
    """Win rates, a table a stage; then how entities were divided."""
    divided = division_table(results, caption, DIVISION_WORLDS)
    return [*messenger.tables(results, caption, paper, CHOSEN), *divided]


def deviations(config: EndiMessengerConfig, reference: EndiMessengerConfig) -> list[str]:
    """Compare with the preset that has the release's constants."""
    notes = of_messenger(config, reference)
    if any(row.endswith(GROUNDED) and row.startswith("endi") for row in config.methods):
        notes.insert(1, "rows endi_..._grounding: the divider finds sentences with the policy's symbols")
    notes.append("rules are the paper's (a lone agent on a right object wins nothing); the release's differ")
    return [*notes, *division_deviations(config.division)]
