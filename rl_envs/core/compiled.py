"""Compilation with Numba of what is irreducibly sequential, and where the compiled code is kept.

A `kernel` is compiled into the functions that call it. An `entry` is called from Python; its compiled code is kept in a
folder of the user's that nobody else can write, because loading compiled code runs it. The folder's name holds a digest
of all sources of which functions and constants are compiled in: Numba itself notices only a change of the file in which
an entry stands. Folders of earlier sources are removed but for the newest few, so that two versions can be used in
turns. Without such a folder (a read-only home) everything works and is compiled in each process. Nothing is ever
written next to the sources. Processes that compile at once write files under names of their own and rename them (Numba
does), so the last one wins.

Arithmetic is float32 without reassociation and without fused operations: `fastmath` stays off.
"""

import ast
import contextlib
import hashlib
import os
import platform
import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba

CACHE_VARIABLE = "CONCORD_CACHE"
"""Environment variable: folder for compiled code instead of `~/.cache/concord`."""

KEPT_FOLDERS = 3
"""Number of folders of other sources that stay, the last used ones."""
_DIGITS = 16
_MARK = b"rl_envs.core.compiled import"
"""Bytes by which a file with a kernel is recognised: each such file imports from this module."""

_numba: Any = numba
kernel: Callable[..., Any] = _numba.njit(
    error_model="numpy", nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, and keep the result for later processes."""
    folder = cache_folder(Path(function.__code__.co_filename).parent)
    before = _numba.config.CACHE_DIR
    _numba.config.CACHE_DIR = str(folder or "")
    try:
        return numba.njit(error_model="numpy", nogil=True, cache=folder is not None)(function)
    finally:
        _numba.config.CACHE_DIR = before


def cache_folder(sources: Path) -> Path | None:
    """Folder for compiled code of the files in a folder of sources, created if missing; None if none is private."""
    root = os.environ.get(CACHE_VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "concord")
    return _prepared(Path(root).expanduser(), sources)


@cache
def _prepared(root: Path, sources: Path) -> Path | None:
    """This version's folder in a root, made and marked as used, or None after a warning; once a process."""
    folder = root / f"{sources.name}-{_digest(sources)}"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)  # whatever the umask allows others
        folder.mkdir(mode=0o700, exist_ok=True)
        if _is_ours(folder) and _is_ours(root) and os.access(folder, os.W_OK):
            os.utime(folder)
            with contextlib.suppress(OSError):  # another process may remove the same folders
                _remove_old(root, folder)
            return folder
        reason = "others can write there, or you cannot"
    except OSError as error:
        reason = str(error)
    warning = f"no compiled code of {sources.name} is kept in {root} ({reason}), so each process compiles it anew: "
    warnings.warn(f"{warning}name a folder of your own in {CACHE_VARIABLE}", stacklevel=2)
    return None


def _remove_old(root: Path, present: Path) -> None:
    """Remove folders of other sources but for the last used ones; only what Numba wrote into folders of our name."""
    alike = re.compile(re.escape(present.name[:-_DIGITS]) + f"[0-9a-f]{{{_DIGITS}}}")
    others = [path for path in root.iterdir() if alike.fullmatch(path.name) and path != present]
    ours = [path for path in others if not path.is_symlink() and path.is_dir() and _is_ours(path)]
    for path in sorted(ours, key=lambda path: path.stat().st_mtime)[: max(len(ours) - KEPT_FOLDERS, 0)]:
        if all(_is_compiled(one) or (one.is_dir() and not one.is_symlink()) for one in path.rglob("*")):
            shutil.rmtree(path, ignore_errors=True)


def _is_compiled(path: Path) -> bool:
    """Whether a file is one that Numba writes: an index or compiled code."""
    return path.is_file() and not path.is_symlink() and path.suffix in (".nbi", ".nbc")


def _is_ours(folder: Path) -> bool:
    """Whether this user owns the folder and nobody else can write into it."""
    about = folder.stat()
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return mine and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _digest(folder: Path) -> str:
    """Name for the present Numba, Python, and sources of the kernels in a folder."""
    found = hashlib.sha256(f"{numba.__version__} {platform.python_version()} {platform.machine()}".encode())
    kernels = (path for path in folder.glob("*.py") if _MARK in path.read_bytes())
    for path in sorted(_with_imports(kernels)):
        found.update(path.read_bytes())
    return found.hexdigest()[:_DIGITS]


def _with_imports(files: Iterable[Path]) -> set[Path]:
    """These files and those of their package that they import, directly or not: constants of all are compiled in."""
    found, waiting = set(), list(files)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += filter(Path.is_file, _imported(path))
    return found


def _imported(path: Path) -> Iterator[Path]:
    """Files of its package that a file may import; some do not exist, because a name need not be a module."""
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    for line in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(line, ast.Import | ast.ImportFrom):
            package = [line.module or ""] if isinstance(line, ast.ImportFrom) else []
            for module in (*package, *(".".join([*package, name.name]) for name in line.names)):
                yield root.joinpath(*module.split(".")).with_suffix(".py")
