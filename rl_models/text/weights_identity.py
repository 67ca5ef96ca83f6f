"""Which weights a configuration names: model, revision and hash."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rl_models.hub.fetch import read_card
from rl_models.hub.weights import model_file_sha256
from rl_models.text.pretrained import PretrainedError, encoder_folder


def pretrained_models(config: Any) -> tuple[str, ...]:
    """Pretrained models that a configuration names: each `pretrained_model` of its nested dataclasses, once."""
    return tuple(dict.fromkeys(filter(None, _named(config))))


def model_identities(config: Any) -> list[dict[str, str | None]]:
    """Identities of the pretrained models that a configuration names."""
    return [model_identity(name) for name in pretrained_models(config)]


def model_identity(name: str) -> dict[str, str | None]:
    """Name, revision and sha256 of the weights of a model on this machine; null for unknown values.

    Several files of weights give the hash of their hashes, in the order of their names.
    """
    try:
        folder = encoder_folder(name, may_download=False)
    except PretrainedError:
        return {"name": name, "revision": None, "weights_sha256": None}
    hashes = [model_file_sha256(file) for file in sorted(folder.glob("*.safetensors"))]
    whole = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest() if hashes else None
    hub, card = folder.name if folder.parent.name == "snapshots" else None, read_card(folder)
    # A copy of a fetched model keeps its card when it is trained further.
    revision = card.get("revision", hub) if card.get("weights_sha256") == whole else hub
    return {"name": name, "revision": revision, "weights_sha256": whole}


def check_identities(config: Any, known: Sequence[Mapping[str, str | None]]) -> None:
    """Check that the models on this machine have the weights of `known` identities; raises PretrainedError."""
    trained_on = {one["name"]: one for one in known}
    for model in model_identities(config) if known else ():
        before = trained_on.get(model["name"])
        if before is not None and are_other_weights(before, model):
            raise PretrainedError(
                f"{model['name']} has other weights here (sha256 {model['weights_sha256']}) than those trained with "
                f"({before['weights_sha256']}): restore them, or train in another --out folder"
            )


def are_other_weights(one: Mapping[str, str | None], other: Mapping[str, str | None]) -> bool:
    """Whether two identities are known to be of different weights.

    A model of the catalog is pinned by its revision, and each machine converts it, so that files may differ.
    """
    if one.get("revision") and one.get("revision") == other.get("revision"):
        return False
    hashes = one.get("weights_sha256"), other.get("weights_sha256")
    return None not in hashes and hashes[0] != hashes[1]


def _named(config: Any) -> Iterator[str]:
    if not dataclasses.is_dataclass(config):
        return
    yield getattr(config, "pretrained_model", "")
    for field in dataclasses.fields(config):
        yield from _named(getattr(config, field.name))
