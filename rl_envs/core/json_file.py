"""Untrusted JSON files: read with a size limit, and written atomically. Every error is one sentence."""

import json
import os
from pathlib import Path
from typing import Any


class JsonFileError(ValueError):
    """A fault of a file, as a sentence without the file's path."""


def read_object(path: str | os.PathLike[str], max_bytes: int, form: str) -> dict[str, Any]:
    """Read the JSON object of a file; `form` is the document of its format, for the error sentences.

    Raises JsonFileError where the file cannot be read, is too large, is not JSON in UTF-8, repeats a key, or holds no
    object.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise JsonFileError(f"cannot be read ({error.strerror}): check the path and its permissions") from None
    if len(raw) > max_bytes:
        raise JsonFileError(f"is larger than {max_bytes} bytes: leave out what {form} does not ask for")
    try:
        document = json.loads(raw.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except JsonFileError:
        raise
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise JsonFileError(f"is not JSON ({error.msg} at {where}): correct it there or write the file again") from None
    except (ValueError, RecursionError):
        raise JsonFileError(f"is not JSON in UTF-8: save it as plain text in the format of {form}") from None
    if not isinstance(document, dict):
        raise JsonFileError(f"must hold one JSON object: write {{...}} as {form} shows")
    return document


def write_object(path: str | os.PathLike[str], document: dict[str, Any], indent: int = 1) -> None:
    """Write a file atomically: a crash leaves the old file or the new one.

    Raises JsonFileError where the file cannot be written.
    """
    target = Path(path)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(json.dumps(document, indent=indent) + "\n", encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise JsonFileError(f"cannot be written ({error.strerror}): check that its folder exists") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without duplicate keys, of which Python's parser would silently keep the last."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise JsonFileError(f"has the key {key[:80]!r} twice in one object: keep one of them")
        found[key] = value
    return found
