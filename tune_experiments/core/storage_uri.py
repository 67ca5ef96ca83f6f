"""Folders and URIs of object stores on the command line; `az://...`, of an unknown scheme, is not a folder `az:`."""

import dataclasses
import re
from pathlib import Path

from tune_experiments.core.errors import UserError

SCHEMES = ("file", "s3", "gs", "gcs", "hdfs", "abfs", "abfss")
"""Schemes of `pyarrow.fs.FileSystem.from_uri` for persistent stores, in lower case."""
_PASSWORD = re.compile(r"[^/@:]*:(?!\d*(/|$))[^@]*@")  # a port has digits alone
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/+(.*)", re.DOTALL)  # one letter is a drive of Windows, and a path


def parse_uri(out: Path | str) -> str | None:
    """The URI in `--out`, or None for a folder; UserError for a password, an unknown scheme, or no name after it."""
    text = str(out)
    found = _URI.fullmatch(text)
    scheme, rest = (found[1], found[2]) if found else (text.partition(":")[0], "")
    if scheme != "file" and _PASSWORD.match(rest):
        raise UserError(
            f"a password in a {scheme}:// URI would be printed and stored: write the URI without it, and give the "
            "store's credentials to the nodes, or in environment variables"
        )
    if found is None and not (scheme in SCHEMES and ":" in text):
        return None
    known = ", ".join(f"{name}://" for name in SCHEMES)
    if scheme not in SCHEMES:
        advice = f"write {scheme.lower()}://" if scheme.lower() in SCHEMES else f"write one of {known}"
        raise UserError(f"{text!r} has the unknown scheme {scheme}://: {advice}, or a folder by its full path")
    if not rest.strip("/"):
        raise UserError(f"{text!r} has no bucket or folder: write {scheme}://, then its bucket or folder")
    return f"{scheme}://{'/' if scheme == 'file' else ''}{rest}"


def join_path(place: str, path: str) -> str:
    """A path below a folder or a URI; the query of a URI, such as its region, stays at the end."""
    folder, mark, query = place.partition("?") if "://" in place else (place, "", "")
    return f"{folder.rstrip('/')}/{path}{mark}{query}"


def check_folders(command: object) -> None:
    """Raise UserError where a command on local folders got a URI, or an impossible file name."""
    for field in dataclasses.fields(command):  # type: ignore[arg-type]
        value = getattr(command, field.name)
        for place in value if isinstance(value, tuple) else (value,):
            if "\0" in str(place):
                raise UserError(f"{field.name}: {str(place)!r} cannot be the name of a file or a folder")
            if isinstance(place, Path) and (uri := parse_uri(place)) is not None:
                raise UserError(
                    f"{uri} is in an object store, and {field.name} must be on this machine: copy it first, as by "
                    f"`aws s3 sync {uri} FOLDER`"
                )
