"""Ready-made teams for games of vectors, images and texts: IPPO, MAPPO, CommNet, TBONE, SYNC, EnDi, QMIX, VDN."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from torch import nn

from rl_models.distributions.factored_mixture import ActionParts
from rl_models.heads.factored_heads import FactoredHead, FactoredTower
from rl_models.heads.mixture_heads import (
    LegalPolicyTower,
    MarginalHead,
    SyncHead,
    TeamValueHead,
    ValueHead,
    ValueTower,
)
from rl_models.networks.entity_divider_parts import DividedParts, EntityKeys
from rl_models.networks.network_config import PartsConfig
from rl_models.networks.parts import Part, PartsEncoder, TboneOfParts, TeamState, TowersOfParts
from rl_models.networks.q_network import QNetwork
from rl_models.networks.qmix_policy import QmixPolicy, StateMixer
from rl_models.policy import TeamPolicy, seeded

Kind = Literal["ippo", "mappo", "commnet", "tbone", "sync"]
_COMMNET_ROUNDS = 2


def parts_team(
    config: PartsConfig,
    parts: Sequence[Part],
    num_agents: int,
    actions: int | ActionParts,
    kind: Kind,
    components: int = 1,
    masks: Sequence[str] = (),
    seed: int = 0,
    is_recurrent: bool = False,
) -> TeamPolicy:
    """Build a team.

    `ippo` values an agent by its own observation, `mappo` by those of all (both with an LSTM if recurrent); `commnet`
    averages messages, `tbone` exchanges them with an LSTM, `sync` draws one of M product policies with them. The
    agent's index should be one of the parts; `masks` are those of `legal` and `alive` that observations have. Raises
    ValueError for `commnet` with an LSTM.
    """
    if is_recurrent and kind == "commnet":
        raise ValueError("commnet has no memory: leave it out of --methods, or choose another --network than lstm")
    with seeded(seed):
        if is_recurrent and kind in ("ippo", "mappo"):
            alone = dataclasses.replace(config, talk=dataclasses.replace(config.talk, communicates=False))
            remembering = TboneOfParts(alone, parts, num_agents, masks)
            width = remembering.features
            value = ValueHead(width) if kind == "ippo" else TeamValueHead(width, num_agents)
            return TeamPolicy(remembering, _head(width, actions), value)
        if kind in ("tbone", "sync"):
            talking = TboneOfParts(config, parts, num_agents, masks)
            width, messages = talking.features, talking.message_features
            sync = (components, num_agents, messages) if kind == "sync" else ()
            return TeamPolicy(talking, _head(width, actions, *sync), ValueHead(width))
        towers = TowersOfParts(
            config,
            parts,
            num_agents,
            critic="team" if kind == "mappo" else "own",
            rounds=_COMMNET_ROUNDS if kind == "commnet" else 0,
        )
        make_tower = FactoredTower if isinstance(actions, ActionParts) else LegalPolicyTower
        return TeamPolicy(towers, make_tower(towers.features, actions), ValueTower(towers.features))  # type: ignore[arg-type]


def _head(width: int, actions: int | ActionParts, *sync: int) -> nn.Module:
    """The policy head: marginal, or with the arguments of a mixture (M, N, width of a message)."""
    if isinstance(actions, ActionParts):
        return FactoredHead(width, actions, *sync)
    return SyncHead(width, actions, *sync) if sync else MarginalHead(width, actions)


def divided_parts_team(
    config: PartsConfig,
    parts: Sequence[Part],
    entities: EntityKeys,
    num_agents: int,
    num_actions: int,
    goal_features: int = 16,
    seed: int = 0,
) -> TeamPolicy:
    """Build a team of EnDi, whose N >= 2 agents divide the entities among the parts of their observations."""
    with seeded(seed):
        network = DividedParts(config, parts, entities, num_agents, num_actions, goal_features)
        return TeamPolicy(network, LegalPolicyTower(network.features, num_actions), ValueTower(network.features))


def qmix_parts_team(
    config: PartsConfig,
    parts: Sequence[Part],
    num_agents: int,
    num_actions: int,
    mixing_hidden_size: int = 32,
    seed: int = 0,
) -> QmixPolicy:
    """Build a team of QMIX, or of VDN, which adds values up, if the mixing network has width 0."""
    with seeded(seed):
        network = QNetwork(PartsEncoder(config, parts), num_agents, num_actions, config.hidden_sizes[-1])
        if not mixing_hidden_size:
            return QmixPolicy(network, None)
        state = TeamState(PartsEncoder(config, parts), num_agents)
        return QmixPolicy(network, StateMixer(state, num_agents, mixing_hidden_size))
