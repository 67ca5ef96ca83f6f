"""Texts that agents read, and attention maps over their words, from a world's texts and a network's extras.

A map `attention/NAME` is [..., R, C] or [..., C] for one agent: C are the words of a text, or the texts under a key
that holds several.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from rl_envs.core.spec import Array, Arrays
from rl_models.networks.entity_divider import ENTITIES, MASK
from rl_models.networks.matching import CELLS

ATTENTION = "attention/"
_MAX_ROWS = 32
_MAX_LENGTH = 600


@dataclass(frozen=True)
class AttentionMap:
    """Attention of an agent: weights [R, C] float32 in [0, 1], with names of the R queries and the C keys."""

    name: str
    rows: tuple[str, ...]
    words: tuple[str, ...]
    weights: Array


def get_texts(world: Any, obs: Arrays, agent: int) -> dict[str, str]:
    """Texts that an agent reads in one world's `obs`, name -> [N, ...]: observation key -> text.

    Several texts under one key stand on lines of their own.
    """
    found = {key: [" ".join(text) for text in texts] for key, texts in _get_words(world, obs, agent).items()}
    return {key: "\n".join(filter(None, lines)) for key, lines in found.items() if any(lines)}


def attention_maps(
    world: Any, obs: Arrays, extras: Mapping[str, Tensor], index: int, agent: int
) -> tuple[AttentionMap, ...]:
    """All maps of one agent at the last choice: observations are name -> [N, ...], extras name -> [B, 1, N, ...]."""
    maps = {name: value for name, value in extras.items() if name.startswith(ATTENTION) and value.is_floating_point()}
    if not maps:
        return ()
    texts, cells = _get_words(world, obs, agent), extras.get(CELLS)
    at = None if cells is None else cells[index, 0, agent].cpu().numpy()
    found = []
    for key, value in maps.items():
        weights = value[index, 0, agent].float().cpu().numpy()
        weights = weights.reshape(-1, weights.shape[-1])
        rows = _row_names(world, obs, agent, key, len(weights), at)
        kept = [row for row in range(len(weights)) if rows[row] and weights[row].any()][:_MAX_ROWS]
        words = _column_names(world, texts, key.removeprefix(ATTENTION), weights.shape[1])
        if kept:
            names = tuple(rows[row] for row in kept)
            found.append(AttentionMap(key.removeprefix(ATTENTION), names, words, weights[kept, : len(words)]))
    return tuple(found)


def own_entities(
    world: Any, obs: Arrays, extras: Mapping[str, Tensor], index: int, agent: int
) -> tuple[str, ...] | None:
    """Names of the entities that an agent's mask keeps; None for a network without an entity divider.

    `obs` is that of world `index`, name -> [N, ...], `extras` name -> [B, 1, N, ...].
    """
    if MASK not in extras:
        return None
    is_own = (extras[MASK] > 0.5)[index, 0, agent].cpu().numpy() & extras[ENTITIES][index, 0, agent].cpu().numpy()
    return tuple(_entity_name(world, obs, agent, entity, len(is_own)) for entity in np.flatnonzero(is_own).tolist())


# ---- texts -----------------------------------------------------------------------------------------------------------


def _get_words(world: Any, obs: Arrays, agent: int) -> dict[str, list[list[str]]]:
    """The texts under each key as lists of words, padding left out; no key whose words are not known."""
    vocabulary = getattr(world, "vocabulary", None)
    if vocabulary is None:
        return {}
    found = {}
    for key in world.text_spec.keys() & obs.keys():
        found[key] = world.texts[key].look_up(np.atleast_1d(obs[key][agent]))
    for key in world.text_tables.keys() & obs.keys():
        if obs[key][agent].ndim == 1:  # a list of texts, and not a grid of names
            found[key] = world.tables[world.text_tables[key]][obs[key][agent]]
    return {key: [[vocabulary[word] for word in row if word] for row in table] for key, table in sorted(found.items())}


def _column_names(world: Any, texts: Mapping[str, list[list[str]]], name: str, columns: int) -> tuple[str, ...]:
    """Names of a map's columns: the texts under its own key, the words of the one text that has so many, or numbers."""
    if name in texts and len(texts[name]) == columns:
        return tuple(" ".join(text) for text in texts[name])
    for key, found in texts.items():
        padded = (
            world.text_spec[key].length if key in world.text_spec else world.tables[world.text_tables[key]].shape[1]
        )
        if len(found) == 1 and columns in (len(found[0]), padded):
            return tuple(found[0][:_MAX_LENGTH])
    return tuple(map(str, range(1, min(columns, _MAX_LENGTH) + 1)))


# ---- names of the queries --------------------------------------------------------------------------------------------


def _row_names(world: Any, obs: Arrays, agent: int, key: str, rows: int, cells: Array | None) -> list[str]:
    """A name for each row; "" for a row of padding."""
    if cells is not None and len(cells) == rows:
        held = rows - len(world.agents)  # inventories are the last rows, the agent's own first
        return [
            _find_name(world, obs, agent, cell) if row < held else _find_name(world, obs, agent, row - held, " (held)")
            for row, cell in enumerate(cells.tolist())
        ]
    if rows == 1:
        return [key.removeprefix(ATTENTION)]
    names: Sequence[str] = _entity_names(world, obs, agent)
    return list(names) if len(names) == rows else [f"row {row}" for row in range(1, rows + 1)]


def _entity_name(world: Any, obs: Arrays, agent: int, entity: int, entities: int) -> str:
    names = _entity_names(world, obs, agent)
    if len(names) == entities:
        return names[entity]
    return _find_name(world, obs, agent, entity) or f"entity {entity + 1}"


def _entity_names(world: Any, obs: Arrays, agent: int) -> Sequence[str]:
    """Names of the entities that an agent sees, in the order of its observation."""
    names = getattr(world, "entity_names", None)
    return () if names is None else names({key: value[agent] for key, value in obs.items()})


def _find_name(world: Any, obs: Arrays, agent: int, place: int, held: str = "") -> str:
    """Name at a flat place of a grid of ids of texts, or with a mark `held` in a list of them; "" for nothing."""
    vocabulary = getattr(world, "vocabulary", None)
    if vocabulary is None:
        return ""
    for key in sorted(world.text_tables.keys() & obs.keys()):
        ids = obs[key][agent]
        if (ids.ndim == 1 if held else ids.ndim > 1) and place < ids.size:
            name = " ".join(vocabulary[word] for word in world.tables[world.text_tables[key]][ids.flat[place]] if word)
            return f"{name}{held}" if name else ""
    return ""
