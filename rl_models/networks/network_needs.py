"""Networks by name for teams of any environment: what each reads, and what it needs of an observation. No torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from rl_models.networks.network_config import NetworkName, PartsConfig, ReaderName

if TYPE_CHECKING:
    from rl_models.networks.parts import Part


class NetworkNeeds(NamedTuple):
    """What a network reads and needs.

    Attributes:
        summary: description in a few words.
        reads_texts: whether it reads texts; others leave them out.
        sees_images: whether images go through convolutions; else their entries are one vector.
        needs: what an observation must have, `images` or `texts`; empty where any will do.
        sentences: number of texts or sentences that it needs to choose among.
    """

    summary: str
    reads_texts: bool = False
    sees_images: bool = True
    needs: str = ""
    sentences: int = 1


def _reader(summary: str, sentences: int = 1) -> NetworkNeeds:
    return NetworkNeeds(summary, reads_texts=True, needs="texts", sentences=sentences)


NETWORKS: dict[NetworkName, NetworkNeeds] = {
    "auto": NetworkNeeds(
        "dense layers, convolutions over images, the reader of --network.reader.name over texts", True
    ),
    "mlp": NetworkNeeds("dense layers over all numbers; texts are left out", sees_images=False),
    "cnn": NetworkNeeds("convolutions over images, then dense layers; texts are left out", needs="images"),
    "lstm": NetworkNeeds("dense layers, convolutions over images, and an LSTM; texts are left out"),
    "film2": _reader("txt2pi's reader: FiLM² between a text and all other observations"),
    "emma": _reader("EMMA's reader: attention over sentences", 2),
    "matching": _reader("attention over words and to their context"),
    "words": _reader("the mean of all words, a baseline for readers"),
}
"""Name of a network -> what it reads and needs."""


def is_recurrent(config: PartsConfig) -> bool:
    """Whether a network is recurrent although its method is not."""
    return config.name == "lstm"


def fitted(config: PartsConfig, parts: Sequence[Part]) -> tuple[PartsConfig, list[Part]]:
    """The configuration with its reader, and the parts of an observation that the network reads.

    Raises ValueError where the observation lacks what the network needs.
    """
    needed, texts = NETWORKS[config.name], [part for part in parts if part.is_text]
    if needed.needs == "images" and not any(part.is_image for part in parts):
        raise ValueError(f"{config.name} needs images, and the observation has none: choose mlp or lstm")
    if needed.needs == "texts" and not texts:
        raise ValueError(f"{config.name} needs texts, and the observation has none: choose mlp, cnn or lstm")
    if needed.needs == "texts" and sum(part.size for part in texts) < needed.sentences:
        raise ValueError(
            f"{config.name} chooses among sentences, and the text is one row of words: raise --max-sentences, or "
            "choose matching, film2 or words"
        )
    read = [part for part in parts if needed.reads_texts or not part.is_text]
    if not any(part.key != "agent" for part in read):
        if not texts:
            raise ValueError("the observation has nothing that a network can read: give each agent an array or a text")
        raise ValueError(f"{config.name} reads no texts, and the observation has nothing else: choose matching or emma")
    if not needed.sees_images:
        read = [_as_vector(part) if part.is_image and not part.is_text else part for part in read]
    if needed.needs == "texts":
        reader = dataclasses.replace(config.reader, name=cast(ReaderName, config.name))
        config = dataclasses.replace(config, reader=reader)
    return config, read


def _as_vector(part: Part) -> Part:
    """An image as entries, each with a divisor."""
    scale = np.reshape(part.scale, (-1, 1, 1)) if part.planes_first else part.scale
    return dataclasses.replace(part, is_image=False, scale=np.broadcast_to(scale, part.shape))
