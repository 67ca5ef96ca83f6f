"""Teams of chefs that know which row and which kitchen they were built for, as a test must."""

from __future__ import annotations

from rl_envs.overcooked.kitchen import Kitchen
from rl_envs.overcooked.layouts import LAYOUTS
from rl_envs.overcooked.symbols import SYMBOLS
from rl_models.networks.sama import SamaSizes
from rl_models.policy import TeamPolicy
from rl_models.teams.sama_team import sama_team
from rl_models.text.choice import text_encoder
from tune_experiments.sama.commands import manual_sentences, told_sentences
from tune_experiments.sama.config import SamaConfig
from tune_experiments.sama.kitchens import NUM_CHEFS
from tune_experiments.sama.manuals import manual_of


class KitchenTeam(TeamPolicy):
    """A team with its row and kitchen."""

    def __init__(self, team: TeamPolicy, row: str, layout: str) -> None:
        """Take a team's parts."""
        super().__init__(team.network, team.policy_head, team.value_head)
        self.row, self.layout = row, layout


def commanded_team(config: SamaConfig, row: str, layout: str, seed: int, manual: str | None = None) -> KitchenTeam:
    """Chefs who read what they are told and a manual: the trial's own, unless it is handed to them."""
    told, kitchen = told_sentences(layout), Kitchen(LAYOUTS[layout])
    sizes = SamaSizes(NUM_CHEFS, len(SYMBOLS), kitchen.height, kitchen.width, len(told))
    sentences = (*told, *manual_sentences(manual or manual_of(config, layout)))
    team = sama_team(config.network, sizes, lambda: text_encoder(config.encoder, sentences, sentences), seed)
    return KitchenTeam(team, row, layout)
