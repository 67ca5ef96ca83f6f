"""Default models on disk, one folder for each corpus and settings, named after their content.

A folder is written under a temporary name and renamed, so it is never incomplete; processes that need the same one wait
for the one that trains it, which first removes what a killed process left. All lie in the folder that
`CONCORD_LANGUAGE_MODELS` names, or in one in the user's cache.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from rl_models.file_lock import hold_lock
from rl_models.llm.base_model import LanguageModelError
from rl_models.llm.llm_config import SmallModelSettings
from rl_models.llm.small_model import Pair, write_small_model

FOLDER_VARIABLE = "CONCORD_LANGUAGE_MODELS"
"""Environment variable with the folder of all default models."""
_FORMAT = 2
"""Version, raised when the same corpus and settings would give another model."""


def default_folder() -> Path:
    """Folder of default models where the caller names none."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "concord" / "language_models"


def small_model(corpus: Callable[[], Iterable[Pair]], settings: SmallModelSettings, folder: Path | None = None) -> Path:
    """The folder of the default model for a corpus; trained now if it is not on disk (in `default_folder`).

    Raises LanguageModelError for a corpus without texts, or a folder that cannot be written.
    """
    pairs = list(corpus())
    if not any(map(any, pairs)):
        raise LanguageModelError("the corpus holds no text; a language model needs some to learn")
    folder = folder or default_folder()
    place = folder / f"small-{_digest(pairs, settings)}"
    if place.is_dir():
        return place
    wait = f"another process trains the small language model: waiting until it is in {place}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / f".{place.name}.lock", math.inf, lambda: print(wait, flush=True)):
            if not place.is_dir():
                print(f"the small language model is trained once, for some minutes; it is kept in {place}", flush=True)
                _appear(place, lambda part: write_small_model(part, pairs, settings))
    except OSError as error:
        raise LanguageModelError(
            f"the default language model cannot be kept in {folder} ({error.strerror or error}); set {FOLDER_VARIABLE} "
            "to a folder with free space that can be written"
        ) from error
    return place


def keep_copy(place: Path, model: Callable[[], Path]) -> None:
    """Copy a default model into a run's folder, unless it is there. Not safe for several processes.

    A run that is resumed elsewhere does not train the model again. There the same corpus and settings may give other
    weights, and adapters only fit those that they were trained on. Raises LanguageModelError where it cannot be
    written.
    """
    if place.is_dir():
        return
    whole = model()
    try:
        _appear(place, lambda part: shutil.copytree(whole, part, dirs_exist_ok=True))
    except OSError as error:
        raise LanguageModelError(
            f"a copy of the language model cannot be kept in {place} ({error.strerror or error}); give the run a "
            "folder with free space that can be written"
        ) from error


def _appear(place: Path, write: Callable[[Path], object]) -> None:
    """Write a folder under another name and rename it."""
    part = place.with_name(f".{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        write(part)
        part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _digest(pairs: Sequence[Pair], settings: SmallModelSettings) -> str:
    content = json.dumps([_FORMAT, asdict(settings), pairs], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]
