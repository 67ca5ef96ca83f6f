"""Manuals: the ids of sentences that describe a game (MESSENGER, section 3; else the authors' release).

Three sentences name the enemy, the message and the goal. In a single agent's stage 3 there are six: two describe the
decoys as enemies, and a false one describes the enemy in another role.
"""

import itertools

import numpy as np

from rl_envs.core.spec import Array
from rl_envs.messenger.corpus import STILL, Corpus, CorpusError, key_path
from rl_envs.messenger.games import Games, pairs_of_games
from rl_envs.messenger.symbols import ENEMY, GOAL, MESSAGE, ROLES, UNKNOWN

UNKNOWN_SHARE = 0.15
"""Share of sentences of stage 2 that do not give the movement."""
_TYPED = range(UNKNOWN)
_ALL_ROLES = np.arange(len(ROLES))


class ManualWriter:
    """Composes the manuals of one kind of world."""

    def __init__(self, corpus: Corpus, games: Games, split: str, stage: int, num_agents: int, wanders: bool) -> None:
        """Check that the corpus has all sentences that the split's games need.

        If everything `wanders`, entities move at random, and a manual gives no movement.
        """
        self._corpus, self._stage, self._wanders = corpus, stage, wanders and stage > 1
        self._split = split.split("_")[0]
        self._has_decoys = stage == 3 and num_agents == 1
        self._columns = [0, 1, 2] if num_agents == 1 else [0, 1, 3]
        self.length = 6 if self._has_decoys else 3  # S, number of sentences of a manual
        self.draws = 2 * self.length + 1  # number of uniforms for a manual
        self._orders = np.array(list(itertools.permutations(range(self.length))), np.int64)
        counts = corpus.counts(self._split)
        self._needs_more_episodes: Array = counts[:, 1:, : len(_TYPED)].min(-1) > 0
        self._has_unknown: Array = counts[..., UNKNOWN] > 0
        for entity, role, kind in sorted(self._needed(pairs_of_games(games, split))):
            if not counts[entity, role, kind]:
                path = key_path(self._split, entity, role, kind)
                raise CorpusError(f"{path}: stage {stage} needs a sentence here: add one")

    def write(self, described: Array, movements: Array, uniforms: Array) -> Array:
        """Compose one manual for each game, [K, S] ids of sentences in random order.

        `described` [K, 3]: entity numbers of the enemy, message and goal that it describes; `movements` [K, E];
        `uniforms` [K, draws].
        """
        picks, coins, order = np.split(uniforms, [self.length, 2 * self.length], axis=1)
        of_roles = movements[:, self._columns].astype(np.int64)
        entities, roles, kinds = (
            described,
            np.broadcast_to(_ALL_ROLES, described.shape),
            self._kinds(described, of_roles, coins),
        )
        if self._has_decoys:
            false_role, false_kind = self._draw_false_role(described[:, ENEMY], of_roles[:, ENEMY], coins)
            entities = np.concatenate([described, described[:, [MESSAGE, GOAL, ENEMY]]], axis=1)
            enemies = np.full((len(described), 2), ENEMY)
            roles = np.concatenate([roles, enemies, false_role], axis=1)
            kinds = np.concatenate([kinds, movements[:, 3:].astype(np.int64), false_kind], axis=1)
        ids = self._corpus.pick(self._split, entities, roles, kinds, picks)
        chosen = self._orders[(order[:, 0] * len(self._orders)).astype(np.int64)]
        return np.take_along_axis(ids, chosen, 1)

    def _kinds(self, described: Array, movements: Array, coins: Array) -> Array:
        """[K, 3] int64, the movement that each sentence gives."""
        if self._stage == 1:
            return np.full(described.shape, STILL)
        if self._has_decoys or self._wanders:
            return movements
        is_vague = (coins < UNKNOWN_SHARE) & self._has_unknown[described, _ALL_ROLES]
        return np.where(is_vague, UNKNOWN, movements)

    def _draw_false_role(self, enemy: Array, movement: Array, coins: Array) -> tuple[Array, Array]:
        """[K, 1] int64 each: a wrong role and a wrong movement for the enemy."""
        may = self._needs_more_episodes[enemy]
        wants_goal = coins[:, 0] < 0.5
        role = np.where(may.all(1), np.where(wants_goal, GOAL, MESSAGE), np.where(may[:, 1], GOAL, MESSAGE))
        kind = (movement + 1 + (coins[:, 1] * (len(_TYPED) - 1)).astype(np.int64)) % len(_TYPED)
        return role[:, None], kind[:, None]

    def _needed(self, pairs: set[tuple[int, int]]) -> set[tuple[int, int, int]]:
        """(entity, role, kind) of every sentence that a game of the split needs."""
        if self._stage == 1:
            return {(*pair, STILL) for pair in pairs}
        if self._wanders:
            return {(*pair, UNKNOWN) for pair in pairs}
        kinds = _TYPED if self._has_decoys else range(UNKNOWN + 1)
        if self._has_decoys:
            decoys = {(entity, ENEMY) for entity, role in pairs if role != ENEMY}
            only_enemies = {entity for entity, _ in pairs} - {entity for entity, _ in decoys}
            misled = {(entity, MESSAGE) for entity in only_enemies if not self._needs_more_episodes[entity].any()}
            pairs = pairs | decoys | misled
        return {(*pair, kind) for pair in pairs for kind in kinds}
